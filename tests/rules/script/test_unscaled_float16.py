import pytest

from envdoctor.rules.script.unscaled_float16 import unscaled_float16
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found

STEP = """\
import torch
for batch in loader:
    with {cast}:
        loss = model(batch)
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    "cast", ["torch.autocast('cuda')", "torch.cuda.amp.autocast()", "torch.autocast('cuda', dtype=torch.float16)"]
)
def test_small_gradients_vanish(cast: str) -> None:
    (finding,) = found(unscaled_float16, STEP.format(cast=cast))
    assert (finding.kind, finding.subject) == ("script-wrong", "train.py:3")


@pytest.mark.parametrize(
    "source",
    [
        STEP.format(cast="torch.autocast('cuda', dtype=torch.bfloat16)"),
        STEP.format(cast="torch.autocast('cuda', dtype=dtype)"),
        STEP.format(cast="torch.autocast('cpu')"),
        STEP.format(cast="torch.autocast('cuda', enabled=False)"),
        "scaler = GradScaler()\n" + STEP.format(cast="torch.autocast('cuda')"),
        "import accelerate\n" + STEP.format(cast="torch.autocast('cuda')"),
        "import torch\nwith torch.autocast('cuda'):\n    model(batch)\n",
    ],
)
def test_scaled_or_not_training(source: str) -> None:
    assert silent(unscaled_float16, facts(source))
