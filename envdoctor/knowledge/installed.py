"""Which releases are installed, as far as the facts tell."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.facts.model import Facts
from envdoctor.facts.need import known


def version(facts: Facts, name: str) -> str | None:
    """The release of a distribution; None where it is not installed, or nothing is known of it."""
    packages = known(facts.packages)
    return packages.version(name) if packages else None


def versions(facts: Facts) -> Mapping[str, str]:
    """The release of each distribution that is listed."""
    packages = known(facts.packages)
    return {each.name: each.version for each in packages.distributions} if packages else {}


def with_torch(facts: Facts) -> dict[str, str]:
    """The same, torch as it says itself where that was asked."""
    torch = known(facts.torch)
    return {**versions(facts), **({"torch": torch.version} if torch and torch.version else {})}
