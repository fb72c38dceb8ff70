"""Several ranks of a job on this machine: real processes, torch's own store and gloo."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envdoctor.errors import Trouble
from envdoctor.ranks.agreement import agreement
from envdoctor.ranks.launch import find_launch, first_host
from envdoctor.ranks.meeting import Met, document_of
from envdoctor.system import process

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def variables(rank: int, world: int, port: int, **more: str) -> dict[str, str]:
    own = {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank)}
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    clean = {name: text for name, text in os.environ.items() if not name.startswith(("SLURM_", "TORCHELASTIC_"))}
    return {**clean, **own, **place, **more}


def start(rank: int, world: int, port: int, *words: str, **more: str) -> process.Child:
    argv = [sys.executable, "-m", "envdoctor", "preflight", "--env", sys.prefix, "--target", "none"]
    return process.Child(
        [*argv, "--format", "json", *words], deadline=400, env=variables(rank, world, port, **more)
    )  # fmt: skip


def found(outcome: process.Outcome) -> dict[str, Any]:
    assert outcome.out, outcome.err
    return dict(json.loads(outcome.out))


@pytest.mark.parametrize("world", [2, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.torch
def test_ranks_that_agree_are_judged_once(world: int, tell: Callable[[str], None]) -> None:
    port = free_port()
    children = [start(rank, world, port, "--wait", "300") for rank in range(world)]
    outcomes = [child.wait() for child in children]
    told = found(outcomes[0])
    assert [outcome.code for outcome in outcomes] == [told["exit_code"]] * world, outcomes[-1].err
    assert (told["ranks"], told["missing"], told["disagreements"]) == (world, [], [])
    assert told["all_reduce"]["backend"] == "gloo"
    assert told["all_reduce"]["bytes_per_second"] > 0
    assert all(outcome.out == "" for outcome in outcomes[1:])  # rank 0 alone speaks
    rate, slowest = told["all_reduce"]["bytes_per_second"] / 1e6, max(outcome.seconds for outcome in outcomes)
    tell(f"{world} ranks agree; all-reduce by gloo {rate:.0f} MB/s; the last is done after {slowest:.1f} s")


@pytest.mark.slow
@pytest.mark.torch
def test_a_rank_that_never_comes_is_named_within_the_limit(tell: Callable[[str], None]) -> None:
    port = free_port()
    children = [start(rank, 3, port, "--wait", "40") for rank in (0, 1)]
    first, second = (child.wait() for child in children)
    assert found(first)["missing"] == [2]
    assert (first.code, second.code) == (3, 3)
    tell(f"rank 2 is named missing after {first.seconds:.1f} s (limit 40 s); exit code 3")


@pytest.mark.slow
@pytest.mark.torch
def test_a_rank_that_hangs_is_named(tmp_path: Path, tell: Callable[[str], None]) -> None:
    """It stops when it has imported torch and told its facts, before the all-reduce: the others name it."""
    port = free_port()
    first = start(0, 2, port, "--wait", "40")
    # The second rank is the talker itself, stopped by a signal as a process in a driver's call would be.
    request = tmp_path / "request.json"
    request.write_text(
        json.dumps(
            {"rank": 1, "world": 2, "local_rank": 1, "address": "127.0.0.1", "port": port, "hosts_store": False,
             "seconds": 40, "document": {"facts": {}, "check": {}, "host": "x"}}
        )
    )  # fmt: skip
    talk = ROOT / "envdoctor" / "facts" / "probe" / "ranks.py"
    program = (
        "import sys, os, signal, importlib.util as u\n"
        f"spec = u.spec_from_file_location('ranks', {str(talk)!r}); ranks = u.module_from_spec(spec)\n"
        "spec.loader.exec_module(ranks)\n"
        "ranks.follow = lambda *_: os.kill(os.getpid(), signal.SIGSTOP)\n"
        f"ranks.main({str(request)!r}, {str(tmp_path / 'answer')!r}, {str(tmp_path / 'verdict')!r})\n"
    )
    second = process.Child([sys.executable, "-c", program], deadline=120, env=variables(1, 2, port))
    told = first.wait()
    second.kill()
    assert told.code == 3, told.err
    assert found(told)["missing"] == [1]
    tell(f"rank 1, stopped before the all-reduce, is named after {told.seconds:.1f} s (limit 40 s); exit code 3")


@pytest.mark.slow
@pytest.mark.torch
def test_a_rank_that_dies_is_named(tell: Callable[[str], None]) -> None:
    port = free_port()
    first, second = start(0, 2, port, "--wait", "40"), start(1, 2, port, "--wait", "40")
    time.sleep(0.3)
    second.kill()
    told = first.wait()
    assert told.code == 3
    assert found(told)["missing"] == [1]
    tell(f"rank 1, killed, is named after {told.seconds:.1f} s (limit 40 s); exit code 3")


@pytest.mark.slow
@pytest.mark.torch
def test_without_rank_0_the_others_say_so(tell: Callable[[str], None]) -> None:
    outcome = start(1, 2, free_port(), "--wait", "5").wait()
    assert outcome.code == 3
    assert "rank 1 of 2 did not hear of rank 0" in outcome.err
    assert outcome.out == "", "rank 0 alone speaks"
    tell(f"rank 1 of 2 says so after {outcome.seconds:.1f} s (limit 5 s); exit code 3")


@pytest.mark.slow
@pytest.mark.torch
def test_under_torchrun(tell: Callable[[str], None]) -> None:
    words = ["--env", sys.prefix, "--target", "none", "--format", "json", "--wait", "200"]
    argv = [Path(sys.prefix) / "bin" / "torchrun", "--standalone", "--nproc-per-node", "2", "--no-python"]
    argv += [sys.executable, "-m", "envdoctor", "preflight", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    outcome = process.run([str(word) for word in argv], deadline=400, env=env)
    assert found(outcome)["missing"] == [], outcome.err[-2000:]
    assert found(outcome)["ranks"] == 2
    tell(f"2 ranks, none missing; exit code {outcome.code}, {outcome.seconds:.1f} s")


def test_many_processes_do_not_repair() -> None:
    outcome = start(0, 2, free_port(), "--fix", "--yes").wait()
    assert outcome.code == 2
    assert "many processes cannot repair" in outcome.err


# --- which rank, by which launcher ---


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"RANK": "0", "WORLD_SIZE": "1"}, None),
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "n1", "MASTER_PORT": "7"},
         (3, 8, 1, "n1", 7, False)),
        ({"RANK": "0", "WORLD_SIZE": "2", "TORCHELASTIC_USE_AGENT_STORE": "True"},
         (0, 2, 0, "127.0.0.1", 29500, False)),
        ({"RANK": "0", "WORLD_SIZE": "2"}, (0, 2, 0, "127.0.0.1", 29500, True)),
        ({"SLURM_PROCID": "2", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4", "SLURM_LOCALID": "0", "SLURM_JOB_ID": "123",
          "SLURM_STEP_NODELIST": "gpu[003-006]"}, (2, 4, 0, "gpu003", 15123, False)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),  # in the batch script, before srun
    ],
)  # fmt: skip
def test_launchers(given: dict[str, str], expected: tuple[Any, ...] | None) -> None:
    one = find_launch(given)
    told = one and (one.rank, one.world, one.local_rank, one.address, one.port, one.hosts_store)
    assert told == expected


@pytest.mark.parametrize("given", [{"RANK": "2", "WORLD_SIZE": "2"}, {"RANK": "x", "WORLD_SIZE": "2"}])
def test_ranks_that_cannot_be(given: dict[str, str]) -> None:
    with pytest.raises(Trouble):
        find_launch(given)


@pytest.mark.parametrize(
    ("nodes", "host"), [("n1", "n1"), ("n1,n2", "n1"), ("gpu[003-007,12],cpu1", "gpu003"), ("a-b[1,2]", "a-b1")]
)
def test_the_first_host_of_slurm(nodes: str, host: str) -> None:
    assert first_host(nodes) == host


# --- what rank 0 makes of it ---


def rank(torch: str = "2.13.0", kernel: str = "6.1", speed: float = 100.0, **check: Any) -> dict[str, Any]:
    facts = {
        "packages": {"distributions": [{"name": "torch", "version": torch}]},
        "host": {"kernel": kernel},
        "variables": {"NCCL_DEBUG": "INFO"},
    }
    return {"host": "n1", "facts": facts, "check": {"findings": [], **check}, "speed": speed, "cuda": True}


def met(documents: list[dict[str, Any]], **more: Any) -> Met:
    told: dict[str, Any] = {"missing": (), "backend": None, "collective": {}, **more}
    return Met(world=len(documents) + len(told["missing"]), documents=dict(enumerate(documents)), **told)


def test_the_odd_rank_is_named() -> None:
    told = agreement(met([rank(), rank(), rank(torch="2.12.0"), rank()]))
    assert told.exit_code == 1
    assert [one.odd["2.12.0"].names for one in told.disagreements] == [("rank 2 (n1)",)]
    assert told.odd_one_out == "rank 2 (n1)"


def test_another_kernel_is_told_and_no_error() -> None:
    told = agreement(met([rank(), rank(), rank(kernel="6.2")]))
    assert (told.exit_code, [one.subject for one in told.differences]) == (0, ["kernel"])


def test_a_sick_rank_and_a_slow_one_are_named() -> None:
    sick = rank(findings=[{"severity": "error", "message": "no GPU"}], outcome="findings")
    assert agreement(met([rank(), sick])).sick == {"rank 1 (n1)": "no GPU"}
    told = agreement(met([rank(), rank(), rank(), rank(speed=60.0)]))
    assert told.slow == {"rank 3 (n1)": pytest.approx(0.6)}
    assert told.exit_code == 1


def test_bandwidth_is_that_of_the_slowest_rank() -> None:
    times = {"seconds": {"4": 1e-4, str(16 * 2**20): 0.01}, "clock": 5.0}
    late = {"seconds": {"4": 2e-4, str(16 * 2**20): 0.02}, "clock": 9.0}
    told = agreement(met([rank(), rank()], backend="gloo", collective={0: times, 1: late}))
    assert told.latency == 2e-4
    assert told.bandwidth == pytest.approx(16 * 2**20 / 0.02)
    assert told.clock_spread == 4.0


def test_what_the_launcher_sets_is_no_difference() -> None:
    one = find_launch({"RANK": "1", "WORLD_SIZE": "2"})
    assert one is not None
    own = document_of(one, {"variables": {"RANK": "1", "LOCAL_RANK": "1", "NCCL_DEBUG": "INFO"}}, {})
    assert own["facts"]["variables"] == {"NCCL_DEBUG": "INFO"}
