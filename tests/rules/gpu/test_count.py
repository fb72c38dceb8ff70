from __future__ import annotations

from dataclasses import replace

from envdoctor.facts.model import Gpus
from envdoctor.rules.gpu.count import count
from tests.rules.cuda_machines import brief, driver, gpu, gpus, machine, only
from tests.rules.judging import NOTHING, silent, skipped

SEVEN = gpus(*(gpu(index) for index in range(7)))
FILES = tuple(f"/dev/nvidia{index}" for index in range(8))
BUS = tuple(f"0000:{index:02x}:00.0 10de:2330" for index in range(8))


def test_found() -> None:
    assert brief(count, machine(gpus=SEVEN, driver=driver(devices=FILES))) == ["error gpu-unhealthy GPUs"]
    on_bus = machine(gpus=SEVEN, driver=driver(devices=FILES[:7], pci=BUS))
    assert brief(count, on_bus) == ["warning gpu-unhealthy GPUs"]
    assert "7 of 8 GPUs answer: a card has failed" in only(count, on_bus).message


def test_a_container_sees_its_hosts_bus() -> None:
    assert silent(count, machine(container="docker", driver=driver(pci=BUS)))


def test_fewer_than_the_target_had() -> None:
    board = replace(NOTHING, name="h100x8", conditions={"gpus": 8})
    assert brief(count, machine(gpus=SEVEN, driver=driver(devices=FILES[:7])), board) == ["note gpu-limited GPUs"]


def test_not_found() -> None:
    assert silent(count, machine())
    assert skipped(count, machine(gpus=Gpus()))
    assert skipped(count, machine(kind="pasted"))
