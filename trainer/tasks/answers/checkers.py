"""Whether an answer is right: equal text, equal number, a pattern, or a function of the user's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from trainer.errors import TrainerError
from trainer.options.settings import Settings
from trainer.tasks.answers.judging import Judge

NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
Check = Callable[[str, str, dict[str, Any]], str]  # (place, answer, row) -> "accepted", "wrong" or "slow"


@dataclass(frozen=True)
class Checker:
    """`check` judges one answer; `prove` refuses a row that can never be judged, before anything is sampled."""

    check: Check
    prove: Callable[[str, dict[str, Any]], None]


@contextmanager
def checker(settings: Settings) -> Iterator[Checker]:
    """The checker of the settings, held open. TrainerError for an unknown one or one that cannot be loaded."""
    column, name = settings.answer_field, settings.checker
    if name == "exact":
        yield Checker(lambda _, text, row: _word(exact(text, row[column])), _needs(column))
    elif name == "numeric":
        yield Checker(
            lambda _, text, row: _word(numeric(text, row[column], settings.numeric_tolerance)), _number(column)
        )
    elif name == "regex":
        yield from _prove_checker("regex:" + column, settings, _pattern(column))
    elif re.fullmatch(r".+\.py:[A-Za-z_]\w*", name):
        path = Path(name.rpartition(":")[0])
        if not path.is_file():
            raise TrainerError("bad-checker", f"checker {name}: no such file", "Give it as path/to/file.py:function.")
        yield from _prove_checker(f"{path.resolve()}:{name.rpartition(':')[2]}", settings, lambda *_: None)
    else:
        raise TrainerError(
            "unknown-checker",
            f"unknown checker {name!r}",
            "It is exact, numeric, regex, or path/to/file.py:function, called with (answer, row).",
        )


def exact(text: str, wanted: Any) -> bool:
    """The same text but for space at the ends."""
    return text.strip() == str(wanted).strip()


def numeric(text: str, wanted: Any, tolerance: float) -> bool:
    """The last number in `text` is that in `wanted`, up to `tolerance` relative to it (absolute below 1)."""
    found, goal = last_number(text), last_number(str(wanted))
    return found is not None and goal is not None and abs(found - goal) <= tolerance * max(1.0, abs(goal))


def last_number(text: str) -> float | None:
    """The last number in `text`; commas may group its digits."""
    found = NUMBER.findall(text)
    value = float(found[-1].replace(",", "")) if found else math.nan
    return value if math.isfinite(value) else None


def _word(right: bool) -> str:
    return "accepted" if right else "wrong"


def _prove_checker(source: str, settings: Settings, prove: Callable[[str, dict[str, Any]], None]) -> Iterator[Checker]:
    judge = Judge(source, settings.check_seconds)

    def check(place: str, text: str, row: dict[str, Any]) -> str:
        kind, said = judge(text, row)
        if kind == "slow":
            return "slow"
        if kind != "accepted":
            raise TrainerError(
                "checker-failed",
                f"{place}: checker {settings.checker}: {said}; the answer was {quote_answer(text)}",
                "Correct the checker and start again: the answers sampled so far are kept.",
            )
        return _word(said)

    try:
        fault = judge.start()
        if fault is not None:
            raise TrainerError(
                "bad-checker", f"checker {settings.checker}: {fault}", "Correct that file, then start again."
            )
        yield Checker(check, prove)
    finally:
        judge.close()


def quote_answer(text: str) -> str:
    """An answer as one short quoted line."""
    return repr(text if len(text) <= 120 else text[:117] + "...")


def _needs(column: str) -> Callable[[str, dict[str, Any]], None]:
    def prove(place: str, row: dict[str, Any]) -> None:
        if column not in row:
            raise TrainerError(
                "missing-column",
                f"{place}: no column {column!r}; it has {', '.join(map(repr, row)) or 'none'}",
                "Name the column with answer_field.",
            )
        if not isinstance(row[column], (str, int, float)):
            raise TrainerError("bad-column", f"{place}: {column} must be a text or a number", "Correct that row.")

    return prove


def _number(column: str) -> Callable[[str, dict[str, Any]], None]:
    def prove(place: str, row: dict[str, Any]) -> None:
        _needs(column)(place, row)
        if last_number(str(row[column])) is None:
            raise TrainerError(
                "bad-column", f"{place}: {column} has no number: {quote_answer(str(row[column]))}", "Correct that row."
            )

    return prove


def _pattern(column: str) -> Callable[[str, dict[str, Any]], None]:
    def prove(place: str, row: dict[str, Any]) -> None:
        _needs(column)(place, row)
        try:
            re.compile(row[column])
        except (re.error, TypeError, RecursionError) as error:
            raise TrainerError(
                "bad-column", f"{place}: {column} is not a regular expression ({error})", "Correct that row."
            ) from None

    return prove
