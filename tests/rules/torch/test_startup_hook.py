from __future__ import annotations

import pytest

from envdoctor.facts.model import Interpreter
from envdoctor.rules.torch.startup_hook import startup_hook
from tests.rules.cuda_machines import brief, machine, only, torch
from tests.rules.judging import silent


def test_noted() -> None:
    assert brief(startup_hook, machine(torch=torch(hook="1"))) == ["note no-effect startup hook"]
    assert silent(startup_hook, machine())


@pytest.mark.parametrize(
    ("can_go_back", "said"),
    [(True, "takes back the whole last change"), (False, "no earlier state to undo to"), (None, "")],
)
def test_undo_is_named_only_where_it_leads_somewhere(can_go_back: bool | None, said: str) -> None:
    python = Interpreter(version="3.12.3", site_packages=("/env/lib",), can_go_back=can_go_back)
    remedy = only(startup_hook, machine(torch=torch(hook="1"), interpreter=python)).remedy
    assert "delete /env/lib/envdoctor-startup.pth." in remedy.text
    assert said in remedy.text
    assert ("`envdoctor undo`" in remedy.text) is (can_go_back is True)
    assert not remedy.commands  # there is nothing to mend
