from collections.abc import Mapping

from envdoctor.knowledge.questions import TRAINING, requirements, versions
from envdoctor.rules.finding import ERROR, Finding, Findings, Severity, finding
from envdoctor.rules.rule import NOTE, WARNING, Distribution, Facts, Packages, Target, known, need, remedies, rule

_TOOLS = frozenset({"pip", "setuptools", "wheel"})  # they install; training runs without them


@rule(ERROR, kind="package-conflict")
def conflicts(facts: Facts, target: Target) -> Findings:
    """An installed package demands another version of a package, or one that is absent.

    Why: packages check some of these demands at import and stop; others fail later, with an argument or an
    attribute that does not exist. A version above an upper limit often works all the same, and is a warning;
    demands of packages that take no part in training are only noted.
    Fix: install a version that all of them accept.
    Source: https://pip.pypa.io/en/stable/cli/pip_check/
    https://github.com/huggingface/transformers/blob/main/src/transformers/dependency_versions_check.py
    """
    packages = need(facts.packages)
    interpreter = known(facts.interpreter)
    markers = interpreter.markers if interpreter else {}
    pins = frozenset(pin.name for pin in target.choice.pins) if target.choice else frozenset()
    versions_of = {distribution.name: distribution.version for distribution in packages.distributions}
    for distribution in packages.distributions:
        for line in distribution.requires:
            wanted = requirements.read(line)
            if wanted is not None and _violates(wanted, versions_of, packages, markers, pins):
                yield _finding(distribution, wanted, packages, pins, target)


def _violates(
    wanted: requirements.Wanted,
    installed: Mapping[str, str],
    packages: Packages,
    markers: Mapping[str, str],
    pins: frozenset[str],
) -> bool:
    version = installed.get(wanted.name)
    if version is None and (wanted.name in pins or not packages.complete):
        return False  # packages/missing speaks of the locked ones
    if version is not None and (not wanted.specifier or versions.within(version, wanted.specifier) is not False):
        return False
    return requirements.holds(wanted.marker, markers) is True


def _finding(
    demanding: Distribution,
    wanted: requirements.Wanted,
    packages: Packages,
    pins: frozenset[str],
    target: Target,
) -> Finding:
    need_text = f"{wanted.name}{wanted.specifier}"
    version = packages.version(wanted.name)
    locked = remedies.locked_pins(target, packages, wanted.name) or remedies.locked_pins(
        target, packages, demanding.name
    )
    text = f"Install a version that {demanding.name} accepts."
    by_hand = remedies.install(need_text)
    relevant = demanding.name in pins or demanding.name in TRAINING
    severity = _severity(wanted, version) if relevant else NOTE
    return finding(
        subject=f"{demanding.name} {wanted.name}",
        actual=version or "not installed",
        expected=need_text,
        message=f"{demanding.name} {demanding.version} requires {need_text}, and "
        + (f"{version} is installed." if version else "it is not installed."),
        fix=remedies.choose(target, locked, text, by_hand),
        severity=severity,
        certain=False,  # limits are set before anybody could try, and often hold
        repair=locked,
    )


def _severity(wanted: requirements.Wanted, version: str | None) -> Severity:
    """Too old or absent is an error; too new a warning: limits are set before anybody could try, and often hold."""
    if wanted.name in _TOOLS or _newer_cuda(wanted, version):
        return NOTE
    return WARNING if version is not None and _only_too_new(version, wanted.specifier) else ERROR


def _only_too_new(version: str, specifier: str) -> bool:
    parsed, clauses = versions.parse(version), versions.specifiers(specifier)
    if parsed is None or clauses is None:
        return False
    broken = [clause for clause in clauses if not clause.contains(parsed, prereleases=True)]
    return all(clause.operator in ("<", "<=") for clause in broken)


def _newer_cuda(wanted: requirements.Wanted, version: str | None) -> bool:
    """A newer NVIDIA wheel than torch demands keeps its interface, and is a known remedy for older faults."""
    exact = wanted.specifier.removeprefix("==")
    return wanted.name.startswith("nvidia-") and version is not None and versions.at_least(version, exact)
