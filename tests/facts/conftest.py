"""Facts of the environment that runs the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from envdoctor.facts import collect
from envdoctor.facts.environment import locate
from envdoctor.facts.model import Facts


@pytest.fixture(scope="module")
def ours() -> Facts:
    """Facts of the environment that runs the tests, with its real torch."""
    return collect.begin(
        locate(Path(sys.prefix)), flags_table=Path(__file__).resolve().parents[2] / "trainer" / "flags.py"
    ).finish()
