"""Looking for known words in what was said: the error lines of a report, or those and all that torch said itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.facts.model import AS_TOLD, IN_OTHER_WORDS, IN_VAIN, TRIED, Facts
from envdoctor.facts.need import known
from envdoctor.values.once import once
from envdoctor.values.pattern import Pattern


@once
def texts(facts: Facts) -> tuple[str, ...]:
    """All that was said: error lines of a report, torch's CUDA error and warnings, why torch would not import."""
    torch = known(facts.torch)
    said = list(facts.messages)
    if torch is not None:
        said += [torch.cuda_error or "", *torch.warnings]
    elif (absent := facts.torch) and getattr(absent, "why", "") not in ("not-reported", "not-asked"):
        said.append(getattr(absent, "reason", ""))
    return tuple(text for text in said if text)


def anywhere(facts: Facts, *patterns: Pattern) -> re.Match[str] | None:
    """The first match of a pattern in anything that was said: for errors that torch meets by itself."""
    return _first(texts(facts), patterns)


def in_report(facts: Facts, *patterns: Pattern) -> re.Match[str] | None:
    """The first match of a pattern in the error lines of a report: for errors of the user's own run, which no probe
    meets."""
    return _first(facts.messages, patterns)


def line_with(facts: Facts, *phrases: str) -> str | None:
    """The first error line of a report that holds one of the phrases (lower case), as it stands there."""
    for text in facts.messages:
        lower = text.lower()
        if any(phrase in lower for phrase in phrases):
            return text
    return None


RAISED_IN = Pattern(r" \[raised in (?P<name>[\w.-]{1,60})\]$")
"""The note of whose code raised an error, which the reader of a report puts behind the line."""
CUT_TRACEBACK = "Traceback (most recent call last): its last line is not in the report"
"""What the reader notes of a traceback whose end a text lacks."""
_WARNED = Pattern(
    r"^[^A-Za-z0-9]{0,4}(?:\d{4}[-/]\d\d[-/]\d\d[ T][\d:.,]{5,20}[^A-Za-z0-9]{1,4})?"
    r"(?:WARN(?:ING)?|INFO|DEBUG)\b(?!\[XFORMERS\])"
)


_PERSONS = Pattern(
    r"\b(?:I|I'm|I've|[Ww]e|[Mm]y|[Oo]ur)\b(?! ?[-=.:/(])|\?(?:\s|\]|$)"
    r"|\b(?:it |that )?(?:seems?|looks) (?:like|as|to)\b"
    r"|\b(?i:maybe|perhaps|probably|I guess)\b"
)
"""A person's own sentence: what it says of a program's words, or of the machine, may be a guess."""


def own_words(line: str) -> str:
    """An error's own words, without the note of who raised it."""
    return RAISED_IN.sub("", line)


def is_told(text: str) -> bool:
    """Is it a person's word of what was said, put into the program's own?"""
    return f"[{AS_TOLD}" in text or is_persons(text)


def is_persons(text: str) -> bool:
    """Is it a person's sentence that something like a program's words was made out of, beside what programs said?"""
    own = text.partition(f" [{IN_OTHER_WORDS}")[2]
    return bool(own) and _PERSONS.search(own) is not None


def retold_lines(facts: Facts) -> dict[str, str]:
    """The words of a program that no line of the report has, and the line that says the same in its own way."""
    lines = [text for text in facts.messages if isinstance(text, str)]  # a probe may lie about its answer's form
    found = (text.partition(f" [{IN_OTHER_WORDS}") for text in lines)
    retold = {words: line.removesuffix("]") for words, mark, line in found if mark}
    own = [text for text in lines if f"[{IN_OTHER_WORDS}" not in text]
    return {words: line for words, line in retold.items() if not any(words in text for text in own)}


def is_retold(text: str) -> bool:
    """Does the line say in its own way what stands before it in a program's words?"""
    return f"[{IN_OTHER_WORDS}" in text


def is_log_line(text: str) -> bool:
    """Does a program log it as a warning or less? Then it went on after it, and no failure rests on it alone."""
    return _WARNED.search(text) is not None


_ERROR = Pattern(
    r"\b(?:[A-Za-z_]\w{0,60})?(?:Error|Exception)\b(?:[: (]|$)|\[ONNXRuntimeError\] :"
    r"|^\W{0,6}(?:(?i:fatal(?: error)?|error))\b ?[:\]]"
    r"|\bERROR\b|(?:CUDA|NCCL|HIP|cuDNN|PTXAS) error\b|\bERRNO\b|Traceback \(most recent|core dumped"
    r"|[Ss]egmentation fault"
    r"|SIG(?:SEGV|KILL|ABRT|BUS)|out of memory|[Nn]o matching distribution|[Nn]o solution found"
    r"|\berror (?:LNK|C)\d{4}\b|\b(?:nvcc|ptxas|cicc|LINK)(?:\.exe)?\s{0,3}:? ?(?:fatal|error)\b|: error: "
    r"|TIME LIMIT|terminate called"
    r"|[Ff]ailed to (?:build|import)|exited unexpectedly"
    r"|fatal exception:|Watchdog caught|operations have failed or timed out"
    r"|\) got an unexpected keyword argument|' object has no attribute '|cannot import name '|\) missing \d+ required "
)
_NO_ERROR = Pattern(
    r"\b(?:no|without|any|0) (?:\w+ )?errors?\b|Warning: |WARN(?:ING)?\b|\bw/o error|error[_ -]rate"
    r"|TORCH_NCCL_\w*ERROR|_ERROR_|^frame #\d|^Exception raised from "
)


def everything(facts: Facts) -> tuple[str, ...]:
    """The lines of a report, and what was kept of those that are no messages."""
    return (*facts.messages, *(value for key, value in facts.remarks.items() if key not in (TRIED, IN_VAIN)))


def measures_told(facts: Facts, key: str) -> frozenset[str]:
    """What was done by the text, with the outcome ``key``: `HELPS` or `IN_VAIN`."""
    return frozenset(part.partition(" with ")[2] for part in facts.remarks.get(key, "").split("; "))


def errors(facts: Facts) -> tuple[str, ...]:
    """The lines of a report in which a program says that it failed; warnings and of a person's own words only the
    complaint that something hangs or crashes, where no program says anything."""
    said = tuple(text for text in facts.messages if _ERROR.search(text) and not _NO_ERROR.search(text))
    complaint = facts.remarks.get("complaint")
    return said or ((complaint,) if complaint else ())


def _first(texts: Iterable[str], patterns: Iterable[Pattern]) -> re.Match[str] | None:
    return next((match for text in texts for pattern in patterns if (match := pattern.search(text))), None)
