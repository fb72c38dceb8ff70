from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, known, need, rule
from envdoctor.target import Target

_SIXTY_FOUR = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}


@rule(Severity.ERROR)
def architecture(facts: Facts, target: Target) -> Iterator[Finding]:
    """Python is not made for this machine: 32 bit, emulated, or without glibc.

    Why: torch has wheels for 64-bit Pythons on glibc (Linux), macOS and Windows. A 32-bit Python and Alpine's
    musl find none; an x86 Python on an ARM machine runs through an emulator, many times slower.
    Fix: a Python for this machine; a Debian- or Ubuntu-based image instead of Alpine.
    Source: https://github.com/pytorch/pytorch/blob/main/RELEASE.md https://pytorch.org/get-started/locally/
    """
    interpreter, host = need(facts.interpreter), known(facts.host)
    platform = (interpreter.platform or "").lower()
    machine = platform.rpartition("-")[2]
    machine = _SIXTY_FOUR.get(machine, machine)
    actual = _SIXTY_FOUR.get((host.machine or "").lower(), (host.machine or "").lower()) if host else ""
    reason = None
    if machine in ("i686", "i386", "armv7l", "win32") or platform == "win32":
        reason = "a 32-bit Python; torch has no wheels for it"
    elif (interpreter.libc or "").startswith("musl"):
        reason = "a Python on musl (Alpine); torch has no wheels for it"
    elif machine == "x86_64" and actual == "aarch64":
        reason = "an x86-64 Python on an ARM machine: everything runs through an emulator"
    if reason:
        yield Finding(
            kind="python-unsupported",
            subject="python",
            actual=f"{interpreter.platform}, {interpreter.libc or 'unknown C library'}",
            expected="a 64-bit Python for this machine, on glibc",
            message=f"This is {reason}.",
            remedy=Remedy(
                text="Use a Python made for this machine (python:3.12-slim instead of python:3.12-alpine).",
                commands=("uv venv --python 3.12 .venv",),
            ),
            who="image",
            explains=("packages/missing", "torch/"),
            root_rank=45,
        )
