"""Causes that the text itself rules out are not told, and what is left is still a sentence."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.knowledge.refuted import without_refuted

LINKED = "only one is there, without its link (a container, a slim system), the driver is not installed, or a path is"
TABLE = "| NVIDIA-SMI 535.10  Driver Version: 535.10  CUDA Version: 12.2 |"
CHANGED = "a was upgraded under a running Python, or b is of another release"


def facts(*said: str) -> Facts:
    return Facts(messages=said)


def test_a_driver_that_answers_is_installed() -> None:
    left = without_refuted(LINKED, facts(TABLE), None)
    assert left == "only one is there, without its link (a container, a slim system), or a path is"
    assert without_refuted(LINKED, facts("cannot find -lcuda"), None) == LINKED


@pytest.mark.parametrize(
    "said",
    [
        "Restarting the kernel gives the same error",
        "I restarted python but it did not help",
        "even after a restart it is the same",
        "重启内核还是一样",
    ],
)
def test_a_restart_in_vain(said: str) -> None:
    assert without_refuted(CHANGED, facts(said), None) == "b is of another release"


@pytest.mark.parametrize("said", ["restarting the kernel fixed the first error", "please restart the runtime"])
def test_no_restart_or_one_that_helped(said: str) -> None:
    assert without_refuted(CHANGED, facts(said), None) == CHANGED


@pytest.mark.parametrize(("version", "told"), [("1.0.0", False), ("0.15.1", True), (None, True)])
def test_a_release_that_is_not_older(version: str | None, told: bool) -> None:
    usually = "it is older than 0.16.0, or it is another one, which misreads it"
    assert ("older" in without_refuted(usually, facts(), version)) is told


def test_one_cause_is_always_left() -> None:
    assert without_refuted("no driver is here", facts(TABLE), None) == "no driver is here"
