"""No text can stop a reader: every expression that sees foreign text works in proportion to its length.

Each is led up to each of its own repetitions, which then goes on for thousands of characters, in letters, separators,
blanks, tabs, digits, brackets and quotes, and fails. Work is the processor time of this process alone: waiting for
others does not count, and a verdict needs both much of it and growth that is nearer to the square.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from types import FrameType

import pytest

from envdoctor.facts.model import Torch
from envdoctor.facts.pasted import read
from envdoctor.facts.pasted.unwrap import LINE, cut_lines, unwrap
from tests.facts.pasted.ramps import UNITS, attacks, written

READERS = ("pasted/", "rules/", "knowledge/", "compat/", "scrub.py")
SHORT, LONG = 2_000, 8_000
FLOOR, MUCH, LIMIT = 0.001, 0.025, 3.0  # seconds: the square of SHORT takes 0.003, that of LONG 0.04


class TooMuch(Exception):
    pass


@pytest.fixture
def limited() -> Iterator[None]:
    """Expressions that would not come back are interrupted after LIMIT seconds of work."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooMuch

    before = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def work(pattern: re.Pattern[str], method: str, text: str) -> float:
    """Seconds of processor time of one application; infinity where it had to be interrupted."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        getattr(pattern, method)(text)
    except TooMuch:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - began


def grows(source: str, flags: int, methods: tuple[str, ...]) -> str | None:
    """The beginning of a text on which work grows faster than the text, or None."""
    pattern = re.compile(source, flags)
    for short, long in zip(attacks(source, flags, SHORT), attacks(source, flags, LONG), strict=True):
        for method in methods:
            if work(pattern, method, short) < FLOOR:
                continue
            first, second = lengths(pattern, method, short, long, times=2)
            if suspicious(first, second) and second < float("inf"):  # a neighbour on the core does that too: look again
                first, second = lengths(pattern, method, short, long, times=9)
            if suspicious(first, second):
                return f"{method} {short[:60]!r}: {first:.3f} s, then {second:.3f} s"
    return None


def lengths(pattern: re.Pattern[str], method: str, short: str, long: str, times: int) -> tuple[float, float]:
    """The least work of so many turns for each of the two texts."""
    turns = [(work(pattern, method, short), work(pattern, method, long)) for _ in range(times)]
    return min(first for first, _ in turns), min(second for _, second in turns)


def suspicious(first: float, second: float) -> bool:
    """Much work, and nearer to the square (16 times) than to the length (4 times)."""
    return second > MUCH and (second == float("inf") or second > 10 * first)


FOUND = [one for one in written() if any(part in one[0] for part in READERS)]


def test_the_expressions_are_found() -> None:
    assert len(FOUND) > 450
    assert {
        "envdoctor/facts/pasted/formats/pip.py",
        "envdoctor/facts/pasted/words.py",
        "envdoctor/facts/pasted/wording.py",
    } <= {place.partition(":")[0] for place, *_ in FOUND}


@pytest.mark.parametrize("file", sorted({place.partition(":")[0] for place, *_ in FOUND}))
@pytest.mark.usefixtures("limited")
def test_work_grows_with_the_text_and_not_faster(file: str) -> None:
    bad = []
    for place, source, flags, methods in FOUND:
        if place.partition(":")[0] == file and (seen := grows(source, flags, methods)):
            bad.append(f"{place}: {source[:80]!r}: {seen}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(
    "source",
    [
        r"\d+(?:\.\d+)*(?:[-_.]?(?:a|b|c|rc|alpha|beta|post|dev)[-_.]?\d*)*!",  # exponential in "a-"
        r"\|?\s*Package\s*\|?\s+\|?\s*Version\b.*",  # cubic in blanks
        r"\s*\([^)]*\)",  # quadratic in blanks
    ],
    ids=["exponential", "cubic", "quadratic"],
)
@pytest.mark.usefixtures("limited")
def test_expressions_that_blow_up_are_told(source: str) -> None:
    assert grows(source, 0, ("search", "fullmatch"))


HANGS = (
    "torch==2.0.1" + "a-" * 30 + "!",
    "torch==2.0.1" + "a-" * 850 + "!",
    "Package" + "\t" * 400 + "x",
    "Package" + " " * 3_900 + "x",
    "torch-2.0.1" + "-a" * 1_000 + ".whl",
    "torch " + "1." * 1_900 + "!",
)


@pytest.mark.parametrize("line", HANGS, ids=[line[:14].strip() + str(len(line)) for line in HANGS])
@pytest.mark.usefixtures("limited")
def test_what_once_stopped_the_readers_is_read(line: str) -> None:
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    facts = read(f"PyTorch version: 2.1.0\n{line}\n")
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    assert time.process_time() - began < LIMIT
    assert isinstance(facts.torch, Torch)
    assert facts.torch.version == "2.1.0"


def test_a_long_line_is_cut_before_any_expression_sees_it() -> None:
    assert all(len(line) <= LINE for unit in UNITS for line in cut_lines(unit * 100_000).split("\n"))
    assert max(map(len, unwrap(cut_lines("x" * 100_000 + "\nPython version: 3.11")))) == LINE
    assert unwrap(cut_lines("x" * 100_000 + "\nPython version: 3.11"))[1] == "Python version: 3.11"


def test_a_report_in_one_line_is_not_cut_but_parted() -> None:
    for break_ in ("\\n", "<br>"):
        line = break_.join(["PyTorch version: 2.1.0", *["filler: nothing"] * 1_000, "Is CUDA available: True"])
        assert unwrap(cut_lines(line))[-1] == "Is CUDA available: True"
