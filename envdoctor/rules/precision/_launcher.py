from envdoctor.rules.rule import Facts, Skip, Unavailable, known


def launched_in(facts: Facts) -> str | None:
    """The format that the launcher trains in, as it names it; None where there is no launcher, or it says nothing."""
    launcher = known(facts.launcher)
    return launcher.settings.get("mixed_precision") if launcher else None


def require_launched_in(facts: Facts) -> str | None:
    """The same. Skips where a launcher's settings could not be read."""
    if isinstance(facts.launcher, Unavailable) and facts.launcher.why != "absent":
        raise Skip(facts.launcher.reason)
    return launched_in(facts)
