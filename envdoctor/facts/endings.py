"""How a probe's process ended, in one line that a person can use."""

from __future__ import annotations

import signal

from envdoctor.facts import scrub
from envdoctor.facts.model import Unavailable, Why
from envdoctor.system.process import Outcome


def describe_ending(what: str, outcome: Outcome) -> Unavailable:
    """How a process ended that did not answer."""
    why: Why = "timed-out" if outcome.timed_out else "failed" if outcome.not_started else "crashed"
    ending = outcome.ending
    if outcome.code == 0:
        ending = "the process ended itself (exit code 0) without an answer"
    elif outcome.code == -signal.SIGKILL:
        ending = "SIGKILL (killed from outside, perhaps for lack of memory)"
    said = last_words(outcome.err)
    return Unavailable(reason=scrub.text(f"{what}: {ending}{': ' + said if said else ''}"), why=why)


def last_words(errors: str) -> str:
    """The end of a process's standard error in one line; of a fatal error the innermost Python frames."""
    lines = [line.strip() for line in scrub.printable(errors, keep_lines=True).splitlines()]
    fatal = next((number for number, line in enumerate(lines) if line.startswith("Fatal Python error")), None)
    if fatal is not None:
        frames = [line for line in lines[fatal + 1 :] if line.startswith("File ")][:2]
        before = [line for line in lines[:fatal] if line][-2:]
        return " | ".join([*before, lines[fatal], *frames])[:600]
    return " | ".join([line for line in lines if line][-3:])[:600]
