import pytest

from envdoctor.facts.model import Driver, Facts, Gpu, Gpus, Host
from envdoctor.knowledge.host import allowed_cpus, mebibytes, whole_cpus
from envdoctor.locks.target import Target
from envdoctor.rules.hardware import likely_capabilities, trains_on_gpu
from tests.rules.judging import NOTHING, asking, torch


@pytest.mark.parametrize(
    ("facts", "target", "found"),
    [
        (Facts(gpus=Gpus(devices=(Gpu(index=0, name="x", capability="8.6"),))), NOTHING, {(8, 6)}),
        (Facts(gpus=Gpus(devices=(Gpu(index=0, name="Tesla T4"),))), asking("9.0"), {(7, 5)}),
        (Facts(), asking("9.0"), {(9, 0)}),
        (Facts(gpus=Gpus(devices=(Gpu(index=0, name="who knows"),))), NOTHING, set()),
        (Facts(), NOTHING, set()),
    ],
)
def test_capabilities_are_read_then_known_by_name_then_the_targets(
    facts: Facts, target: Target, found: set[tuple[int, int]]
) -> None:
    assert likely_capabilities(facts, target) == found


@pytest.mark.parametrize(
    ("facts", "target", "answer"),
    [
        (Facts(), asking("9.0"), True),
        (Facts(), asking(None), False),
        (Facts(), NOTHING, None),
        (Facts(torch=torch("2.13.0+cpu", cuda="")), NOTHING, False),
        (Facts(gpus=Gpus(count=1)), asking(None), True),
        (Facts(driver=Driver()), NOTHING, False),
        (Facts(driver=Driver(devices=("/dev/nvidia0",))), NOTHING, None),
    ],
)
def test_will_cuda_be_used(facts: Facts, target: Target, answer: bool | None) -> None:
    assert trains_on_gpu(facts, target) is answer


@pytest.mark.parametrize(
    ("host", "allowed", "whole"),
    [
        (Host(cpus=96, affinity=12, cpu_quota=7.65), 7.65, 7),
        (Host(cpus=2), 2.0, 2),
        (Host(cpus=8, cpu_quota=0.5), 0.5, 1),
        (Host(), None, None),
    ],
)
def test_cpus_that_may_be_used(host: Host, allowed: float | None, whole: int | None) -> None:
    assert (allowed_cpus(host), whole_cpus(host)) == (allowed, whole)


@pytest.mark.parametrize(("count", "text"), [(64 << 20, "64 MiB"), (1 << 30, "1 GiB"), (3 << 29, "1.5 GiB")])
def test_bytes_for_people(count: int, text: str) -> None:
    assert mebibytes(count) == text
