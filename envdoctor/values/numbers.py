"""Numbers that others wrote."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_positive(value: Any) -> TypeGuard[float]:
    """A number that sums and squares of stay numbers: an integer may be longer than any float."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 1e-30 < value < 1e30
