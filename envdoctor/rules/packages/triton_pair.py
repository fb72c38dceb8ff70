from dataclasses import replace

from envdoctor.knowledge.pairs import torch_for_triton, triton_for
from envdoctor.knowledge.questions import circumstances, demanded_specifier, line_of, messages, platform_of, versions
from envdoctor.rules.finding import ERROR, WARNING, Finding, Findings, finding
from envdoctor.rules.packages._assembler import assembler_finding
from envdoctor.rules.rule import Distribution, Facts, Packages, Pattern, Skip, Target, known, remedies, rule

_NAMES = ("triton", "pytorch-triton", "torchtriton", "triton-windows", "pytorch-triton-rocm", "pytorch-triton-xpu")
_SAYS = (
    Pattern(r"Value 'sm_\w+' is not defined for option 'gpu-name'"),
    Pattern(r"Cannot find a working triton installation"),
    Pattern(r"(?i)PTXAS error|ptxas fatal\s*:"),
    Pattern(r"PassManager::run failed"),
    Pattern(r"cannot import name '\w+' from 'triton"),
    Pattern(r"module 'triton[\w.]*' has no attribute"),
    Pattern(r"(?i)too old to be supported by the triton"),
    Pattern(r"(?i)Triton only supports (?:devices|GPUs|CUDA)"),
    Pattern(r"(?i)torch \d\S* (?:requires|needs|depends on) (?:pytorch-)?triton"),
    Pattern(r"(?i)module triton has no (?:attribute|name)|triton\S* has no name"),
)
_TOO_OLD = Pattern(
    r"(?i)too old to be supported by the triton|Triton only supports (?:devices|GPUs|CUDA (?:capab|GPU|devi))"
)
_UNKNOWN_GPU = Pattern(r"(?i)gpu-name|PTXAS error|ptxas fatal")
_GONE = Pattern(r"(?i)cannot import name|has no (?:attribute|name)")
_OF_XLA = Pattern(r"(?:Xla|Jax)RuntimeError|jaxlib|\bxla[/.]|stream_executor|tensorflow")
"""JAX and TensorFlow call the same assembler."""
_MISSING = Pattern(r"(?i)No module named '?triton\b(?!\.\w)")
"""A part of it that is missing (triton.ops) is no proof: what is asked for may have moved or gone."""
_PART = Pattern(r"(?i)No module named '?triton\.")
_HARMLESS = "some optimizations will not be enabled"  # what xformers says of it on Windows, where nothing needs it


@rule(ERROR, kind="triton-mismatch", subject="triton")
def triton_pair(facts: Facts, target: Target) -> Findings:
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
    said = messages.in_report(facts, *_SAYS)
    if said is not None and _OF_XLA.search(said.string) and "triton" not in said.string.lower():
        said = None
    if said is None and not messages.line_with(facts, _HARMLESS):
        said = messages.in_report(facts, _MISSING)
    if torch is None and said is None:
        raise Skip("neither torch nor an error of triton is reported")
    triton = _triton(packages)
    wanted = _wanted_triton(facts, packages, torch) if torch else None
    if said is not None:
        name = "triton-windows" if platform_of(facts).startswith("win") else "triton"
        if _UNKNOWN_GPU.search(said.string) and _OF_NVCC.search("\n".join(facts.messages)):
            return  # the toolkit that compiles something here: packages/known-errors
        if messages.is_retold(said.string) and not _COMPILES.search("\n".join(facts.messages)):
            yield _asked_by_a_program(said.string, name)
            return
        apple = circumstances.APPLE.stands(facts) or platform_of(facts).startswith("macos")
        if _UNKNOWN_GPU.search(said.string):
            yield assembler_finding(facts, said.string, triton)
            return
        title, text, usually = _proof(said.string)
        one = _finding(target, packages, triton, wanted, text, proven=True, usually=usually, name=name, apple=apple)
        yield replace(one, title=title, expected="" if title else one.expected)
    elif wanted and triton and versions.release(triton) and not _fits(triton, wanted):
        text = f"torch {torch} needs triton{wanted}, {triton} is installed; torch.compile fails"
        yield _finding(target, packages, triton, wanted, text, proven=False)
    elif triton is None and packages and packages.complete and torch and _needs(facts, packages, torch):
        text = "triton is not installed; torch.compile stops on CUDA"
        yield _finding(target, packages, None, wanted, text, proven=False)


_COMPILES = Pattern(r"(?i)torch\.compile|inductor|dynamo|TritonMissing")


def _asked_by_a_program(line: str, name: str) -> Finding:
    """A program's own word that it has no Triton: which release it wants, and for what, it does not say."""
    return finding(
        title="A program looks for Triton and does not find it",
        actual="not found",
        expected="only where its kernels are wanted",
        severity=None if "Error" in line else WARNING,
        certain=False,
        message=f"A program looks for Triton and does not find it: {line.rstrip('.')}",
        usually="it was not installed (PyTorch's wheels for Windows, macOS and CPUs bring none), or a torch that was "
        "built otherwise came without it; many programs only leave out what is written in it, and go on",
        fix="Where the program stops at it, or its kernels in Triton are wanted, install the Triton that this torch "
        "asks for (python -m pip show torch names it under Requires); else leave it.",
        run="python -m pip show torch" if name == "triton" else "python -m pip show torch triton-windows",
    )


