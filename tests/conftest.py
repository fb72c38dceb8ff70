"""Shared by all tests: the switch that rewrites goldens, and a quiet environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from hypothesis import settings

from envdoctor.facts import scrub

settings.register_profile("no wall time", deadline=None)  # a busy neighbour is no failure
settings.load_profile("no wall time")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-goldens", action="store_true", help="write what was rendered into the golden files")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("torch") is not None and find_spec("torch") is None:
        pytest.skip("no torch beside the doctor")


@pytest.fixture(autouse=True)
def _nobody_elses_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests must not depend on where they run: no CI's variables, no project's configuration, no colours."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _nobody_elses_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is left out of reports as personal is kept for a process, whose home only tests change."""
    before = os.environ.get("HOME")
    yield
    if os.environ.get("HOME") != before:  # ``monkeypatch`` gives it back after this
        scrub._personal.cache_clear()


def pytest_make_parametrize_id(val: object) -> str | None:
    """A test's name for bytes that are no name: what was made at this second would call the test otherwise in each
    process, and two processes share the tests out by their names."""
    if isinstance(val, bytes) and (len(val) > 40 or not val.isascii()):
        return "bytes"
    return None
