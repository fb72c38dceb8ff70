from envdoctor.knowledge.questions import extensions, messages
from envdoctor.rules.packages import _assembler, _triton_line, _triton_wheel
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Skip, Target, finding, remedies, rule

_TOO_OLD = Pattern(
    r"(?i)too old to be supported by the triton|Triton only supports (?:devices|GPUs|CUDA (?:capab|GPU|devi))"
)
_GONE = Pattern(r"(?i)cannot import name|has no (?:attribute|name)")
_PART = Pattern(r"(?i)No module named '?triton\.")
_EXPLAINED = ("packages/conflicts torch triton", "packages/import-mismatch triton")


_OF_XLA = Pattern(r"nvptx_compiler|external/(?:xla|org_tensorflow)/|XlaRuntimeError")


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
    torch = extensions.labelled_torch(facts)
    said = _triton_line.of_report(facts)
    if torch is None and said is None:
        raise Skip("neither torch nor an error of triton is reported")
    triton, wanted = _triton_wheel.version(facts), _triton_wheel.specifier(facts)
    if said is not None:
        if _triton_line.is_of_nvcc(facts, said) or (triton is None and messages.anywhere(facts, _OF_XLA)):
            return  # the toolkit that compiles something here, or JAX: packages/known-errors
        if _triton_line.is_a_programs_word(facts, said):
            yield from _asked_by_a_program(facts, said)
        elif _triton_line.is_of_the_assembler(said):
            yield _assembler.assembler_finding(facts, said, triton)
        else:
            yield from _failure(facts, target, triton, wanted, said)
    elif wanted and triton and _triton_wheel.is_apart(triton, wanted):
        text = f"torch {torch} needs triton{wanted}, {triton} is installed; torch.compile fails."
        yield from _not_as_wanted(facts, target, triton, wanted, text)
    elif triton is None and _triton_wheel.is_needed(facts):
        text = "triton is not installed; torch.compile stops on CUDA."
        yield from _not_as_wanted(facts, target, triton, wanted, text)


def _not_as_wanted(facts: Facts, target: Target, triton: str | None, wanted: str | None, text: str) -> Findings:
    by_hand = remedies.install(f"triton{wanted}") if wanted else remedies.upgrade("torch", "triton")
    yield finding(
        actual=triton or "not installed",
        expected=wanted.removeprefix("==") if wanted else _ANY,
        message=text,
        fix=remedies.from_lock(facts, target, ("torch", "triton"), _AS_REQUIRED, by_hand),
        severity=WARNING,  # only torch.compile needs it
        explains=_EXPLAINED,
    )


def _failure(facts: Facts, target: Target, triton: str | None, wanted: str | None, said: str) -> Findings:
    title, meaning, usually = _proof(said)
    apple = _triton_wheel.is_for_none(facts)
    advice = (_NOT_ON_A_MAC,) if apple and _triton_line.MISSING.search(said) else _advice(facts, wanted, said)
    pinned = ("torch", "triton") if advice[1:] else ()
    fix = remedies.from_lock(facts, target, pinned, *advice)
    actual = triton or "not known"
    expected = "" if title else wanted.removeprefix("==") if wanted else _ANY
    message = f"{meaning}: {said.rstrip('.')}."
    yield finding(
        title=title, actual=actual, expected=expected, message=message, usually=usually, fix=fix, explains=_EXPLAINED
    )


_ANY = "the one that torch requires"
_AS_REQUIRED = "Install the triton that torch requires."
_NOT_ON_A_MAC = (
    "There is no triton for macOS, nor a GPU that it compiles for: switch off what asks for it (torch.compile on CUDA, "
    "xformers, kernels of the package), or run it on Linux with a GPU."
)


def _advice(facts: Facts, wanted: str | None, said: str) -> tuple[str, str]:
    """A sentence, and a command."""
    windows = _triton_wheel.is_for_windows(facts)
    if _GONE.search(said) and not wanted:
        # which of the two is the older one is not known: upgrading triton alone would part them further
        text = f"{_AS_REQUIRED[:-1]}: torch again with its own, or triton-windows of torch's line."
        return text, "" if windows else remedies.again("torch", "")
    if _TOO_OLD.search(said):
        text = "No Triton of today compiles for this GPU: run without torch.compile and without kernels in Triton."
        return text, "export TORCHDYNAMO_DISABLE=1"
    name, whole = ("triton-windows", ()) if windows else ("triton", ("torch",))  # PyPI's torch for Windows has no CUDA
    command = remedies.install(f"{name}{wanted}") if wanted else remedies.upgrade(*whole, name)
    return _TOGETHER if "PassManager" in said else _AS_REQUIRED, command


_TOGETHER = "Bring torch and its own triton to the newest release together; before Ampere take fp16 in place of bf16."


def _asked_by_a_program(facts: Facts, line: str) -> Findings:
    """A program's own word that it has no Triton: which release it wants, and for what, it does not say."""
    windows, title = _triton_wheel.is_for_windows(facts), "A program looks for Triton and does not find it"
    yield finding(
        title=title,
        actual="not found",
        expected="only where its kernels are wanted",
        severity=None if "Error" in line else WARNING,
        certain=False,
        message=f"{title}: {line.rstrip('.')}",
        usually=_LEFT_OUT,
        fix=_WHERE_WANTED,
        run=f"python -m pip show torch{' triton-windows' if windows else ''}",
    )


_LEFT_OUT = (
    "it was not installed (PyTorch's wheels for Windows, macOS and CPUs bring none), or a torch that was built "
    "otherwise came without it; many programs only leave out what is written in it, and go on"
)
_WHERE_WANTED = (
    "Where the program stops at it, or its kernels in Triton are wanted, install the Triton that this torch asks for "
    "(python -m pip show torch names it under Requires); else leave it."
)
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
        _triton_line.MISSING,
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
    return meaning if own else "", meaning, usually
