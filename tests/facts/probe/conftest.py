from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envdoctor.system import process
from tests.facts.probe.venvs import Venv

PROBE = Path(__file__).resolve().parents[3] / "envdoctor" / "facts" / "probe" / "__main__.py"

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def venv(tmp_path: Path) -> Venv:
    return Venv(tmp_path / "env")


@pytest.fixture(scope="session")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Run the environment probe under a Python and return its sections; an error of a section fails the test."""

    def ask(python: Path | str = sys.executable, program: str = "environment", **request: Any) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("probe")
        (folder / "request.json").write_text(json.dumps(request))
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        argv = [python, "-I", "-S", PROBE, program, folder / "request.json", folder / "answer.json"]
        outcome = process.run(argv, deadline=60, env=clean)
        assert outcome.ok, outcome.err
        lines = [json.loads(line) for line in (folder / "answer.json").read_text().splitlines()]
        assert [line for line in lines if line["result"] != "success"] == []
        return {line["section"]: line["value"] for line in lines}

    return ask
