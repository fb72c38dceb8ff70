from envdoctor.rules.script.nan_filter import nan_filter
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found


def test_hidden() -> None:
    (finding,) = found(nan_filter, "TrainingArguments('out', logging_nan_inf_filter=True)\n")
    assert finding.kind == "script-wrong"
    assert finding.remedy.commands == ("logging_nan_inf_filter=False",)


def test_shown_or_not_said() -> None:
    assert silent(
        nan_filter, facts("TrainingArguments('out', logging_nan_inf_filter=False)\nTrainingArguments('out')\n")
    )
