"""CPU and memory limits of control groups: version 1, version 2, hybrid, nested, and inside namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.probe.machine import cgroup, mounts
from envdoctor.facts.probe.machine.reading import Root
from tests.facts.probe.roots import lay


class Machine(NamedTuple):
    name: str
    groups: str  # /proc/self/cgroup
    mounted: str  # /proc/self/mountinfo
    files: dict[str, str]
    expected: dict[str, float | None]


V2 = "30 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n"
V1 = (
    "31 23 0:27 {root} /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
    "32 23 0:28 {root} /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
)
STAT = "usage_usec 1\nnr_periods 500\nnr_throttled 120\nthrottled_usec 9\n"

MACHINES = [
    Machine(
        "docker v2, own namespace",
        "0::/\n",
        V2,
        {"cpu.max": "765000 100000", "cpu.stat": STAT, "memory.max": "34359738368", "memory.high": "max"},
        {"cpu_quota": 7.65, "cpu_periods": 500, "cpu_throttled": 120, "memory_limit": 34359738368},
    ),
    Machine("no limits", "0::/\n", V2, {"cpu.max": "max 100000", "memory.max": "max"}, {}),
    Machine(
        "the limit is on the group above (Slurm, systemd slices)",
        "0::/system.slice/slurmstepd.scope/job_1/step_0\n",
        V2,
        {
            "system.slice/slurmstepd.scope/job_1/cpu.max": "1600000 100000",
            "system.slice/slurmstepd.scope/job_1/step_0/cpu.max": "max 100000",
            "system.slice/memory.max": "1000",
            "system.slice/slurmstepd.scope/job_1/step_0/memory.max": "2000",
        },
        {"cpu_quota": 16.0, "cpu_periods": None, "cpu_throttled": None, "memory_limit": 1000},
    ),
    Machine(
        "the tightest of several counts",
        "0::/a/b\n",
        V2,
        {"a/cpu.max": "200000 100000", "a/b/cpu.max": "300000 100000", "a/cpu.stat": STAT},
        {"cpu_quota": 2.0, "cpu_periods": 500, "cpu_throttled": 120},
    ),
    Machine(
        "a path above the namespace",
        "0::/../../other\n",
        V2,
        {"cpu.max": "100000 100000"},
        {"cpu_quota": 1.0, "cpu_periods": None, "cpu_throttled": None},
    ),
    Machine(
        "docker v1 without namespace: the mount shows our part only",
        "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
        V1.format(root="/docker/abc"),
        {
            "cpu,cpuacct/cpu.cfs_quota_us": "400000",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
            "cpu,cpuacct/cpu.stat": "nr_periods 9\nnr_throttled 0\nthrottled_time 0\n",
            "memory/memory.limit_in_bytes": "8589934592",
        },
        {"cpu_quota": 4.0, "cpu_periods": 9, "cpu_throttled": 0, "memory_limit": 8589934592},
    ),
    Machine(
        "v1 without limits",
        "4:memory:/x\n3:cpu,cpuacct:/x\n",
        V1.format(root="/"),
        {
            "cpu,cpuacct/x/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
            "memory/x/memory.limit_in_bytes": "9223372036854771712",
        },
        {},
    ),
    Machine(
        "hybrid: limits in v1, an empty v2 beside it",
        "3:cpu,cpuacct:/\n0::/init.scope\n",
        V1.format(root="/") + "41 31 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        {"cpu,cpuacct/cpu.cfs_quota_us": "150000", "cpu,cpuacct/cpu.cfs_period_us": "50000"},
        {"cpu_quota": 3.0, "cpu_periods": None, "cpu_throttled": None},
    ),
    Machine(
        "what is used already, pages of files aside",
        "0::/job\n",
        V2,
        {
            "job/memory.max": "10000",
            "job/memory.current": "9000",
            "job/memory.stat": "anon 5500\nfile 3500\ninactive_file 2000\nactive_file 1000\n",
            "memory.max": "20000",
            "memory.current": "19000",
        },
        {"memory_limit": 10000, "memory_available": 1000},
    ),
    Machine(
        "the same of version 1",
        "4:memory:/x\n",
        V1.format(root="/"),
        {
            "memory/x/memory.limit_in_bytes": "10000",
            "memory/x/memory.usage_in_bytes": "9000",
            "memory/x/memory.stat": "inactive_file 7\ntotal_inactive_file 2000\ntotal_active_file 1000\n",
        },
        {"memory_limit": 10000, "memory_available": 4000},
    ),
    Machine("no control groups", "", "", {}, {}),
    Machine("nonsense", "x\n0:\n1:cpu\n0::\n", V2 + "short\n", {"cpu.max": "a b", "memory.max": "-5"}, {}),
]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_limits(machine: Machine, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"/sys/fs/cgroup/{path}": text for path, text in machine.files.items()}
    root = lay(tmp_path, {**files, "/proc/self/cgroup": machine.groups, "/proc/self/mountinfo": machine.mounted})
    assert cgroup.read(root, mounts.read(root)) == machine.expected


@given(path=st.text(alphabet="/.ab", max_size=12), root=st.sampled_from(["/", "/a", "/a/b", "/.."]))
def test_every_path_leads_up_to_the_mount_point(path: str, root: str) -> None:
    mount = mounts.Mount(root, "/sys/fs/cgroup", "cgroup2", ())
    folders = list(cgroup._upwards(mount, path))
    assert folders[-1] == "/sys/fs/cgroup"
    assert all(folder.startswith("/sys/fs/cgroup") and ".." not in folder.split("/") for folder in folders)


def test_this_machine() -> None:
    root = Root()
    limits = cgroup.read(root, mounts.read(root))
    assert all(value is None or value >= 0 for value in limits.values())
