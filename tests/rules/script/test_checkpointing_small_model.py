import pytest

from envdoctor.facts.model import Gpu, Gpus
from envdoctor.rules.rule import Severity
from envdoctor.rules.script.checkpointing_small_model import checkpointing_small_model
from tests.rules.judging import findings, silent
from tests.rules.script.scripts import facts, found

ARGUMENTS = "TrainingArguments('out', gradient_checkpointing=True)\n"
LOAD = "model = AutoModelForCausalLM.from_pretrained('{name}')\n"


@pytest.mark.parametrize(
    "name", ["HuggingFaceTB/SmolLM2-135M", "Qwen/Qwen2.5-0.5B", "gpt2", "google-bert/bert-base-uncased"]
)
def test_a_small_model_on_a_large_gpu(name: str) -> None:
    (finding,) = found(checkpointing_small_model, LOAD.format(name=name) + ARGUMENTS)
    assert (finding.kind, finding.severity) == ("script-slow", Severity.WARNING)


def test_the_method_counts_too() -> None:
    assert found(checkpointing_small_model, LOAD.format(name="gpt2") + "model.gradient_checkpointing_enable()\n")


def test_on_a_gpu_of_unknown_size_it_is_a_note() -> None:
    given = facts(LOAD.format(name="gpt2") + ARGUMENTS, gpus=Gpus(devices=(Gpu(index=0, name="?"),)))
    assert [finding.severity for finding in findings(checkpointing_small_model, given)] == [Severity.NOTE]


@pytest.mark.parametrize(
    "source",
    [
        LOAD.format(name="meta-llama/Llama-3.1-8B") + ARGUMENTS,
        LOAD.format(name="gpt2") + "TrainingArguments('out')\n",
        ARGUMENTS,
        LOAD.format(name="gpt2") + LOAD.format(name="Qwen/Qwen2.5-7B") + ARGUMENTS,
    ],
)
def test_large_off_or_unknown(source: str) -> None:
    assert silent(checkpointing_small_model, facts(source))
