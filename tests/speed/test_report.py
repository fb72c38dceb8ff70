import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.speed.report import Report, parse, read
from envdoctor.speed.verdict import judge

HERE = Path(__file__).parent
RECORDED = HERE / "reports" / "chat-5m-cpu-contended.json"


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


def test_a_report_of_the_real_trainer_is_read() -> None:
    report = read(RECORDED)
    assert report.outcome == "finished"
    assert report.device.type == "cpu"
    assert report.precision == "float32"
    assert len(report.windows) == len(report.rates) > 0
    assert all(math.isclose(w.rate, w.steps / w.seconds) for w in report.windows)
    assert "matmul_fp32_gflops" in report.reference_probes["before"]
    assert report.flags["float32-matmul-precision"] == "highest"


def test_what_a_failed_run_did_not_learn_is_null_and_read_as_unknown() -> None:
    nothing = {"schema": 1, "outcome": "failed", "error": {"kind": "no-model", "message": "nothing to train"}}
    empty = dict.fromkeys(("device", "model", "warmup", "tokens_per_step", "reference_probes", "contention"))
    report = parse({**nothing, **empty, "task": "sft", "workload": None})
    assert report.device.type == "unknown"
    assert judge([report], None).word == "not-comparable"


def test_fields_of_a_later_trainer_are_ignored() -> None:
    data = recorded()
    data["something_new"] = 1
    data["device"]["something_new"] = 1
    data["windows"][0]["something_new"] = {}
    assert parse(data) == parse(recorded())


MISTAKES: list[tuple[list[str | int], Any, str]] = [
    (["schema"], 2, "schema"),
    (["schema"], "1", "schema"),
    (["windows"], {}, "windows"),
    (["windows", 0], 3, "windows[0]"),
    (["windows", 0, "steps"], 0, "windows[0].steps"),
    (["windows", 1, "steps"], 1.5, "windows[1].steps"),
    (["windows", 1, "seconds"], 0.0, "windows[1].seconds"),
    (["windows", 1, "seconds"], -1.0, "windows[1].seconds"),
    (["windows", 1, "seconds"], float("nan"), "windows[1].seconds"),
    (["windows", 1, "seconds"], float("inf"), "windows[1].seconds"),
    (["windows", 1, "seconds"], "fast", "windows[1].seconds"),
    (["windows", 0, "tokens", "real"], -5, "windows[0].tokens.real"),
    (["windows", 0, "breakdown", "data"], float("nan"), "windows[0].breakdown.data"),
    (["device", "name"], None, "device.name"),
    (["device", "threads"], "two", "device.threads"),
    (["device"], [], "device"),
    (["model", "flops_per_step"], float("inf"), "model.flops_per_step"),
    (["reference_probes", "before", "copy_gbs"], float("nan"), "reference_probes.before.copy_gbs"),
    (["reference_probes", "before"], 3, "reference_probes.before"),
    (["tokens_per_step", "real"], -1, "tokens_per_step.real"),
    (["versions"], [["torch", "2"]], "versions"),
    (["warmup", "steady"], "yes", "warmup.steady"),
    (["outcome"], None, "outcome"),
]


@pytest.mark.parametrize(("path", "value", "where"), MISTAKES, ids=[f"{m[2]}={m[1]!r}"[:40] for m in MISTAKES])
def test_every_mistake_is_named_with_its_field(path: list[str | int], value: Any, where: str) -> None:
    data = recorded()
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(Trouble) as caught:
        parse(data, Path("report.json"))
    assert caught.value.where == where
    assert caught.value.file == "report.json"
    assert caught.value.remedy


@pytest.mark.parametrize("kept", [0, 1, 10, 500, -2])
def test_a_truncated_report_is_refused(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(RECORDED.read_text()[:kept])
    with pytest.raises(Trouble, match="not valid JSON"):
        read(path)


def test_an_absent_report_is_named(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="No such file"):
        read(tmp_path / "report.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(Report.__dataclass_fields__)), json_values))
def test_anything_else_is_a_report_or_trouble_never_another_error(data: dict[str, Any]) -> None:
    try:
        report = parse({"schema": 1, "outcome": "finished", **data})
    except Trouble:
        return
    judge([report], None)
