from envdoctor.rules.hardware import other_framework
from envdoctor.rules.rule import ERROR, Facts, Findings, Skip, Target, Torch, Who, finding, known, remedies, rule
from envdoctor.values.pattern import Pattern

_CAUSES: tuple[tuple[Pattern, str, Who], ...] = (
    (Pattern(r"undefined symbol|version `\S+' not found"), "two libraries of different builds meet", "you"),
    (Pattern(r"cannot open shared object file: No such file"), "a library that torch needs is missing", "you"),
    (Pattern(r"failed to map segment|Cannot allocate memory"), "there is not enough memory to load it", "host"),
    (Pattern(r"GLIBC_\d"), "the system's C library is too old for this build", "image"),
    (Pattern(r"Illegal instruction|SIGILL"), "the CPU lacks instructions that this build uses", "host"),
    (Pattern(r"SIGSEGV|Segmentation fault"), "native libraries clash", "you"),
    (Pattern(r"SIGKILL|Killed"), "it was killed, usually for lack of memory", "host"),
    (
        Pattern(r"partially initialized module|has no attribute|shadow"),
        "a file of yours hides one of torch's modules",
        "you",
    ),
)


_EXPLAINED = ("precision/", "attention/", "torch/cuda-unavailable")


@rule(ERROR, kind="torch-import", subject="torch", expected="torch can be imported", explains=_EXPLAINED)
def import_fails(facts: Facts, target: Target) -> Findings:
    """`import torch` crashes, hangs or raises.

    Why: nothing can train. A crash or a hang while importing comes from native libraries: a damaged installation,
    libraries of another CUDA or cuDNN found first, a C library or CPU that is too old, a driver that does not answer.
    Fix: install torch again from the lock; where it hangs, empty LD_LIBRARY_PATH and LD_PRELOAD first.
    Source: https://github.com/pytorch/pytorch/issues/121222 (a segmentation fault cured by an empty LD_LIBRARY_PATH)
    """
    if isinstance(facts.torch, Torch):
        return
    absent = facts.torch
    if absent.why in ("not-asked", "not-reported"):
        raise Skip(absent.reason)
    packages = known(facts.packages)
    missing = absent.why == "absent"
    if missing and not target.asked and (other := other_framework(facts)) is not None:
        raise Skip(f"torch is not installed: this environment trains with {other}")
    if missing and (packages is None or packages.version("torch") is None) and target.choice is None:
        raise Skip("torch is not installed, and nothing here asks for it")
    how = {"crashed": "crashes", "timed-out": "does not come back", "absent": "finds no torch"}.get(absent.why, "fails")
    cause, who = next(((f" ({text})", who) for said, text, who in _CAUSES if said.search(absent.reason)), _UNKNOWN)
    repair, version = remedies.torch_pin(target), packages.version("torch") if packages else None
    by_hand = ("Install torch.",) if missing and version is None else ("Install torch again.", *_by_hand(version))
    yield finding(
        actual=absent.reason,
        who=who,
        message=f"`import torch` {how}: {absent.reason}{cause}.",
        fix=remedies.choose(target, repair, *by_hand),
        repair=repair,
    )


_UNKNOWN: tuple[str, Who] = ("", "you")


def _by_hand(version: str | None) -> tuple[str, ...]:
    again = remedies.again(f"torch=={version}", "--no-deps")
    return ("env -u LD_LIBRARY_PATH -u LD_PRELOAD python -c 'import torch'", *((again,) if version else ()))
