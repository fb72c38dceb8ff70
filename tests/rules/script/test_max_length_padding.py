import pytest

from envdoctor.rules.script.max_length_padding import max_length_padding
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found


@pytest.mark.parametrize(
    "source",
    [
        "rows = tokenizer(text, padding='max_length', truncation=True, max_length=512)\n",
        "rows = tokenizer.encode_plus(text, pad_to_max_length=True)\n",
        "collate = DataCollatorForSeq2Seq(tokenizer, padding='max_length')\n",
    ],
)
def test_every_row_has_the_greatest_length(source: str) -> None:
    (finding,) = found(max_length_padding, source)
    assert (finding.kind, finding.subject) == ("script-slow", "train.py:1")


@pytest.mark.parametrize(
    "source",
    [
        "rows = tokenizer(text, padding=True)\n",
        "rows = tokenizer(text, padding='longest', truncation=True)\n",
        "from diffusers import StableDiffusionPipeline\nids = tokenizer(prompt, padding='max_length', max_length=77)\n",
        "import torch_xla\nids = tokenizer(prompt, padding='max_length')\n",
    ],
)
def test_as_long_as_needed(source: str) -> None:
    assert silent(max_length_padding, facts(source))
