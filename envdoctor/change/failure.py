"""What an installer's failure means: which wheel it is about, what is wrong with it, and what to do.

Known by the phrases of uv 0.12-0.13 and pip 24-26; anything else is passed on in the installer's own words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from envdoctor.errors import Trouble
from envdoctor.locks.stack import Locked

Cause = Literal["disk-full", "wrong-file", "no-permission", "broken-wheel", "not-found", "network", "unknown"]

# In this order: an error about the disk also mentions the file, one about the hash also the address.
_PHRASES: tuple[tuple[Cause, str], ...] = (
    ("disk-full", r"No space left on device|os error 28|Disk quota exceeded"),
    ("wrong-file", r"[Hh]ash mismatch|DO NOT MATCH THE HASHES"),
    ("no-permission", r"os error (13|30)\b|Permission denied|Read-only file system"),
    (
        "broken-wheel",
        r"[Ii]nvalid [Zz]ip|unzip|zip archive|central directory|BadZipFile|not a zip|unexpected end of file",
    ),
    (
        "not-found",
        r"No solution found|not found in the (package registry|provided package locations)|No matching distribution"
        r"|[Tt]here is no version of|no wheels with a matching",
    ),
    ("network", r"dns error|error sending request|timed out|Connection|Temporary failure|Failed to fetch|Network"),
)

# pip goes on without an index that does not answer, and then reports what it could not find.
_BROKEN = re.compile(r"^WARNING: Retrying .* after connection broken by '(.*)': /", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallFailure:
    """One failed run: its cause, the pin it is about if it can be told, and the error in one line."""

    cause: Cause
    pin: Locked | None
    said: str


def understand(text: str, pins: Sequence[Locked]) -> InstallFailure:
    """Read what an installer has printed. ``text`` must not hold passwords any more."""
    words = " ".join(text.split())
    cause: Cause = next((cause for cause, phrase in _PHRASES if re.search(phrase, words)), "unknown")
    if cause == "not-found" and (broken := _BROKEN.findall(text)):
        return InstallFailure(cause="network", pin=_about(text, pins), said=broken[-1])
    return InstallFailure(cause=cause, pin=_about(text, pins), said=_sentence(text))


def trouble(failure: InstallFailure, *, installer: str, ending: str, log: str) -> Trouble:
    """The failure for people."""
    said = failure.said
    problem, remedy = {
        "disk-full": (f"the disk is full: {said}", "Free some space; the environment was not changed."),
        "wrong-file": (
            "its sha256 is not the locked one: the file is damaged, or it is not the file that was locked",
            "Clear the cache (uv cache clean) and try again; if it persists, your index serves another file.",
        ),
        "no-permission": (said, "Make that path writable, or run as its owner."),
        "broken-wheel": (f"is not a complete wheel: {said}", "Delete the file and download it again."),
        "not-found": (
            f"the configured sources do not have it: {said}",
            "Name an index or a folder that has it in pip's or uv's configuration, or put it into wheels/.",
        ),
        "network": (f"the network fails: {said}", "Check connection, proxy and index; finished downloads are kept."),
        "unknown": (f"{installer} failed ({ending}): {said}", f"See {log}."),
    }[failure.cause]
    return Trouble(problem, file=failure.pin.wheel if failure.pin else None, remedy=remedy, exit_code=3)


def _about(text: str, pins: Sequence[Locked]) -> Locked | None:
    """The pin that the error names, else the last one that was mentioned before it."""
    for part in (_error(text), " ".join(text.split())):
        last = [(_last_mention(pin, part), number) for number, pin in enumerate(pins)]
        if last and max(last)[0] >= 0:
            return pins[max(last)[1]]
    return None


def _last_mention(pin: Locked, text: str) -> int:
    names = rf"{re.escape(pin.wheel)}|(?<![\w.-]){re.escape(pin.name)}(?![\w-])"
    return max((match.start() for match in re.finditer(names, text)), default=-1)


def _sentence(text: str) -> str:
    sentence = re.sub(r"\b(error|ERROR):\s*", "", _error(text))
    return sentence if len(sentence) <= 400 else sentence[:397] + "..."


def _error(text: str) -> str:
    """What an installer said from its first error on, in one line without its drawing characters."""
    lines = [re.sub(r"^[\s×├╰─▶│]+", "", line).strip() for line in text.splitlines()]
    start = next((i for i, line in enumerate(lines) if re.match(r"(error|ERROR|Caused by)\b", line)), 0)
    return " ".join(line for line in lines[start:] if line)
