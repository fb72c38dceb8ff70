"""Arguments of methods and functions that came or went: whose they are, in which direction, from which release on."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.packages.changed_calls import changed_calls
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent
from tests.rules.told import root, whole

UNEXPECTED = "TypeError: {}() got an unexpected keyword argument '{}'"


@pytest.mark.parametrize(
    ("callee", "argument", "package", "use"),
    [
        ("PeftAdapterMixin.load_adapter", "adapter_state_dict", "transformers", "transformers>=4.34.0"),
        ("HfApi.create_repo", "space_hardware", "huggingface-hub", "huggingface-hub>=0.12.0"),
        ("hotswap_adapter_from_state_dict", "config", "peft", "peft>=0.15.0"),
        ("SentencePieceUnigramTokenizer.train_from_iterator", "initial_alphabet", "tokenizers", "tokenizers>=0.12.1"),
        ("create_causal_mask", "cache_position", "transformers", "transformers<5.9.0"),
        ("register_forward_pre_hook", "with_kwargs", "torch", "torch>=2.0.0"),  # Python before 3.10 names no class
    ],
)
def test_a_method_or_function_of_another_release(callee: str, argument: str, package: str, use: str) -> None:
    found = root(UNEXPECTED.format(callee, argument))
    assert (found.rule, found.subject) == ("packages/changed-calls", package)
    assert found.expected.startswith(use)
    assert any(use in command for command in found.remedy.commands)
    assert f"the argument {argument} of {callee}" in whole(found)


def test_what_a_decorator_takes_for_longer_than_the_function_names_it() -> None:
    found = root(UNEXPECTED.format("hf_hub_download", "use_auth_token"))
    assert found.expected == "token in its place, or huggingface-hub<1.0.0"


def test_the_direction_is_said() -> None:
    assert "dropped" in root(UNEXPECTED.format("create_causal_mask", "cache_position")).message
    assert "from 0.15.0 on" in root(UNEXPECTED.format("hotswap_adapter_from_state_dict", "config")).message


def test_a_release_that_has_the_argument_is_not_to_blame() -> None:
    line = UNEXPECTED.format("BaseTuner.inject_adapter", "low_cpu_mem_usage")
    (found,) = findings(changed_calls, Facts(messages=(line,), packages=installed(peft="0.12.0")))
    assert (found.severity, found.actual) == (Severity.ERROR, "0.12.0")
    assert silent(changed_calls, Facts(messages=(line,), packages=installed(peft="0.13.2")))


def test_a_method_that_every_such_class_has_is_a_guess() -> None:
    found = root(UNEXPECTED.format("DoraLinearLayer.forward", "adapter_name"))
    assert (found.subject, found.severity) == ("peft", Severity.WARNING)
    assert found.message.startswith("Most often peft is meant, which the report does not show")


@pytest.mark.parametrize(
    ("callee", "argument"),
    [
        ("forward", "adapter_name"),
        ("train", "initial_alphabet"),
        ("MyAdapters.load_adapter", "adapter_state_dict"),
        ("Gearbox.inject_adapter", "low_cpu_mem_usage"),
    ],
)
def test_everyday_names_and_classes_of_ones_own(callee: str, argument: str) -> None:
    assert silent(changed_calls, Facts(messages=(UNEXPECTED.format(callee, argument),)))


def test_a_constructor_that_the_text_names() -> None:
    lines = (
        "torch1.9.1 can't support the norm_first in TransformerDecoderLayer",
        UNEXPECTED.format("__init__", "norm_first"),
    )
    found = root(*lines)
    assert (found.rule, found.subject) == ("packages/changed-calls", "torch")
    assert found.expected.startswith("torch>=1.10.0")


def test_settings_of_a_library_whose_class_the_text_names() -> None:
    found = root("model = PeftModel.from_pretrained(model, name)", UNEXPECTED.format("__init__", "enable_lora"))
    assert (found.rule, found.expected) == ("packages/changed-calls", "peft<0.3.0")
    assert "LoraConfig" in found.message
