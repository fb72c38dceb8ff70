"""A page of links is no index: who gives it as one hears which option reads it."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.packages.flat_page import flat_page
from tests.rules.judging import skipped
from tests.rules.told import errors, root, whole

STABLE = "https://download.pytorch.org/whl/torch_stable.html"
PYG = "https://data.pyg.org/whl/torch-2.1.0+cu118.html"


@pytest.mark.parametrize(
    ("command", "error", "run"),
    [
        (
            f"uv add torch==1.7.1+cu110 --index {STABLE}",
            "× No solution found when resolving dependencies:\n╰─▶ Because there is no version of torch==1.7.1+cu110 "
            "and your project depends on torch==1.7.1+cu110, we can conclude that your project's requirements are "
            "unsatisfiable.",
            f"uv pip install 'torch==1.7.1+cu110' --find-links {STABLE}",
        ),
        (
            f"pip install torch-scatter==2.1.2 --index-url {PYG}",
            "ERROR: No matching distribution found for torch-scatter==2.1.2",
            f"python -m pip install 'torch-scatter==2.1.2' --find-links {PYG}",
        ),
        (
            f"pip install torch==1.8.0+cpu --extra-index-url={STABLE}",
            "ERROR: Could not find a version that satisfies the requirement torch==1.8.0+cpu (from versions: 2.2.0)",
            f"python -m pip install 'torch==1.8.0+cpu' --find-links {STABLE}",
        ),
    ],
)
def test_a_flat_page_as_an_index(command: str, error: str, run: str) -> None:
    found = root(command, error)
    assert found.rule == "packages/flat_page".replace("_", "-")
    assert found.remedy.commands == (run,)


def test_uvs_projects_have_a_form_of_their_own_and_the_python_is_told() -> None:
    found = root(
        f"uv add torch==1.7.1+cu110 --index {STABLE}", "× No solution found when resolving dependencies:",
        "╰─▶ Because there is no version of torch==1.7.1+cu110 and you require torch==1.7.1+cu110",
    )  # fmt: skip
    assert 'format = "flat"' in whole(found)
    assert "torch 1.7 has wheels for Python" in whole(found)


@pytest.mark.parametrize(
    "command",
    [
        f"pip install torch==1.7.1+cu110 -f {STABLE}",
        "pip install torch==1.7.1+cu110 --index-url https://download.pytorch.org/whl/cu110",
        f"See {STABLE} for its wheels.",
    ],
)
def test_what_is_no_such_mistake(command: str) -> None:
    found = errors(command, "ERROR: No matching distribution found for torch==1.7.1+cu110")
    assert not any(one.rule == "packages/flat-page" for one in found)


def test_unknown_is_skipped() -> None:
    assert skipped(flat_page, Facts())
