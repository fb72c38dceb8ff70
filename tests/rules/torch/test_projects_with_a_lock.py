"""A project's lock brings back the build of torch that it names: what is said of one for processors tells so."""

from __future__ import annotations

import pytest

from tests.rules.told import root

REPORT = "torch 2.8.0+cpu, RTX 4070\nAssertionError: Torch not compiled with CUDA enabled\n"


@pytest.mark.parametrize("command", ["uv sync --extra gpu", "poetry install", "pixi run train"])
def test_the_index_is_named_in_the_projects_file(command: str) -> None:
    found = root(f"I did `{command}` and nothing runs on the GPU.", REPORT)
    assert (found.rule, found.subject) == ("torch/cpu-only", "torch")
    assert "[tool.uv.sources]" in found.remedy.text


def test_without_a_project_nothing_is_said_of_one() -> None:
    found = root("I did pip install torch and nothing runs on the GPU.", REPORT)
    assert found.rule == "torch/cpu-only"
    assert "lock" not in found.remedy.text
