"""An unexpected argument whose callee the error does not name: the argument and the frames tell whose it is."""

from __future__ import annotations

import pytest

from tests.rules.told import errors, root, whole

UNNAMED = "TypeError: __init__() got an unexpected keyword argument '{}'"


@pytest.mark.parametrize(
    "before",
    [
        "# Fine-tuning does not start\nI installed what requirements.txt asks for.",
        "训练脚本报错，环境已经按要求安装",
        "Evaluation of my checkpoint ends in its first second with Python 3.9:",
    ],
)
def test_a_token_that_something_unnamed_does_not_know(before: str) -> None:
    found = root(before, UNNAMED.format("token"))
    assert found.subject == "the argument token"
    assert "datasets is older than 2.14" in found.message
    assert "from_pretrained" in found.message
    assert any("datasets>=2.14" in one for one in found.remedy.commands)


@pytest.mark.parametrize(
    "line",
    [
        "TypeError: BuilderConfig.__init__() got an unexpected keyword argument 'token'",
        "TypeError: JsonConfig.__init__() got an unexpected keyword argument 'verification_mode'",
        'File "/v/site-packages/datasets/builder.py", line 5, in create\n' + UNNAMED.format("trust_remote_code"),
    ],
)
def test_settings_of_a_data_set(line: str) -> None:
    found = root(line)
    assert found.subject == "datasets"
    assert "load_dataset hands" in found.message
    assert any("datasets>=2.16" in one for one in found.remedy.commands)


@pytest.mark.parametrize("what", ["CsvConfig", "BuilderConfig", "ParquetConfig"])
def test_settings_that_datasets_3_dropped(what: str) -> None:
    found = root(f"TypeError: {what}.__init__() got an unexpected keyword argument 'use_auth_token'")
    assert any("datasets<3" in one for one in found.remedy.commands)


@pytest.mark.parametrize(
    "line",
    [
        UNNAMED.format("use_auth_token"),
        "TypeError: BertForTokenClassification.__init__() got an unexpected keyword argument 'use_auth_token'",
        "TypeError: MarianModel.__init__() got an unexpected keyword argument 'use_auth_token'",
    ],
)
def test_the_older_name_of_token(line: str) -> None:
    found = root(line)
    assert "transformers is 5 or later" in found.message
    assert "token=" in found.remedy.text


@pytest.mark.parametrize("text", ["telegram bot", "discord.py", "a slack client"])
def test_other_tokens_are_not_the_hubs(text: str) -> None:
    found = root(f"# {text} fails", UNNAMED.format("token"))
    assert found.subject == "__init__"


FRAME = 'File "/v/lib/python3.11/site-packages/{}/x.py", line 12, in main'
ENGINE = "TypeError: {}.__init__() got an unexpected keyword argument 'worker_extension_cls'"


@pytest.mark.parametrize("owner", ["EngineArgs", "AsyncEngineArgs"])
def test_an_argument_that_vllm_knows_from_a_release_on(owner: str) -> None:
    found = root(FRAME.format("myproject"), FRAME.format("vllm"), ENGINE.format(owner))
    assert found.subject == "vllm"
    assert "from 0.8.0 on" in found.message
    assert "python -m pip install 'vllm>=0.8.0'" in found.remedy.commands


@pytest.mark.parametrize("argument", ["worker_extension_cls", "some_later_argument", "logits_mode"])
def test_a_caller_with_an_extra_names_the_release(argument: str) -> None:
    line = ENGINE.format("EngineArgs").replace("worker_extension_cls", argument)
    found = root(FRAME.format("trl"), FRAME.format("vllm"), line)
    assert "python -m pip install 'trl[vllm]'" in found.remedy.commands
    assert "trl[vllm]" in found.remedy.text


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: cannot import name 'helper' from 'pkg.tools' (unknown location)",
        "ImportError: cannot import name 'Thing' from 'models.blocks' (unknown location)",
        "ImportError: cannot import name 'run' from 'mypackage.sub.part' (unknown location)",
    ],
)
def test_a_module_without_a_file_is_not_said_to_be_a_folder(line: str) -> None:
    found = root(line)
    certain, _, usual = found.message.partition("Usually")
    assert "folder" not in certain
    assert "Python knows of no file" in certain
    assert "has dropped" in usual
    assert "bare folder" in usual


def test_the_web_framework_alone_is_told() -> None:
    found = errors(
        'File "/v/site-packages/apex/__init__.py", line 13, in <module>',
        "ImportError: cannot import name 'UnencryptedCookieSessionFactoryConfig' from 'pyramid.session' "
        "(unknown location)",
    )
    assert [one.subject for one in found] == ["apex"]


def test_what_a_person_calls_an_argument() -> None:
    found = root("# Error", "It tells me that TrainingArguments got an unexpected argument called evaluation_strategy")
    assert "evaluation_strategy" in whole(found)
