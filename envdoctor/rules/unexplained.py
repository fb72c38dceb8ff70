"""An error text that no finding explains: said as such, never passed over, and never called healthy."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.facts.model import TROUBLE, Facts, Unavailable
from envdoctor.knowledge.errors import HINTS
from envdoctor.knowledge.messages import CUT_TRACEBACK, errors
from envdoctor.knowledge.slowness import OTHERS
from envdoctor.rules.causes import ONLY_SLOW
from envdoctor.rules.finding import Finding, Severity
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

_BAR = Pattern(r"^.{0,200}?\d{1,3}%\|.{0,200}\[[\d:]{1,12}<[^\]]{1,60}(?:it/s|s/it)[^\]]{0,60}\]")
_BARE = Pattern(r"Traceback \(most recent call last\):?")
_RULED = Pattern(r"(?P<error>[A-Za-z_]\w{0,60})\s+Traceback \(most recent call last\):?")
"""How a notebook heads a traceback: the class of the error on the left, these words on the right."""


@frozen
class Unexplained:
    """The line that nothing explains, and what would help to explain it."""

    line: str
    help: str

    @property
    def sentence(self) -> str:
        """For every format alike."""
        return f'This error is not explained by what envdoctor knows: "{self.line}". {self.help}'


def find_unexplained(facts: Facts, findings: Sequence[Finding]) -> Unexplained | None:
    """The last error of a pasted report, where no finding can be its cause. Pure.

    What only slows a run down (`ONLY_SLOW`) ends none, and a note explains nothing. Of a machine that was looked at
    itself, errors are no part.
    """
    if facts.origin.kind != "pasted" or any(_explains(found) for found in findings):
        return None
    said = errors(facts)
    if any(found.severity is Severity.WARNING and found.actual in said for found in findings):
        return None  # it is about this very line
    if said and all("out of memory" in text.lower() or "OutOfMemory" in text for text in said):
        greedy = (found for found in findings if found.kind == "known-slow-version")
        if any(found.severity is Severity.WARNING for found in greedy):
            return None  # a slow way that takes several times the memory as well
    asked = said == (facts.remarks.get("complaint"),)  # a person's own word, and no program's
    if (asked or not said) and (slow := facts.remarks.get("slowness")):
        if _is_found(findings):
            return None
        return Unexplained(line=slow[:300], help=_help(facts, slow))
    line = _quotation(_telling(said)) or _complaint(facts, findings) or _failure(facts, findings)
    return Unexplained(line=line[:300], help=_help(facts, line)) if line else None


def _is_found(findings: Sequence[Finding]) -> bool:
    """Was anything found that is more than worth knowing?"""
    return any(found.severity in (Severity.WARNING, Severity.ERROR) for found in findings)


def _complaint(facts: Facts, findings: Sequence[Finding]) -> str:
    """What a person says of a run that prints no error, where nothing at all was found to guess at."""
    if _is_found(findings):
        return ""
    told = (facts.remarks.get(f"complaint of {of}") for of in OTHERS)
    return next(filter(None, told), "")


_FAILS = Pattern(
    r"(?i)\b(?:not available|unavailable|unable to|(?:do|does|did)(?: not|n['’]t) work|not working|stuck"
    r"|crash(?:es|ed|ing)?|can(?:not|['’]t| not) (?:be used|use|run|start|train|import|load|install|get))\b",
)
_WARNS = Pattern(r"(?i)warn(?:ing)?\b")


def _failure(facts: Facts, findings: Sequence[Finding]) -> str:
    """What somebody says that does not go, in words that are no program's, where nothing was found at all."""
    if _is_found(findings):
        return ""
    said = next((text for text in facts.messages if _FAILS.search(text) and not _WARNS.search(text)), "")
    return said or facts.remarks.get(TROUBLE, "")


def _telling(said: Sequence[str]) -> str:
    """The last line; of a traceback without its end the last before it that is known to name no cause."""
    if not said or "Traceback" not in said[-1]:
        return said[-1] if said else ""
    hinted = (text for text in reversed(said) for row in HINTS if row.pattern.search(text))
    return next(hinted, said[-1])


def _quotation(line: str) -> str:
    """Without the bar of a progress that stands before the error on the same line, and without a notebook's ruler."""
    line = _BAR.sub("", line).strip() or line
    if _BARE.fullmatch(line):
        return CUT_TRACEBACK
    ruled = _RULED.fullmatch(line)
    return f"{ruled['error']}, in a traceback whose last line is not in the report" if ruled else line


def _explains(found: Finding) -> bool:
    if found.severity is Severity.ERROR:
        return True
    return found.severity is Severity.WARNING and found.kind not in ONLY_SLOW


def _help(facts: Facts, said: str) -> str:
    hint = next((row.help for row in HINTS if row.pattern.search(said)), None)
    if hint is not None:
        return hint
    wanted = []
    if "Traceback" in said or "traceback" in said:
        wanted.append("the last lines of the traceback")
    elif not any("Traceback" in text or "File " in text for text in facts.messages):
        wanted.append("the whole traceback")
    if isinstance(facts.torch, Unavailable) or isinstance(facts.gpus, Unavailable):
        wanted.append("the output of python -m torch.utils.collect_env")
    if isinstance(facts.packages, Unavailable) or not facts.packages.complete:
        wanted.append("pip list")
    return f"It would help to paste {_and(wanted)} too." if wanted else "The fault may lie in the code or its data."


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
