import pytest

from envdoctor.rules.script.tensors_made_on_cpu import tensors_made_on_cpu
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found, in_step


@pytest.mark.parametrize(
    ("line", "better"),
    [
        ("noise = torch.randn(8, 4).to(device)", "torch.randn(8, 4, device=device)"),
        ("one = torch.tensor([1.0]).cuda()", "torch.tensor([1.0], device=device)"),
        ("mask = torch.ones(n, n).to('cuda')", "torch.ones(n, n, device=device)"),
    ],
)
def test_made_and_copied(line: str, better: str) -> None:
    (finding,) = found(tensors_made_on_cpu, in_step(line))
    assert finding.kind == "script-slow"
    assert finding.remedy.commands == (better,)


@pytest.mark.parametrize(
    "source",
    [
        in_step("noise = torch.randn(8, 4, device=device)"),
        in_step("x = torch.zeros(3).to(torch.bfloat16)"),
        "import torch\nmask = torch.ones(4).to(device)\n",
        in_step("labels = batch['labels'].to(device)"),
    ],
)
def test_made_in_place_or_once(source: str) -> None:
    assert silent(tensors_made_on_cpu, facts(source))