_OF_NVCC = Pattern(r"(?i)\bnvcc (?:fatal|error|warning)|Error compiling objects|\.cu\.o\b|\bcicc\b")
_CAUSES = (
    (
        _TOO_OLD,
        "Triton compiles for no GPU as old as this one",
        "",
    ),
    (
        Pattern(r"Cannot find a working triton"),
        "A Triton that works is asked for, and none is found",
        "triton is not installed (PyTorch's wheels for Windows, macOS and CPUs bring none), was installed into another "
        "Python than the one that runs (a portable program has one of its own), is of another release than torch asks "
        "for, or fails when it is imported",
    ),
    (
        _GONE,
        "The triton that is installed has not what is asked of it",
        "triton and torch are of different times, since one of them was changed alone; else the package that asks (see "
        "the traceback) was written for another Triton",
    ),
    (
        _PART,
        "A part of Triton is asked for which the triton that is imported does not have",
        "triton and the package that asks (see the traceback) are of different times: triton.ops, for one, went with "
        "3.2; else a folder of that name lies before it",
    ),
    (
        _MISSING,
        "The module triton is asked for and is not found",
        "there is no wheel of it for this system (Windows, macOS) or torch is a build for the CPU; else it was "
        "removed, or torch was installed without what it depends on",
    ),
    (
        Pattern(r"PassManager"),
        "Triton's compiler gave a kernel up",
        "this release of Triton does not know the GPU yet or no longer, the GPU lacks the number format that the "
        "kernel uses (bf16 before Ampere, fp8 before Ada), or the kernel was written for another release",
    ),
)


def _proof(said: str) -> tuple[str, str, str]:
    """A title where the rule's is not true of it, what the words of the failure prove, and what usually is behind."""
    meaning, usually = next(
        ((text, why) for pattern, text, why in _CAUSES if pattern.search(said)),
        ("Triton does not go with what is installed", ""),
    )
    own = _TOO_OLD.search(said) or "PassManager" in said or _GONE.search(said) or _PART.search(said)
    return meaning if own else "", f"{meaning}: {said.rstrip('.')}", usually


def _triton(packages: Packages | None) -> str | None:
    found = (packages.version(name) for name in _NAMES) if packages else ()
    return next((version for version in found if version and not _is_a_pythons(packages, version)), None)


def _is_a_pythons(packages: Packages | None, version: str) -> bool:
    """People write of "triton 3.11.9" and mean the Python beside it: no torch asked for such a Triton yet."""
    release = versions.release(version) or ()
    told = packages is not None and not packages.complete
    return told and (3, 8) <= release[:2] < (3, 20) and torch_for_triton(version) is None


def _wanted_triton(facts: Facts, packages: Packages | None, torch: str) -> str | None:
    """The specifier of triton that this torch asks for: its own wheel's, else the table's; None for any."""
    wheel = packages.find("torch") if packages else None
    if wheel is not None and wheel.requires:
        return _of_wheel(facts, wheel) or None
    return None if versions.prerelease(torch) or (row := triton_for(torch)) is None else f"=={row}.*"


def _of_wheel(facts: Facts, wheel: Distribution) -> str | None:
    interpreter = known(facts.interpreter)
    markers = interpreter.markers if interpreter else {}
    return next(
        (spec for name in _NAMES if (spec := demanded_specifier(wheel.requires, name, markers)) is not None), None
    )


def _fits(triton: str, wanted: str) -> bool:
    nightly = versions.prerelease(triton) or "git" in (versions.label(triton) or "")
    return nightly or versions.within(versions.public(triton), wanted) is not False


def _needs(facts: Facts, packages: Packages, torch: str) -> bool:
    """What its wheel says, where that is known. CUDA wheels of torch 2 for Linux depend on triton; builds for CPUs,
    Windows and macOS do not."""
    wheel = packages.find("torch")
    if wheel is not None and wheel.requires:
        return _of_wheel(facts, wheel) is not None
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
    usually: str = "",
    name: str = "triton",
    apple: bool = False,
) -> Finding:
    locked = remedies.locked_pins(target, packages, "torch", "triton")
    whole = () if name == "triton-windows" else ("torch",)  # PyPI's torch for Windows has no CUDA
    command = remedies.install(f"{name}{wanted}") if wanted else remedies.upgrade(*whole, name)
    advice = "Install the triton that torch requires."
    if "PassManager" in text:
        advice = (
            "Bring torch and its own triton to the newest release together; before Ampere take fp16 in place of bf16."
        )
    if apple and _MISSING.search(text):
        command = ""
        advice = (
            "There is no triton for macOS, nor a GPU that it compiles for: switch off what asks for it (torch.compile "
            "on CUDA, xformers, kernels of the package), or run it on Linux with a GPU."
        )
        locked = ()
    elif _GONE.search(text) and not wanted:
        # which of the two is the older one is not known: upgrading triton alone would part them further
        command = "" if name == "triton-windows" else remedies.again("torch", "")
        advice = "Install the triton that torch requires: torch again with its own, or triton-windows of torch's line."
    elif _TOO_OLD.search(text):
        command = "export TORCHDYNAMO_DISABLE=1"
        advice = "No Triton of today compiles for this GPU: run without torch.compile and without kernels in Triton."
    return finding(
        actual=triton or "not known" if proven else triton or "not installed",
        expected=wanted.removeprefix("==") if wanted else "the one that torch requires",
        message=f"{text.rstrip('.')}.",
        usually=usually,
        fix=remedies.choose(target, locked, advice, command),
        explains=("packages/conflicts torch triton", "packages/import-mismatch triton"),
        severity=None if proven else WARNING,  # only torch.compile needs it
        repair=locked,
    )
