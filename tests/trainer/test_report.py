from __future__ import annotations

import json

from trainer.errors import TrainerError
from trainer.options.settings import Settings
from trainer.report import Choice, Failure, Model, RunReport, Timing, Window

ALWAYS = set(
    "first_loss last_loss "
    "schema outcome task workload settings choices versions steps seconds losses grad_norms windows error device model "
    "warmup tokens_per_step breakdown packing_efficiency reference_probes contention memory model_path".split()
)


def test_a_run_that_failed_at_once_tells_what_it_knows() -> None:
    report = RunReport(task="sft", error=Failure.of(TrainerError("no-data", "no data", "Set data.")))
    plain = json.loads(json.dumps(report.as_json()))
    assert plain.keys() == ALWAYS
    assert plain["error"] == {"kind": "no-data", "message": "no data", "remedy": "Set data."}
    assert (plain["schema"], plain["outcome"], plain["windows"], plain["device"]) == (1, "failed", [], None)


def test_what_was_settled_stands_in_the_settings_and_sections_appear_when_they_are_known() -> None:
    report = RunReport(
        settings=Settings(data=("a", "b"), compile="auto"), settled={"compile": False}, choices=[Choice("a", "b", "c")],
        data={"packing_efficiency": 0.9}, model=Model(10, 4), cold_start_seconds=1.5, skipped_steps=[],
    )  # fmt: skip
    plain = report.as_json()
    assert plain.keys() == ALWAYS | {"data", "cold_start_seconds", "skipped_steps"}
    assert plain["settings"]["compile"] is False
    assert plain["settings"]["data"] == ["a", "b"]
    assert plain["packing_efficiency"] == 0.9
    assert plain["model"] == {"parameters": 10, "trained_parameters": 4}
    assert plain["choices"] == [{"what": "a", "value": "b", "reason": "c"}]


def test_a_measured_run_has_its_windows_with_a_pace_only_where_one_was_taken() -> None:
    windows = [Window(2, 1.0, 0.9, {"real": 3}, 9, {"data": 0.1}), Window(2, 1.0, 0.9, {"real": 3}, 9, {}, pace=7.0)]
    plain = RunReport(timing=Timing(windows=windows)).as_json()
    assert plain.keys() == ALWAYS | {"gpu_idle"}
    assert ["pace" in window for window in plain["windows"]] == [False, True]
