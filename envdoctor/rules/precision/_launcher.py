"""The launcher's settings: in which format it trains, and how it is told another."""

from envdoctor.rules.rule import Facts, Remedy, Skip, Unavailable, known


def launched_in(facts: Facts) -> str | None:
    """The format that the launcher trains in, as it names it; None where there is no launcher, or it says nothing."""
    launcher = known(facts.launcher)
    return launcher.settings.get("mixed_precision") if launcher else None


def require_launched_in(facts: Facts) -> str | None:
    """The same. Skips where a launcher's settings could not be read."""
    if isinstance(facts.launcher, Unavailable) and facts.launcher.why != "absent":
        raise Skip(facts.launcher.reason)
    return launched_in(facts)


def launch_in(precision: str, text: str) -> Remedy:
    """What helps, with the launcher's command for that format."""
    return Remedy(text=text, commands=(f"accelerate launch --mixed_precision {precision} train.py",))
