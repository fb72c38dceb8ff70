import pytest

from envdoctor.rules.rule import Severity
from envdoctor.rules.script.rng_state import rng_state
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found

CALL = """\
from torch.utils.checkpoint import checkpoint
y = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)
"""


@pytest.mark.parametrize(
    "dropout",
    [
        "from torch import nn\nlayer = nn.Dropout(0.1)\n",
        "from torch import nn\nlayer = nn.Dropout()\n",
        "config = LoraConfig(lora_dropout=0.05)\n",
        "import torch.nn.functional as F\nx = F.dropout(x, p=0.2)\n",
        "config.attention_dropout = 0.1\n",
    ],
)
def test_gradients_are_wrong(dropout: str) -> None:
    (finding,) = found(rng_state, CALL + dropout)
    assert (finding.kind, finding.severity, finding.subject) == ("script-wrong", Severity.ERROR, "train.py:2")


def test_in_the_arguments_of_the_trainer() -> None:
    source = (
        'TrainingArguments(gradient_checkpointing_kwargs={"preserve_rng_state": False})\n'
        "config = LoraConfig(lora_dropout=0.1)\n"
    )
    assert [finding.severity for finding in found(rng_state, source)] == [Severity.ERROR]


def test_a_model_of_unknown_dropout_is_a_warning() -> None:
    assert [finding.severity for finding in found(rng_state, CALL)] == [Severity.WARNING]


@pytest.mark.parametrize(
    "source",
    [
        CALL.replace("preserve_rng_state=False", "preserve_rng_state=True") + "LoraConfig(lora_dropout=0.1)\n",
        CALL + "LoraConfig(lora_dropout=0.0)\n",
        "from torch import nn\nnn.Dropout(0.1)\n",
    ],
)
def test_right(source: str) -> None:
    assert silent(rng_state, facts(source))
