from __future__ import annotations

import pytest

from envdoctor.rules.driver.fabric_manager import fabric_manager
from tests.rules.cuda_machines import brief, driver, machine, only, pasted
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize("state", ["in progress", "not started", "failed"])
def test_found(state: str) -> None:
    facts = machine(driver=driver(fabric_manager=state, cuinit=802))
    assert brief(fabric_manager, facts) == ["error cuda-init-failed Fabric Manager"]
    assert "580.65.06" in only(fabric_manager, facts).remedy.text
    assert only(fabric_manager, facts).who == "host"


def test_said_by_a_report() -> None:
    message = "nv-fabricmanager: NVIDIA GPU driver interface version 535.183.01 don't match"
    assert only(fabric_manager, pasted(message)).actual == message


def test_healthy() -> None:
    for state in ("completed", "not supported"):
        assert silent(fabric_manager, machine(driver=driver(fabric_manager=state)))
    assert skipped(fabric_manager, machine())


def test_cuda_that_starts_needs_no_fabric() -> None:
    """One GPU of a board, handed to a virtual machine."""
    assert silent(fabric_manager, machine(driver=driver(fabric_manager="not started", cuinit=0)))
