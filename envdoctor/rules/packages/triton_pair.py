from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.compat.torch_builds import line_of
from envdoctor.facts import Facts, Packages
from envdoctor.knowledge import messages, remedies, versions
from envdoctor.knowledge.pairs import TRITON
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Severity, Skip, known, rule
from envdoctor.target import Target

_NAMES = ("triton", "pytorch-triton", "torchtriton", "triton-windows", "pytorch-triton-rocm", "pytorch-triton-xpu")
_SAYS = (
    Pattern(r"Value 'sm_\w+' is not defined for option 'gpu-name'"),
    Pattern(r"Cannot find a working triton installation"),
    Pattern(r"PTXAS error|ptxas fatal\s*:", re.IGNORECASE),
    Pattern(r"PassManager::run failed"),
    Pattern(r"cannot import name '\w+' from 'triton"),
    Pattern(r"module 'triton[\w.]*' has no attribute"),
    Pattern(r"triton\.compiler\.errors\.CompilationError"),
    Pattern(r"too old to be supported by the triton", re.IGNORECASE),
    Pattern(r"Triton only supports (?:devices|GPUs|CUDA)", re.IGNORECASE),
    Pattern(r"torch \d\S* (?:requires|needs|depends on) (?:pytorch-)?triton", re.IGNORECASE),
    Pattern(r"module triton has no (?:attribute|name)|triton\S* has no name", re.IGNORECASE),
)
_MISSING = Pattern(r"No module named '?triton\b", re.IGNORECASE)
_HARMLESS = "some optimizations will not be enabled"  # what xformers says of it on Windows, where nothing needs it


@rule(Severity.ERROR)
def triton_pair(facts: Facts, target: Target) -> Iterator[Finding]:
    """Triton is missing, or not the one that this torch needs.

    Why: torch.compile generates Triton code for one Triton release. A newer or older one stops at an internal
    name (2.9 with triton 3.6 crashes Inductor), and its assembler may not know the GPU. Without Triton,
    torch.compile stops on CUDA; eager training does not need it.
    Fix: install the triton that torch requires, or torch again with its dependencies.
    Source: https://github.com/triton-lang/triton/issues/4460
    https://github.com/woct0rdho/triton-windows/issues/50
    https://github.com/unslothai/unsloth/blob/main/unsloth/import_fixes.py
    https://github.com/pytorch/pytorch/blob/main/torch/utils/_triton.py
    """
    packages, torch_facts = known(facts.packages), known(facts.torch)
    torch = (torch_facts.version if torch_facts else None) or (packages.version("torch") if packages else None)
    said = messages.matched(facts, *_SAYS)
    if said is None and not messages.said(facts, _HARMLESS):
        said = messages.matched(facts, _MISSING)
    if torch is None and said is None:
        raise Skip("neither torch nor an error of triton is reported")
    triton = _triton(packages)
    release = None if torch is None or versions.prerelease(torch) else versions.release(torch)
    wanted = TRITON.get(release[:2]) if release else None
    if said is not None:
        yield _finding(target, packages, triton, wanted, f"Triton failed: {said.string}", proven=True)
    elif wanted and triton and versions.release(triton) and not _fits(triton, wanted):
        text = f"torch {torch} needs triton {wanted}, {triton} is installed; torch.compile fails"
        yield _finding(target, packages, triton, wanted, text, proven=False)
    elif triton is None and packages and packages.complete and torch and _needs(facts, torch):
        text = "triton is not installed; torch.compile stops on CUDA"
        yield _finding(target, packages, None, wanted, text, proven=False)


def _triton(packages: Packages | None) -> str | None:
    found = (packages.version(name) for name in _NAMES) if packages else ()
    return next((version for version in found if version), None)


def _fits(triton: str, wanted: str) -> bool:
    release = versions.release(triton)
    nightly = versions.prerelease(triton) or "git" in (versions.label(triton) or "")
    return nightly or release is None or f"{release[0]}.{release[1]}" == wanted


def _needs(facts: Facts, torch: str) -> bool:
    """CUDA wheels of torch 2 for Linux depend on triton; builds for CPUs, Windows and macOS do not."""
    host, own = known(facts.host), known(facts.torch)
    system = ((host.system if host else None) or "linux").lower()
    return system == "linux" and versions.at_least(torch, "2.0") and bool(line_of(torch, own.cuda if own else None))


def _finding(
    target: Target,
    packages: Packages | None,
    triton: str | None,
    wanted: str | None,
    text: str,
    proven: bool,
) -> Finding:
    locked = remedies.locked(target, packages, "torch", "triton")
    command = remedies.install(f"triton=={wanted}.*") if wanted else "python -m pip install --upgrade torch triton"
    advice = "Install the triton that torch requires."
    return Finding(
        kind="triton-mismatch",
        subject="triton",
        actual=triton or "not known" if proven else triton or "not installed",
        expected=f"{wanted}.*" if wanted else "the one that torch requires",
        message=f"{text}.",
        remedy=remedies.choose(target, locked, advice, command),
        explains=("packages/conflicts torch triton", "packages/import-mismatch triton"),
        severity=None if proven else Severity.WARNING,  # only torch.compile needs it
        root_rank=35 if proven else 8,
        repair=locked,
    )
