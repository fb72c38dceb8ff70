from __future__ import annotations

from envdoctor.facts.model import Driver, Gpus
from envdoctor.rules.driver.management_library import management_library
from tests.rules.cuda_machines import brief, driver, machine
from tests.rules.judging import silent, skipped


def test_noted() -> None:
    facts = machine(driver=driver(management_library=""), gpus=Gpus())
    assert brief(management_library, facts) == ["note not-judged NVML"]


def test_not_found() -> None:
    assert silent(management_library, machine())
    assert silent(management_library, machine(driver=Driver(kernel_module="", management_library=""), gpus=Gpus()))
    assert skipped(management_library, machine(driver=driver(management_library=None)))
