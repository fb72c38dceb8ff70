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
