"""conda's lists of what excludes what: the pair is named where its numbers exclude each other, and nowhere else."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from tests.rules.told import root, whole

HEAD = "UnsatisfiableError: The following specifications were found to be in conflict:"


def conflicts(text: str) -> list[str]:
    return [line for line in read(text).messages if line.startswith("the solver's conflict")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            f"{HEAD}\n  - cudatoolkit 11.0*\n  - pytorch 1.4.0* -> cudatoolkit >=10.1.243,<10.2.0a0\n",
            "pytorch 1.4.0 requires cudatoolkit >=10.1.243,<10.2.0a0, and cudatoolkit 11.0 is asked for",
        ),
        (
            "UnsatisfiableError: found to be incompatible with each other:\nPackage cudatoolkit conflicts for:\n"
            "cudatoolkit=9.2\npytorch==1.2.0 -> cudatoolkit[version='>=10.0,<10.1|>=9.0,<9.1']\n",
            "pytorch 1.2.0 requires cudatoolkit >=10.0,<10.1|>=9.0,<9.1, and cudatoolkit 9.2 is asked for",
        ),
        (
            f"$ conda install pytorch=1.1 python=3.9\n{HEAD}\n  - pytorch=1.1 -> python[version='>=3.7,<3.8.0a0']\n",
            "pytorch 1.1 requires python >=3.7,<3.8.0a0, and python 3.9 is asked for",
        ),
    ],
)
def test_the_pair_and_its_range(text: str, wanted: str) -> None:
    assert conflicts(text) == [f"the solver's conflict: {wanted}"]


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}\n  - cudatoolkit 10.1*\n  - pytorch 1.4.0* -> cudatoolkit >=10.1.243,<10.2.0a0\n",
        f"{HEAD}\n  - pytorch 1.4.0* -> cudatoolkit >=10.1.243,<10.2.0a0\n",
        f"{HEAD}\n  - numpy 1.19*\n  - scipy 1.5.0 -> numpy\n",
        "torch 2.9.0 is installed\n  - cudatoolkit 11.0*\n  - pytorch 1.4.0* -> cudatoolkit >=10.1.243,<10.2.0a0\n",
    ],
)
def test_what_goes_together_or_is_not_told_is_none(text: str) -> None:
    assert not conflicts(text)


def test_the_range_is_the_remedy() -> None:
    found = root(f"{HEAD}", "  - cudatoolkit 11.0*", "  - pytorch 1.4.0* -> cudatoolkit >=10.1.243,<10.2.0a0")
    assert found.subject == "pytorch and cudatoolkit"
    assert "Change one of the two: cudatoolkit >=10.1.243,<10.2.0a0 beside pytorch 1.4.0" in whole(found)


def test_a_build_behind_the_release_is_no_part_of_it() -> None:
    tree = (
        "UnsatisfiableError: The following specifications were found to be in conflict:\n"
        "  - cudatoolkit==9.0=h1\n"
        "  - pytorch==0.4.1=py36_cuda9.2.148_cudnn7_1 -> cudatoolkit=9.2\n"
    )
    (line,) = [each for each in read(tree).messages if each.startswith("the solver's conflict")]
    assert "pytorch 0.4.1 requires cudatoolkit =9.2, and cudatoolkit 9.0 is asked for" in line
