"""What the tests of ranks tell the page of the first minute (`python -m tests.minute`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Keep a sentence about what came of it."""
    return lambda text: record_property("told", text)
