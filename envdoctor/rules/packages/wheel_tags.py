import functools

from envdoctor.knowledge.questions import versions
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Target, finding, need, remedies, rule

_CPYTHON = Pattern(r"cp(\d)(\d+)")


@rule(ERROR, kind="extension-abi-mismatch")
def wheel_tags(facts: Facts, target: Target) -> Findings:
    """A package was built for another Python or another kind of machine.

    Why: compiled packages load under the Python version and on the machine that their wheel names. A
    site-packages folder that was copied, kept over an upgrade of Python, or put on PYTHONPATH brings others: "No
    module named ..._C", "wrong ELF class".
    Fix: install these packages for this Python.
    Source: https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """
    packages, interpreter = need(facts.packages), need(facts.interpreter)
    for distribution in packages.distributions:
        reasons = [
            _unfit(tag, interpreter.version, interpreter.platform, interpreter.libc, interpreter.free_threaded)
            for tag in distribution.tags
        ]
        if not reasons or None in reasons:
            continue
        locked = remedies.locked_pins(target, packages, distribution.name)
        exact = f"{distribution.name}=={versions.public(distribution.version)}"
        yield finding(
            subject=distribution.name,
            actual=", ".join(distribution.tags[:3]),
            expected=f"a wheel for Python {interpreter.version} on {interpreter.platform or 'this machine'}",
            message=f"{distribution.name} {distribution.version} was built for {reasons[0]}.",
            fix=remedies.choose(
                target,
                locked,
                "Install it for this Python.",
                remedies.install(exact, options="--force-reinstall --no-deps"),
            ),
            repair=locked,
            explains=("packages/import-mismatch", "torch/") if distribution.name == "torch" else (),
        )


@functools.cache  # most of an environment's wheels carry one of a few tags
def _unfit(
    tag: str, version: str, own_platform: str | None, libc: str | None, free_threaded: bool | None
) -> str | None:
    """For what the wheel was built, if that is not this interpreter; None when it fits or cannot be told."""
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
