"""Facts of the environment that runs the tests, and of empty ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from envdoctor.facts import collect
from envdoctor.facts.environment import Environment, locate
from envdoctor.facts.model import Facts
from tests.facts.probe.venvs import Venv

TORCH = "__version__ = '2.9.0'\nclass version:\n    cuda = None; git_version = 'abc'; debug = False\n"


def facts(venv: Venv, **more: Any) -> Facts:
    return collect.begin(Environment(path=venv.path, python=venv.python), **more).finish()


@pytest.fixture
def venv(tmp_path: Path) -> Venv:
    return Venv(tmp_path / "env")


@pytest.fixture(scope="module")
def ours() -> Facts:
    """Facts of the environment that runs the tests, with its real torch."""
    return collect.begin(
        locate(Path(sys.prefix)), flags_table=Path(__file__).resolve().parents[2] / "trainer" / "flags.py"
    ).finish()
