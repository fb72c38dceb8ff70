"""The environment, children in it, and the golden tables."""

from __future__ import annotations

import fcntl
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cuda import environment as environments
from tests.cuda.child import ROOT, Child
from tests.cuda.environment import Environment
from tests.cuda.setups import SetUp

GOLDENS = Path(__file__).parent / "goldens"


@pytest.fixture(scope="session")
def cuda() -> Environment:
    """The kept environment, made where it is not there."""
    try:
        return environments.ensure(environments.default_folder(), sys.executable)
    except environments.NoEnvironment as why:
        pytest.fail(str(why), pytrace=False)


@pytest.fixture(scope="session")
def kept_child(cuda: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Child]]:
    children = [Child(cuda, tmp_path_factory.mktemp("device"))]
    yield children
    children[-1].close()


@pytest.fixture
def run(
    cuda: Environment, kept_child: list[Child], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[SetUp], dict[str, Any]]:
    """Runs a set-up on the device that is not there, in a child that lives as long as the session."""
    if not kept_child[-1].works:
        kept_child.append(Child(cuda, tmp_path_factory.mktemp("device")))
    return kept_child[-1].run


@pytest.fixture
def elsewhere(cuda: Environment, tmp_path: Path) -> Iterator[Callable[[Path], Child]]:
    """Starts a child that runs the trainer of another checkout."""
    children: list[Child] = []

    def started(project: Path) -> Child:
        children.append(Child(cuda, tmp_path, project))
        return children[-1]

    yield started
    for child in children:
        child.close()


class Golden:
    """A table of values by the name of a set-up; with --rewrite-goldens it is made of what was found."""

    def __init__(self, path: Path, rewrite: bool) -> None:
        self.path, self.rewrite = path, rewrite

    def compare(self, name: str, found: dict[str, Any]) -> None:
        """AssertionError when the table says otherwise, by more than 0.01 where it has a fraction."""
        if self.rewrite:
            self._write(name, found)
        known = json.loads(self.path.read_text("utf-8")).get(name)
        assert known is not None, f"{name} is not in {self.path.relative_to(ROOT)}: write it with --rewrite-goldens"
        expected = {key: pytest.approx(value, abs=0.011) if isinstance(value, float) else value
                    for key, value in known.items()}  # fmt: skip
        assert found == expected, f"{name}: {self.path.relative_to(ROOT)} has other values"

    def _write(self, name: str, found: dict[str, Any]) -> None:
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open("a+", encoding="utf-8") as stream:  # several workers of pytest may write
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.seek(0)
            table = {**json.loads(stream.read() or "{}"), name: found}
            rows = ",\n".join(f" {json.dumps(key)}: {json.dumps(table[key])}" for key in sorted(table))
            stream.seek(0)
            stream.truncate()
            stream.write("{\n" + rows + "\n}\n")
            stream.flush()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], Golden]:
    """The table of that name."""
    rewrite = request.config.getoption("--rewrite-goldens")
    return lambda name: Golden(GOLDENS / (name + ".json"), rewrite)
