"""What a pasted text is told, for tests of sentences: they say what the lines prove and the text leaves open."""

from __future__ import annotations

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding, Severity

RULES = load_rules()


def root(*lines: str) -> Finding:
    """The finding that a text with these lines leads with."""
    found = diagnose(read("\n".join(lines)), no_target(), RULES).root_cause
    assert found is not None
    return found


def errors(*lines: str) -> list[Finding]:
    found = diagnose(read("\n".join(lines)), no_target(), RULES).findings
    return [one for one in found if one.severity is Severity.ERROR]


def whole(found: Finding) -> str:
    """The sentence, what helps and the commands."""
    return " ".join((found.message, found.remedy.text, *found.remedy.commands))
