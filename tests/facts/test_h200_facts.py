"""A machine with one H200 as such machines are: nothing that is in order there may be called a fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envdoctor import doctor
from envdoctor.facts import collect
from envdoctor.facts.model import Facts, Gpus
from envdoctor.rules.checkup import CheckOptions, Checkup
from envdoctor.rules.rule import Severity

FILE = Path(__file__).parent / "machines" / "nvidia-h200.json"
# True findings of this environment: torch 2.11 is older than the lock, and its cuDNN 9.19 is first in attention.
FLAGS = {"attention/cudnn-first", "packages/pinned-versions"}


@pytest.fixture(scope="module")
def facts() -> Facts:
    return collect.read(FILE)


def judged(facts: Facts, target: str = "h200") -> Checkup:
    return doctor.judge(facts, CheckOptions(target=target, recorded=True))


def findings(facts: Facts, target: str = "h200") -> set[str]:
    """Rules that found something worse than a note."""
    found = judged(facts, target).diagnosis.findings
    return {finding.rule for finding in found if finding.severity > Severity.NOTE}


def with_gpu(facts: Facts, **values: Any) -> Facts:
    assert isinstance(facts.gpus, Gpus)
    return replace(facts, gpus=replace(facts.gpus, devices=(replace(facts.gpus.devices[0], **values),)))


def test_only_what_is_older_than_the_lock_is_found(facts: Facts) -> None:
    assert findings(facts) == FLAGS


@pytest.mark.parametrize("target", ["h200", "auto"])
def test_the_target_is_the_gpu_found(facts: Facts, target: str) -> None:
    assert judged(facts, target).target.name == "h200"


AT_WORK = {"sm_clock": 1755, "power_draw": 690.0, "throttle_reasons": ("sw-power-cap",)}
USUAL: dict[str, dict[str, Any]] = {
    "idle, with the link asleep": {"pcie_generation": 1, "throttle_reasons": ("idle",), "sm_clock": 345},
    "at work under its power limit": AT_WORK,
    "without NVLink": {"nvlinks": None, "nvlinks_down": None},
    "alone in a virtual machine, its links wired to nobody": {"nvlinks": 0, "nvlinks_down": 18},
    "counters that a virtual machine does not show": {
        "pcie_generation": None, "pcie_generation_max": None, "pcie_width": None, "pcie_width_max": None,
        "ecc_mode": None, "rows_pending": None, "temperature_slowdown": None, "persistence": None, "virtual": None,
    },
    "persistence mode off": {"persistence": False},
    "some memory held by the driver": {"memory_used": 600 << 20},
}  # fmt: skip


@pytest.mark.parametrize("name", USUAL)
def test_what_such_machines_show_is_no_fault(facts: Facts, name: str) -> None:
    assert findings(with_gpu(facts, **USUAL[name])) == FLAGS


@pytest.mark.parametrize("state", [None, "completed", "not started"])
def test_the_fabric_is_no_matter_where_cuda_starts(facts: Facts, state: str | None) -> None:
    driver: Any = facts.driver
    assert findings(replace(facts, driver=replace(driver, fabric_manager=state))) == FLAGS


@pytest.mark.parametrize("version", ["580.159.03", "580.159.04"])
@pytest.mark.parametrize("kernel", ["4.4.0", "6.18.44-fc-v236-gpu"])
def test_sandboxes_of_either_kind_are_read_alike(facts: Facts, version: str, kernel: str) -> None:
    driver: Any = facts.driver
    host: Any = facts.host
    changed = replace(driver, kernel_module=version, library=version, management_library=version)
    assert findings(replace(facts, driver=changed, host=replace(host, kernel=kernel))) == FLAGS


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"rows_pending": True}, "gpu/"),
    ({"throttle_reasons": ("hw-thermal",), "sm_clock": 900, "utilization": 100}, "gpu/"),
    ({"power_limit": 400.0}, "gpu/"),
    ({"mig": True}, "gpu/"),
]


@pytest.mark.parametrize(("values", "family"), FAULTS, ids=[str(values) for values, _ in FAULTS])
def test_real_faults_of_the_same_machine_are_found(facts: Facts, values: dict[str, Any], family: str) -> None:
    found = judged(with_gpu(facts, **values)).diagnosis.findings
    usual = {(f.rule, f.message) for f in judged(facts).diagnosis.findings}
    assert any(f.rule.startswith(family) and (f.rule, f.message) not in usual for f in found)
