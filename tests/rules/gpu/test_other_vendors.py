from __future__ import annotations

from envdoctor.rules.gpu.other_vendors import other_vendors
from tests.rules.cuda_machines import brief, driver, machine
from tests.rules.judging import silent


def test_noted() -> None:
    facts = machine(driver=driver(other_accelerators=("AMD MI300X", "Intel Arc A770")))
    assert brief(other_vendors, facts) == ["note not-judged AMD MI300X", "note not-judged Intel Arc A770"]
    assert silent(other_vendors, machine())
