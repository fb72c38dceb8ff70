"""Two hosts: network namespaces with a cable between them, each with a host name of its own. Needs root."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envdoctor.system import process

ROOT = Path(__file__).resolve().parents[2]


def ip(*words: str) -> process.Outcome:
    return process.run(["ip", *words], deadline=20)


class Hosts:
    """Host 1 and 2 at 10.77.0.1 and 10.77.0.2."""

    def __init__(self, tag: str) -> None:
        self.names = [f"ed{tag}a", f"ed{tag}b"]

    def build(self) -> bool:
        first, second = self.names
        steps = [["netns", "add", name] for name in self.names]
        steps.append(
            ["link", "add", f"{first}v", "netns", first, "type", "veth", "peer", f"{second}v", "netns", second]
        )
        for number, name in enumerate(self.names, 1):
            steps += [
                ["-n", name, "link", "set", "lo", "up"],
                ["-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", f"{name}v"],
                ["-n", name, "link", "set", f"{name}v", "up"],
            ]
        return all(ip(*step).ok for step in steps)

    def preflight(self, number: int) -> process.Child:
        name = self.names[number]
        variables = {
            "RANK": str(number), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "10.77.0.1",
            "MASTER_PORT": "29400", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        words = ["preflight", "--env", sys.prefix, "--target", "none", "--format", "json", "--wait", "60"]
        named = ["sh", "-c", f'hostname host{number} && exec "$@"', "sh", sys.executable, "-m", "envdoctor", *words]
        argv = ["ip", "netns", "exec", name, "unshare", "--uts", *named]
        return process.Child(argv, deadline=200, env={**os.environ, **variables})


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    made = Hosts(f"{os.getpid() % 100000}")
    try:
        if not (shutil.which("ip") and shutil.which("unshare")) or os.geteuid() != 0 or not made.build():
            pytest.skip("network namespaces cannot be made here")
        yield made
    finally:
        for name in made.names:
            ip("netns", "del", name)


@pytest.mark.slow
@pytest.mark.torch
def test_two_hosts_meet(hosts: Hosts, tell: Callable[[str], None]) -> None:
    children = [hosts.preflight(number) for number in (0, 1)]
    outcomes = [child.wait() for child in children]
    told = json.loads(outcomes[0].out)
    assert told["hosts"] == ["host0", "host1"], outcomes[0].err
    assert (told["missing"], told["all_reduce"]["failed"]) == ([], {})
    assert told["all_reduce"]["bytes_per_second"] > 0
    assert [outcome.code for outcome in outcomes] == [told["exit_code"]] * 2
    # Their names are in no table of hosts: gloo by itself would have taken the loopback, and hung.
    assert told["misnamed"] == {
        "rank 0 (host0)": f"{hosts.names[0]}v",
        "rank 1 (host1)": f"{hosts.names[1]}v",
    }
    rate = told["all_reduce"]["bytes_per_second"] / 1e6
    tell(f"{' and '.join(told['hosts'])}: none missing, gloo {rate:.0f} MB/s; {outcomes[0].seconds:.1f} s")


@pytest.mark.slow
@pytest.mark.torch
def test_a_host_whose_cable_is_pulled_is_named_within_the_limit(hosts: Hosts, tell: Callable[[str], None]) -> None:
    first = hosts.preflight(0)
    time.sleep(0.5)
    assert ip("-n", hosts.names[1], "link", "set", f"{hosts.names[1]}v", "down").ok
    second = hosts.preflight(1)
    outcomes = [first.wait(), second.wait()]
    assert json.loads(outcomes[0].out)["missing"] == [1]
    assert [outcome.code for outcome in outcomes] == [3, 3]
    assert "rank 1 of 2 did not hear of rank 0" in outcomes[1].err
    tell(f"host1 is named missing after {outcomes[0].seconds:.1f} s (limit 60 s); exit code 3")
