"""Which Triton is installed, which one this torch asks for, and whether it needs any."""

from envdoctor.knowledge.questions import circumstances, demanded_specifier, extensions, line_of, pairs, platform_of
from envdoctor.rules.rule import Distribution, Facts, Packages, known, versions

_NAMES = ("triton", "pytorch-triton", "torchtriton", "triton-windows", "pytorch-triton-rocm", "pytorch-triton-xpu")


def is_for_windows(facts: Facts) -> bool:
    return platform_of(facts).startswith("win")


def is_for_none(facts: Facts) -> bool:
    """A Mac, for which there is no Triton."""
    return circumstances.APPLE.stands(facts) or platform_of(facts).startswith("macos")


def version(facts: Facts) -> str | None:
    packages = known(facts.packages)
    found = (packages.version(name) for name in _NAMES) if packages else ()
    return next((one for one in found if one and not _is_a_pythons(packages, one)), None)


def _is_a_pythons(packages: Packages | None, version: str) -> bool:
    """People write of "triton 3.11.9" and mean the Python beside it: no torch asked for such a Triton yet."""
    release = versions.release(version) or ()
    told = packages is not None and not packages.complete
    return told and (3, 8) <= release[:2] < (3, 20) and pairs.torch_for_triton(version) is None


def specifier(facts: Facts) -> str | None:
    """The specifier of triton that this torch asks for: its own wheel's, else the table's; None for any."""
    packages, torch = known(facts.packages), extensions.labelled_torch(facts)
    wheel = packages.find("torch") if packages else None
    if torch is None:
        return None
    if wheel is not None and wheel.requires:
        return _of_wheel(facts, wheel) or None
    return None if versions.prerelease(torch) or (row := pairs.triton_for(torch)) is None else f"=={row}.*"


def _of_wheel(facts: Facts, wheel: Distribution) -> str | None:
    interpreter = known(facts.interpreter)
    markers = interpreter.markers if interpreter else {}
    return next(
        (spec for name in _NAMES if (spec := demanded_specifier(wheel.requires, name, markers)) is not None), None
    )


def is_apart(triton: str, wanted: str) -> bool:
    return versions.release(triton) is not None and not _fits(triton, wanted)


def _fits(triton: str, wanted: str) -> bool:
    nightly = versions.prerelease(triton) or "git" in (versions.label(triton) or "")
    return nightly or versions.within(versions.public(triton), wanted) is not False


def is_needed(facts: Facts) -> bool:
    """What its wheel says, where that is known. CUDA wheels of torch 2 for Linux depend on triton; builds for CPUs,
    Windows and macOS do not."""
    packages, torch = known(facts.packages), extensions.labelled_torch(facts)
    if torch is None or packages is None or not packages.complete:
        return False
    wheel = packages.find("torch")
    if wheel is not None and wheel.requires:
        return _of_wheel(facts, wheel) is not None
    host, own = known(facts.host), known(facts.torch)
    system = ((host.system if host else None) or "linux").lower()
    return system == "linux" and versions.at_least(torch, "2.0") and bool(line_of(torch, own.cuda if own else None))
