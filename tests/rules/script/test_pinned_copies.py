import pytest

from envdoctor.rules.rule import Severity
from envdoctor.rules.script.pinned_copies import pinned_copies
from tests.rules.judging import silent
from tests.rules.script.scripts import LOOP, facts, found


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        (LOOP.replace(", non_blocking=True", ""), "batch.to(device, non_blocking=True)"),
        (LOOP.replace(", pin_memory=True", ""), "DataLoader(..., pin_memory=True)"),
    ],
)
def test_one_without_the_other(source: str, remedy: str) -> None:
    (finding,) = found(pinned_copies, source)
    assert (finding.kind, finding.severity) == ("no-effect", Severity.NOTE)
    assert finding.remedy.commands == (remedy,)


@pytest.mark.parametrize(
    "source",
    [
        LOOP,
        LOOP.replace(", non_blocking=True", "").replace(", pin_memory=True", ""),
        LOOP.replace("pin_memory=True", "**more"),
    ],
)
def test_both_neither_or_unknown(source: str) -> None:
    assert silent(pinned_copies, facts(source))
