"""Asking a question about one value once: the answer for the value that was asked about last is remembered."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
Answer = TypeVar("Answer")


def once(question: Callable[[Value], Answer]) -> Callable[[Value], Answer]:
    """For pure questions about a frozen value that is too large, or has no hash, to be the key of a cache.

    A pass of rules asks the same facts over and over, so that one answer is all that needs to be kept.
    """
    last: list[tuple[Value, Answer]] = []

    @functools.wraps(question)
    def asked(value: Value) -> Answer:
        if last and last[0][0] is value:
            return last[0][1]
        answer = question(value)
        last[:] = [(value, answer)]
        return answer

    return asked
