from __future__ import annotations

from envdoctor.facts.model import Gpus, Unavailable
from envdoctor.rules.driver.open_module import open_module
from tests.rules.cuda_machines import brief, driver, gpu, gpus, machine
from tests.rules.judging import silent, skipped

NOT_ASKED = Unavailable(reason="not asked", why="not-asked")
BLACKWELL = driver(open_module=False, pci=("0000:01:00.0 10de:2b85",))


def test_blackwell_without_the_open_module_is_not_seen() -> None:
    assert brief(open_module, machine(driver=BLACKWELL, gpus=Gpus(), torch=NOT_ASKED)) == [
        "error gpu-not-visible kernel module"
    ]
    assert brief(open_module, machine(driver=BLACKWELL, gpus=gpus(gpu(0, "NVIDIA B200")))) == [
        "note gpu-not-visible kernel module"
    ]


def test_old_cards_need_the_closed_one() -> None:
    assert brief(open_module, machine(gpus=gpus(gpu(0, "Tesla P100-PCIE-16GB")))) == [
        "note gpu-not-visible kernel module"
    ]


def test_healthy() -> None:
    assert silent(open_module, machine())
    assert silent(open_module, machine(driver=driver(open_module=False)))  # Hopper runs with both
    assert skipped(open_module, machine(driver=driver(open_module=None)))
