from __future__ import annotations

import pytest

from envdoctor.facts.model import Host
from envdoctor.rules.rule import SetVariable
from envdoctor.rules.torch.threads import threads
from tests.rules.cuda_machines import CPU_TARGET, brief, machine, only, torch
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize("count", [1, 4, 100])
def test_found(count: int) -> None:
    assert brief(threads, machine(torch=torch(threads=count)), CPU_TARGET) == ["warning thread-count threads"]
    assert brief(threads, machine(torch=torch(threads=count))) == ["note thread-count threads"]


@pytest.mark.parametrize("count", [8, 16, 32, 64])
def test_healthy(count: int) -> None:
    assert silent(threads, machine(torch=torch(threads=count)), CPU_TARGET)


def test_small_machines_and_quotas_are_left_alone() -> None:
    assert silent(threads, machine(torch=torch(threads=1), host=Host(cpus=2)), CPU_TARGET)
    # 64 threads under a quota of 8 CPUs: host/cpu-quota says it
    assert silent(threads, machine(torch=torch(threads=64), host=Host(cpus=64, cpu_quota=8.0)), CPU_TARGET)


def test_a_leftover_variable_is_repaired() -> None:
    found = only(threads, machine(torch=torch(threads=1), variables={"OMP_NUM_THREADS": "1"}), CPU_TARGET)
    assert found.repair == (SetVariable(name="OMP_NUM_THREADS", value="32"),)
    assert found.actual == "1 (OMP_NUM_THREADS=1)"


def test_not_judged() -> None:
    assert skipped(threads, machine())
