"""Which releases a text asks for: with an end, in one range for all its errors, and of the package that is called."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.knowledge import history
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding

RULES = load_rules()


def root_of(text: str) -> Finding:
    root = diagnose(read(text), no_target(), RULES).root_cause
    assert root is not None
    return root


def first_of(text: str) -> Finding:
    return diagnose(read(text), no_target(), RULES).findings[0]


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("AttributeError: 'Trainer' object has no attribute 'num_devices'", "pytorch-lightning>=1.6.0,<2"),
        ("TypeError: KTOTrainer.__init__() got an unexpected keyword argument 'processing_class'", "trl>="),
        (
            "from trl import SFTConfig, DataCollatorForCompletionOnlyLM\n"
            "TypeError: SFTConfig.__init__() got an unexpected keyword argument 'completion_only_loss'",
            "trl>=0.17.0,<0.20",
        ),
        ("TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_length'", "trl>=0.16.0,<1"),
    ],
)
def test_an_upward_remedy_has_an_end(text: str, use: str) -> None:
    found = first_of(text)
    assert use in found.expected
    assert any("," in command for command in found.remedy.commands if "install" in command)


def test_no_end_where_the_newest_major_is_the_one() -> None:
    found = root_of("import torch\nTypeError: torch.load() got an unexpected keyword argument 'mmap'")
    assert ",<" not in found.expected


def test_two_errors_of_two_releases_are_one_range() -> None:
    text = (
        "I run the example of the pytorch-lightning course.\n"
        "TypeError: __init__() got an unexpected keyword argument 'auto_select_gpus'\n"
        "With the older release that a friend has:\n"
        "TypeError: __init__() got an unexpected keyword argument 'every_n_epochs'\n"
    )
    found = first_of(text)
    assert (found.rule, found.expected) == ("packages/changed-calls", "pytorch-lightning>=1.4.0,<2.0.0")
    named = text.replace("__init__() got an unexpected keyword argument 'a", "Trainer.__init__() got an unexpected "
                         "keyword argument 'a")  # fmt: skip
    assert first_of(named).expected == found.expected


def test_a_text_that_names_no_library_or_one_without_the_argument() -> None:
    for library in ("", "transformers "):
        text = f"I run the {library}example.\nTypeError: __init__() got an unexpected keyword argument 'every_n_epochs'"
        rules = [found.rule for found in diagnose(read(text), no_target(), RULES).findings]
        assert "packages/changed-calls" not in rules


def test_whom_the_code_calls_is_asked_and_not_the_decorator() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/home/me/align.py", line 31, in <module>\n'
        "    trainer = DPOTrainer(\n"
        '  File "/opt/v/lib/python3.11/site-packages/transformers/utils/deprecation.py", line 172, in wrapped_func\n'
        "    return func(*args, **kwargs)\n"
        "TypeError: __init__() got an unexpected keyword argument 'beta'\n"
    )
    found = root_of(text)
    assert (found.subject, found.rule) == ("trl", "packages/known-symptoms")
    assert "python -m pip install 'trl<0.13.0'" in found.remedy.commands


def test_a_listed_release_that_knows_it_is_not_the_one_that_ran() -> None:
    text = "trl==0.11.3\nTypeError: DPOTrainer.__init__() got an unexpected keyword argument 'beta'\n"
    found = root_of(text)
    assert "0.11.3 is listed" in found.message
    assert "what runs is another copy of it" in found.message
    assert any("import trl" in command for command in found.remedy.commands)


@pytest.mark.parametrize(
    ("near", "text", "use"),
    [
        (
            '@hydra.main(config_path="conf", version_base="1.1")',
            "TypeError: main() got an unexpected keyword argument 'version_base'",
            "hydra-core>=1.2.0",
        ),
        (
            "wave, rate = torchaudio.load(path, backend='soundfile')",
            "TypeError: load() got an unexpected keyword argument 'backend'",
            "torchaudio>=2.1.0",
        ),
    ],
)
def test_a_call_on_a_library_s_module(near: str, text: str, use: str) -> None:
    found = root_of(
        f'Traceback (most recent call last):\n  File "/w/run.py", line 8, in <module>\n    {near}\n{text}\n'
    )
    assert found.expected == use


def test_a_call_on_something_of_ones_own() -> None:
    near, text = (
        "args = self.tool.main(version_base=None)",
        "TypeError: main() got an unexpected keyword argument 'version_base'",
    )
    assert text in read(f'  File "/w/run.py", line 8, in <module>\n    {near}\n{text}\n').messages


def test_functions_that_older_releases_choose_while_they_run() -> None:
    """torchaudio's own load() was bound to a backend's before 2.9, and knew these arguments by then."""
    for function in ("load", "save", "info"):
        for argument in ("backend", "uri", "buffer_size"):
            spans = [span for span in history.of_argument(function, argument) if span.package == "torchaudio"]
            assert [span.added for span in spans] == ["2.1.0"]


def test_tokenizers_comes_with_the_package_that_names_its_releases() -> None:
    found = root_of("ImportError: cannot import name 'AddedToken' from 'tokenizers' (/v/tokenizers/__init__.py)")
    assert "python -m pip install 'transformers' 'tokenizers>=0.7.0'" in found.remedy.commands


def test_a_private_part_that_is_gone() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/v/lib/python3.10/site-packages/soundlab_x/io.py", line 9, in f\n'
        "AttributeError: module 'webdataset._parts' has no attribute 'is_old'\n"
    )
    found = first_of(text)
    assert "Usually webdataset is too new for soundlab-x" in found.message
    assert not any("--upgrade" in command for command in found.remedy.commands)


def test_who_cannot_edit_the_code_is_offered_releases() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/v/lib/python3.11/site-packages/tunekit/run.py", line 9, in f\n'
        "TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'max_seq_length'\n"
    )
    advice = root_of(text).remedy.text
    assert advice == "Install trl<0.13.0, or a release of tunekit that no longer asks for it."
    own = root_of("TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'max_seq_length'").remedy.text
    assert "max_seq_length=..." in own
    assert "max_length from trl 0.16 on" in own


def test_a_class_that_became_a_function_which_takes_the_same() -> None:
    """datasets 4 made Sequence a function: what its class took is not gone."""
    assert not [span for span in history.of_argument("Sequence", "feature") if span.package == "datasets"]


@pytest.mark.parametrize(("trainer", "end"), [("DPOTrainer", "0.16.0"), ("RewardTrainer", "0.15.0")])
def test_an_old_name_that_a_decorator_still_takes_is_not_gone(trainer: str, end: str) -> None:
    line = f"TypeError: {trainer}.__init__() got an unexpected keyword argument 'tokenizer'"
    assert root_of(line).expected.endswith(f"trl<{end}")


def test_an_argument_that_the_base_class_has_is_not_gone() -> None:
    """PPOConfig of trl 0.12 takes mini_batch_size through the class it builds on."""
    line = "TypeError: PPOConfig.__init__() got an unexpected keyword argument 'mini_batch_size'"
    assert "dropped" not in first_of(line).message
