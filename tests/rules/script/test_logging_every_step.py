import pytest

from envdoctor.rules.rule import Severity
from envdoctor.rules.script.logging_every_step import logging_every_step
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found, in_step


@pytest.mark.parametrize(
    "source",
    [
        "TrainingArguments('out', logging_steps=1)\n",
        "Trainer(log_every_n_steps=1)\n",
        "import wandb\n" + in_step("wandb.log({'loss': value})"),
        in_step("writer.add_scalar('loss', value, step)"),
    ],
)
def test_every_step(source: str) -> None:
    (finding,) = found(logging_every_step, source)
    assert (finding.kind, finding.severity) == ("script-slow", Severity.NOTE)


@pytest.mark.parametrize(
    "source",
    ["TrainingArguments('out', logging_steps=10)\n", in_step("if step % 10 == 0: writer.add_scalar('loss', v, step)")],
)
def test_rarely(source: str) -> None:
    assert silent(logging_every_step, facts(source))
