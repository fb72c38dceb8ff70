import pytest

from envdoctor.rules.rule import Severity
from envdoctor.rules.script.batch_size_one import batch_size_one
from tests.rules.judging import silent
from tests.rules.script.scripts import LOOP, facts, found


@pytest.mark.parametrize(
    ("source", "better"),
    [
        (LOOP.replace("batch_size=16", "batch_size=1"), "batch_size=8"),
        (LOOP.replace("batch_size=16, ", ""), "batch_size=8"),
        ("TrainingArguments('o', per_device_train_batch_size=1, gradient_accumulation_steps=4)\n", "batch_size=4"),
    ],
)
def test_one_at_a_time(source: str, better: str) -> None:
    (finding,) = found(batch_size_one, source)
    assert (finding.kind, finding.severity) == ("script-slow", Severity.NOTE)
    assert finding.remedy.commands == (better,)


@pytest.mark.parametrize(
    "source",
    [
        LOOP,
        LOOP.replace("batch_size=16", "batch_size=args.batch"),
        LOOP.replace("batch_size=16", "batch_size=None"),
        LOOP.replace("batch_size=16", "batch_sampler=sampler"),
        "from torch.utils.data import DataLoader\nDataLoader(test, batch_size=1)\n",
    ],
)
def test_more_or_unknown(source: str) -> None:
    assert silent(batch_size_one, facts(source))
