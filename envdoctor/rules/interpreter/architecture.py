from envdoctor.rules.rule import ERROR, Facts, Findings, Remedy, finding, known, need, rule

_SIXTY_FOUR = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}


_NEEDED = "a 64-bit Python for this machine, on glibc"
_FOLLOWS = ("packages/missing", "torch/")


@rule(ERROR, kind="python-unsupported", subject="python", expected=_NEEDED, who="image", explains=_FOLLOWS)
def architecture(facts: Facts) -> Findings:
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
    elif machine == "x86_64" and (chip := facts.remarks.get("Apple's processor")):
        yield finding(
            actual=f"{interpreter.platform} on {chip}",
            expected="a Python for Apple's processors (arm64)",
            who="you",
            message=_TRANSLATED,
            fix=_NATIVE,
            explains=(*_FOLLOWS, "packages/known-errors MPS"),
        )
    elif machine == "x86_64" and actual == "aarch64":
        reason = "an x86-64 Python on an ARM machine: everything runs through an emulator"
    if reason:
        yield finding(
            actual=f"{interpreter.platform}, {interpreter.libc or 'unknown C library'}",
            message=f"This is {reason}.",
            fix="Use a Python made for this machine (python:3.12-slim instead of python:3.12-alpine).",
            run="uv venv --python 3.12 .venv",
        )


_TRANSLATED = (
    "This Python was built for Intel's processors and is translated on one of Apple's (Rosetta): macOS tells it an old "
    "version (10.16), torch finds no GPU that it may use, and its wheels for it ended with 2.2."
)
_NATIVE = Remedy(
    text="Make the environment anew with a native Python: Miniforge or Anaconda for arm64, Homebrew's in "
    "/opt/homebrew, or uv's, from a terminal that is not set to Rosetta.",
    commands=("python -c 'import platform; print(platform.machine())'", "uv venv --python 3.12 .venv"),
)
