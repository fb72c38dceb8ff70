"""A driver that lies, hangs or dies beside the traces of a real one: the doctor ends, and calls nothing healthy.

A real shared library lies; what was read of it stands on a machine whose every other fact is a sound H100's, so that
nothing but the lie can be what is found.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envdoctor.facts.model import Driver, Facts, Gpus
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose
from tests.facts.probe.test_gpu import facts, libraries, pytestmark  # noqa: F401 - fixtures
from tests.rules.machines import H100, H100_TARGET

SOUND = {"FAKE_SOUND": "1", "FAKE_GPUS": "1"}


def judged(told: Facts) -> Diagnosis:
    ours, theirs = H100.driver, told.driver
    assert isinstance(ours, Driver)
    assert isinstance(theirs, Driver)
    named = ("cuda", "cuinit", "cuinit_error", "fabric_manager", "smi")
    driver = replace(ours, **{name: getattr(theirs, name) for name in named})
    machine = replace(H100, gpus=told.gpus, driver=driver, messages=told.messages)
    return diagnose(machine, H100_TARGET, load_rules())


def test_without_a_lie_all_is_well(facts) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    assert judged(facts(**SOUND)).outcome == "healthy"


@pytest.mark.parametrize(
    "lie",
    [
        "hang", "exit", "crash", "999", "18", "mute", "none", "huge", "bytes", "endless", "overflow", "memory",
        "no-memory", "capability", "power", "temperature", "reasons", "twins",
    ],
)  # fmt: skip
def test_a_lie_is_never_healthy(facts, lie: str) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    told = facts(**SOUND | {"FAKE_GPUS": "2"} if lie == "twins" else SOUND, FAKE_NVML=lie)
    found = judged(told)
    assert found.outcome != "healthy"
    assert not found.crashed
    said = json.dumps([f.message for f in found.findings])
    assert "\\u001b" not in said
    assert len(said) < 20_000


@pytest.mark.parametrize("lie", ["orphan", "chatter"])
def test_noise_is_not_heard(facts, lie: str) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    """What it prints is not read, and what it starts ends with the probe."""
    told = facts(**SOUND, FAKE_NVML=lie)
    assert isinstance(told.gpus, Gpus)
    assert judged(told).outcome == "healthy"
