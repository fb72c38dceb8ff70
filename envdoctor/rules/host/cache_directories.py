from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts import Facts, Storage
from envdoctor.knowledge import messages
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, rule
from envdoctor.target import Target

_VARIABLES = {
    "temporary": "TMPDIR",
    "triton-cache": "TRITON_CACHE_DIR",
    "inductor-cache": "TORCHINDUCTOR_CACHE_DIR",
    "hf-home": "HF_HOME",
    "hf-hub-cache": "HF_HUB_CACHE",
    "hf-datasets-cache": "HF_DATASETS_CACHE",
    "cuda-cache": "CUDA_CACHE_PATH",
    "torch-home": "TORCH_HOME",
}
_RUNS_CODE = frozenset({"temporary", "triton-cache", "inductor-cache"})
_FOLDER = r"(?:triton|inductor|huggingface|HF_HOME|\.cache)\S*"
_REFUSED = r"(?:permission denied|read-only file system)"
_SAYS = (
    Pattern(r"failed to map segment from shared object.*(?:triton|inductor|/tmp)", re.IGNORECASE),
    Pattern(f"{_FOLDER}.*{_REFUSED}", re.IGNORECASE),
    Pattern(f"{_REFUSED}.*{_FOLDER}", re.IGNORECASE),
)


@rule(Severity.WARNING)
def cache_directories(facts: Facts, target: Target) -> Iterator[Finding]:
    """A cache folder cannot be written, or nothing in it may be executed.

    Why: Triton and Inductor write compiled code into their caches and load it from there: on a noexec or
    read-only disk torch.compile stops ("failed to map segment"). Without a writable HF_HOME nothing can be
    downloaded or prepared.
    Fix: point the variable to a local folder that may be written and executed.
    Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/_triton.py
    https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
    """
    host = known(facts.host)
    said = messages.matched(facts, *_SAYS)
    if said is None and (host is None or not host.storage):
        raise Skip("the cache folders are not known")
    for place in host.storage if host else ():
        problem = _problem(place)
        if problem:
            variable = _VARIABLES[place.purpose]
            yield _finding(variable, place.path, problem, f"{place.path} ({place.purpose}) {problem}.", None)
    if said is not None:
        yield _finding("TRITON_CACHE_DIR", said.string, "failed", f"A cache failed: {said.string}.", Severity.ERROR)


def _problem(place: Storage) -> str | None:
    if place.purpose not in _VARIABLES:
        return None
    if place.writable is False:
        return "cannot be written"
    return "is mounted noexec" if place.noexec and place.purpose in _RUNS_CODE else None


def _finding(variable: str, path: str, actual: str, message: str, severity: Severity | None) -> Finding:
    return Finding(
        kind="host-limited",
        subject=variable,
        actual=f"{path} {actual}",
        expected="a local folder that may be written and executed",
        message=message,
        remedy=Remedy(text="Point it elsewhere.", commands=(f"export {variable}=$HOME/.cache/{variable.lower()}",)),
        severity=severity,
        root_rank=13 if severity is Severity.ERROR else 3,
    )
