from datetime import date

from envdoctor.knowledge.questions import versions
from envdoctor.rules.rule import NOTE, Facts, Findings, Remedy, finding, need, rule

# https://peps.python.org/pep-0602/ and https://devguide.python.org/versions/: last day of security fixes
_LAST_DAY = {
    (3, 6): date(2021, 12, 23),
    (3, 7): date(2023, 6, 27),
    (3, 8): date(2024, 10, 7),
    (3, 9): date(2025, 10, 31),
    (3, 10): date(2026, 10, 31),
    (3, 11): date(2027, 10, 31),
    (3, 12): date(2028, 10, 31),
}
_WRITTEN = date(2025, 11, 1)  # facts without a date are not older than this table's first version


@rule(NOTE, kind="interpreter", subject="python", expected="a maintained Python")
def end_of_life(facts: Facts) -> Findings:
    """This Python gets no more fixes.

    Why: libraries drop a Python soon after its end: newer releases of torch and transformers, and their speed,
    are out of reach. It does not slow what is installed.
    Fix: a newer Python for the next environment.
    Source: https://devguide.python.org/versions/ https://scientific-python.org/specs/spec-0000/
    """
    version = need(facts.interpreter).version
    release = versions.release(version)
    last = _LAST_DAY.get(release[:2]) if release else None
    if release is None or (last is None and release[:2] > (3, 5)) or (last is not None and _today(facts) <= last):
        return
    day = last.isoformat() if last else "a past day"
    yield finding(
        actual=version,
        message=f"Python {release[0]}.{release[1]} had its last security fix on {day}.",
        fix=Remedy(text="Use a newer Python for the next environment.", commands=("uv venv --python 3.12 .venv",)),
    )


def _today(facts: Facts) -> date:
    """The day the facts were collected: a rule has no clock."""
    try:
        return date.fromisoformat((facts.origin.collected or "")[:10])
    except ValueError:
        return _WRITTEN
