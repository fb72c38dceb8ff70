"""For which Python and which machine a wheel was built, by its tag (cp312-cp312-manylinux_2_28_x86_64)."""

import functools

from envdoctor.rules.rule import Interpreter, Pattern, versions

_CPYTHON = Pattern(r"cp(\d)(\d+)")


def unfit(tag: str, here: Interpreter) -> str | None:
    """For what the wheel was built, if that is not this interpreter; None when it fits or cannot be told."""
    return _unfit(tag, here.version, here.platform, here.libc, here.free_threaded)


@functools.cache  # most of an environment's wheels carry one of a few tags
def _unfit(
    tag: str, version: str, own_platform: str | None, libc: str | None, free_threaded: bool | None
) -> str | None:
    python, _, rest = tag.partition("-")
    abi, _, platform = rest.partition("-")
    own = versions.release(version)
    match = _CPYTHON.fullmatch(python)
    if match and own:
        built = (int(match[1]), int(match[2]))
        if (built != own[:2] and abi != "abi3") or (abi == "abi3" and built > own[:2]):
            return f"Python {built[0]}.{built[1]}"
        if abi.endswith("t") is not bool(free_threaded) and abi.startswith("cp"):
            return f"{'a free-threaded' if abi.endswith('t') else 'the ordinary'} Python {built[0]}.{built[1]}"
    machine = (own_platform or "").rpartition("-")[2]
    known_machines = ("x86_64", "aarch64", "i686", "ppc64le", "armv7l", "s390x")
    other = next((name for name in known_machines if platform.endswith(name)), None)
    if other and machine in known_machines and other != machine:
        return other
    if libc and "musllinux" in platform and libc.startswith("glibc"):
        return "musl"
    return None
