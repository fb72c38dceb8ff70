import pytest

from tests.facts.pasted.reading import host


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("cgroup cpu.max: 400000 100000\n", 4.0),
        ("cpus 4.0 / cpu.max = 750000 100000\n", 7.5),
        ("cpu.cfs_quota_us 200000 and cpu.cfs_period_us 100000\n", 2.0),
        ("docker run --cpus=3.5 image\n", 3.5),
        ("the container is limited to 14 cores\n", 14.0),
        ("an 8-core pod limit on a large node\n", 8.0),
    ],
)
def test_what_a_container_may_use(text: str, quota: float) -> None:
    assert host(text + "torch.get_num_threads(): 64\n").cpu_quota == quota


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("CPU(s):                             64\n", 64), ("on a host with 128 CPUs\n", 128), ("a 384-core host\n", 384)],
)
def test_what_the_machine_has(text: str, cpus: int) -> None:
    assert host(text + "torch.get_num_threads(): 64\n").cpus == cpus


def test_throttled_periods() -> None:
    found = host("nr_periods 4567 / nr_throttled 3115 (cpu)\n")
    assert (found.cpu_periods, found.cpu_throttled) == (4567, 3115)


@pytest.mark.parametrize("text", ["cpu.max: 400000 00000\n", "cpu.cfs_quota_us 200000, cpu.cfs_period_us 000\n"])
def test_a_period_of_no_time_says_nothing(text: str) -> None:
    """Found by mutation."""
    assert host(text + "torch.get_num_threads(): 64, 64 cores in CPU(s)\nCPU(s): 64\n").cpu_quota is None
