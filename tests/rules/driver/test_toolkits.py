from __future__ import annotations

from envdoctor.facts.model import Host
from envdoctor.rules.driver.toolkits import toolkits
from tests.rules.cuda_machines import brief, machine, only
from tests.rules.judging import silent


def test_noted() -> None:
    facts = machine(host=Host(toolkits=("12.4", "13.0"), nvcc="12.4"))
    assert brief(toolkits, facts) == ["note no-effect CUDA toolkits"]
    assert "compiling takes nvcc 12.4" in only(toolkits, facts).message
    assert silent(toolkits, machine(host=Host(toolkits=("13.0",))))
