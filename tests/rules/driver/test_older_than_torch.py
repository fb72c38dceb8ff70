from __future__ import annotations

from envdoctor.facts.model import Driver, Torch
from envdoctor.rules.driver.older_than_torch import older_than_torch
from tests.rules.cuda_machines import brief, machine, only, pasted
from tests.rules.judging import silent, skipped


def test_noted() -> None:
    facts = pasted(torch=Torch(version="2.14.0+cu126"), driver=Driver(kernel_module="535.183.01"))
    assert brief(older_than_torch, facts) == ["note no-effect driver"]
    assert "Driver 535.183.01 is of CUDA 12.2, torch of 12.6" in only(older_than_torch, facts).message


def test_not_found() -> None:
    assert silent(older_than_torch, machine())
    too_old = pasted(torch=Torch(version="2.15.0+cu130"), driver=Driver(kernel_module="535.183.01"))
    assert silent(older_than_torch, too_old)
    assert skipped(older_than_torch, pasted(torch=Torch(version="2.14.0+cu126")))
