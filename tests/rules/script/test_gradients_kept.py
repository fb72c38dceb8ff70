import pytest

from envdoctor.rules.rule import Severity
from envdoctor.rules.script.gradients_kept import gradients_kept
from tests.rules.judging import silent
from tests.rules.script.scripts import LOOP, facts, found

WITHOUT = LOOP.replace("        optimizer.zero_grad()\n", "")


def test_gradients_of_all_steps_add_up() -> None:
    (finding,) = found(gradients_kept, WITHOUT)
    assert (finding.kind, finding.severity, finding.actual) == ("script-wrong", Severity.ERROR, "optimizer.step()")


@pytest.mark.parametrize(
    "source",
    [
        LOOP,
        WITHOUT + "        for p in model.parameters():\n            p.grad = None\n",
        "import deepspeed\n" + WITHOUT.replace("optimizer.step", "engine.step"),
        "for batch in loader:\n    loss = model(batch)\n    loss.backward()\n    scheduler.step()\n",
    ],
)
def test_set_to_zero(source: str) -> None:
    assert silent(gradients_kept, facts(source))
