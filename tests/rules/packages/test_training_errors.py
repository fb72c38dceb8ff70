"""Each line of the table beside this file, of training and loading, is named by its row; ordinary logs by none."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Severity

RULES = load_rules()
ROWS = [
    tuple(part.strip() for part in line.split("|", 2))
    for line in (Path(__file__).parent / "training_errors.txt").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize(("kind", "subject", "line"), ROWS, ids=[str(number) for number, _ in enumerate(ROWS, 1)])
def test_a_line_alone_is_named_by_its_row(kind: str, subject: str, line: str) -> None:
    root = diagnose(read(line), no_target(), RULES).root_cause
    assert root is not None, "nothing explains it"
    assert (root.kind, root.subject) == (kind, subject)


@pytest.mark.parametrize(
    "line",
    [
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
        "Epoch 3: loss 0.41 grad_scale 65536.0",
        "Hint: enable anomaly detection to find the operation, with torch.autograd.set_detect_anomaly(True).",
    ],
)
def test_an_ordinary_line_is_no_error(line: str) -> None:
    found = diagnose(read(f"Python 3.11.4\n{line}\n"), no_target(), RULES).findings
    assert not [each for each in found if each.severity in (Severity.ERROR, Severity.WARNING)]


def test_a_text_column_is_told_from_rows_of_different_lengths() -> None:
    text = (
        "ValueError: Unable to create tensor, you should probably activate truncation and/or padding with\n"
        "'padding=True' 'truncation=True' to have batched tensors with the same length. Perhaps your features\n"
        "(`question` in this case) have excessive nesting (inputs type `list` where type `int` is expected).\n"
    )
    root = diagnose(read(text), no_target(), RULES).root_cause
    assert root is not None
    assert root.subject == "the dataset's columns"


def test_where_a_traceback_lacks_its_end_the_heading_is_heard() -> None:
    text = (
        "# tokenizer.chat_template is not set and no template argument was passed\n\n"
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.11/site-packages/trl/trainer/sft_trainer.py", line 492, in generate\n'
        "    yield from rows\n"
    )
    root = diagnose(read(text), no_target(), RULES).root_cause
    assert root is not None
    assert root.subject == "the chat template"


def test_an_argument_that_an_unnamed_class_does_not_know_is_no_clean_bill() -> None:
    text = "Python version: 3.6.9\n__init__() got an unexpected keyword argument 'colour_mode'\n"
    assert diagnose(read(text), no_target(), RULES).outcome != "healthy"


def test_a_remedy_that_the_report_tells_is_passed_on_as_told() -> None:
    text = "The recipe stops.\n\nDowngrading torchaudio to 0.12.1 solves it.\n"
    root = diagnose(read(text), no_target(), RULES).root_cause
    assert root is not None
    assert (root.subject, root.severity) == ("torchaudio", Severity.WARNING)
    told = "The recipe stops.\n\nDowngrading torchaudio to 0.12.1 does not fix it.\n"
    assert diagnose(read(told), no_target(), RULES).root_cause is None


def test_devices_that_a_script_fills_in_are_none_that_were_set() -> None:
    found = diagnose(read("CUDA_VISIBLE_DEVICES=${gpu_id} python train.py\n"), no_target(), RULES).findings
    assert not [each for each in found if each.rule == "variables/visible-devices"]


def test_memory_that_ran_out_before_is_not_what_ended_this_run() -> None:
    text = "When it resumes (after a cuda OOM) the loader breaks.\n"
    found = diagnose(read(text), no_target(), RULES).findings
    assert not [each for each in found if "out of memory" in each.message]
