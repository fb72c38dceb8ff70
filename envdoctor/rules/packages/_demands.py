"""Which demands of installed packages are not met, and how bad that is."""

from collections.abc import Iterator

from envdoctor.knowledge.questions import TRAINING, installed, requirements, versions
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Distribution, Facts, Severity, Target, known, need
from envdoctor.values.frozen import frozen

_TOOLS = frozenset({"pip", "setuptools", "wheel"})  # they install; training runs without them


@frozen
class Demand:
    """What a package asks of another one. ``version``: the other one's, None where it is absent."""

    by: Distribution
    wanted: requirements.Wanted
    version: str | None
    severity: Severity


def unmet(facts: Facts, target: Target) -> Iterator[Demand]:
    packages, interpreter = need(facts.packages), known(facts.interpreter)
    markers = interpreter.markers if interpreter else {}
    pins = {pin.name for pin in target.choice.pins} if target.choice else set()
    present = installed.versions(facts)
    for distribution in packages.distributions:
        for wanted in filter(None, map(requirements.read, distribution.requires)):
            version = present.get(wanted.name)
            if version is None and (wanted.name in pins or not packages.complete):
                continue  # packages/missing speaks of the locked ones
            within = version is not None and (not wanted.specifier or versions.within(version, wanted.specifier))
            if within is not False:
                continue
            if requirements.holds(wanted.marker, markers) is True:
                trains = distribution.name in pins or distribution.name in TRAINING
                severity = _severity(wanted, version) if trains else NOTE
                yield Demand(by=distribution, wanted=wanted, version=version, severity=severity)


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
