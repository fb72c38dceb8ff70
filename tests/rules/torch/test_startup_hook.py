from __future__ import annotations

from envdoctor.rules.torch.startup_hook import startup_hook
from tests.rules.cuda_machines import brief, machine, torch
from tests.rules.judging import silent


def test_noted() -> None:
    assert brief(startup_hook, machine(torch=torch(hook="1"))) == ["note no-effect startup hook"]
    assert silent(startup_hook, machine())
