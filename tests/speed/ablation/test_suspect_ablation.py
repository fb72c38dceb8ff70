"""`verify --why` end to end with real processes: only the training itself is a stand-in, which answers at once.

The stand-in reads the order and writes a report, as the trainer does; how fast it says it was depends on what really
reached its process: variables, settings. With the real trainer: tests/speed/test_why_real.py (slow).
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from envdoctor.commands import baseline as recorder
from envdoctor.commands import verify
from envdoctor.facts.environment import Environment, locate
from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.facts.wire import to_json
from envdoctor.launch.trainer import Measure
from envdoctor.locks.target import Target, load
from envdoctor.speed.ablation.suspect_ablation import ablate_suspects
from envdoctor.speed.ablation.suspects import REACHES
from envdoctor.speed.outcome import as_json
from envdoctor.speed.timing import TimingOptions, expected_baseline, run_once, time_and_judge
from envdoctor.speed.verdict import judge
from tests.speed.making import baseline, cpu_report, report, target

STAND_IN = """#!{python} -I
import json, os, sys
order = json.loads(open(sys.argv[-1]).read())
report = json.loads(open({model!r}).read())
rate = 1.5
if os.environ.get("MKL_CBWR"):
    rate *= 0.6
if order["settings"].get("threads") == 16:
    rate *= 0.5
if order["settings"].get("recompute"):
    report.update(outcome="failed", error={{"kind": "oom", "message": "no memory"}}, windows=[])
once = os.environ.get("NEIGHBOUR")
busy = 0.4 if once and os.path.exists(once) else 0.004
if busy == 0.4:
    os.unlink(once)
jitter = 1.0 + 0.001 * (os.getpid() % 3)
for number, window in enumerate(report["windows"]):
    window["seconds"] = window["steps"] / (rate * jitter * (1.0 + busy * (-1) ** number))
report["device"]["threads"] = order["settings"].get("threads") or 2
open(order["report"], "w").write(json.dumps(report))
"""
CPU = Target(name="cpu", title="CPU")
QUICK = TimingOptions(workload="chat-5m", measure=Measure(windows=5))


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    for name in [name for name in os.environ if name.startswith(REACHES)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    model = tmp_path / "model.json"
    model.write_text(json.dumps({**to_json(cpu_report(1.5)), "schema": 1, "outcome": "finished"}))
    python = tmp_path / "python"
    python.write_text(STAND_IN.format(python=sys.executable, model=str(model)))
    python.chmod(0o755)
    return replace(locate(Path(sys.prefix)), python=python)


def silent(_: str) -> None:
    pass


def judged(environment: Environment, timing: TimingOptions = QUICK):  # type: ignore[no-untyped-def]
    base = replace(baseline(1.5, like=cpu_report(1.5)), lock=None)
    done = [
        run_once(environment, CPU, "chat-5m", timing.measure, settings=timing.settings, on_line=silent)
        for _ in range(3)
    ]
    return judge(done, base, target=CPU)


def test_the_variable_that_slows_the_run_is_found_by_taking_it_away(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    monkeypatch.setenv("OMP_SCHEDULE", "static")
    verdict = judged(environment)
    assert verdict.word == "slower"
    told: list[str] = []
    found, ablation = ablate_suspects(
        environment, CPU, QUICK, verdict, facts=None, progress=told.append, on_line=silent
    )
    assert ablation.suspect is not None
    assert ablation.suspect.unset == ("MKL_CBWR",)
    assert ablation.gain == pytest.approx(1 / 0.6, rel=0.02)
    assert found.cause == "settings"
    assert [row.word for _, row in ablation.rows] == ["faster", "equal"]
    assert len(told) == 9  # three arms, three rounds
    assert told[0].startswith("why? run 1 of 9: ")
    assert len({text.rpartition(": ")[2] for text in told}) == 3
    assert as_json(found)["cause"] == "settings"


def test_a_wrong_number_of_threads_is_found_by_setting_the_baselines(environment: Environment) -> None:
    timing = replace(QUICK, settings={"threads": 16})
    verdict = judged(environment, timing)
    _, ablation = ablate_suspects(
        environment, CPU, timing, verdict, facts=None, rounds=2, progress=silent, on_line=silent
    )
    assert ablation.suspect is not None
    assert ablation.suspect.mended.settings == {"threads": 2}
    assert ablation.gain == pytest.approx(2.0, rel=0.02)


def test_with_nothing_to_try_nothing_is_trained(environment: Environment) -> None:
    verdict = judge([cpu_report(1.2)] * 3, baseline(1.5, like=cpu_report(1.5)), target=CPU)
    unchanged = replace(environment, python=Path("/nonexistent/python"))
    _, ablation = ablate_suspects(unchanged, CPU, QUICK, verdict, facts=None, progress=silent, on_line=silent)
    assert ablation.rows == ()
    assert ablation.cause is None
    assert len(ablation.untried) == 3


def test_the_command_explains_what_it_tried(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    base = replace(baseline(1.5, like=cpu_report(1.5), stack="cpu"), lock=None)

    class Found:
        facts = Facts()
        target = replace(CPU, baselines=(base,), choice=replace(target().choice, stack="cpu"))  # type: ignore[type-var]

    monkeypatch.setattr(verify, "environment_of", lambda path: environment)
    monkeypatch.setattr(verify.doctor, "examine", lambda *given: Found)
    monkeypatch.setattr(verify.doctor, "target_for", lambda *given: Found)
    words = ["--why", "--rounds", "2", "--steps", "3558", "--price", "2.49/h"]
    result = CliRunner().invoke(verify.command, words, standalone_mode=False)
    assert result.return_value == 1, result.output
    assert "slower" in result.output
    assert "without MKL_CBWR" in result.output
    assert "unset MKL_CBWR" in result.output
    assert "mended:" in result.output
    data = CliRunner().invoke(verify.command, [*words, "--format", "json"], standalone_mode=False)
    document = json.loads(data.stdout)
    assert document["why"]["cause"] == document["cause"] == "settings"
    assert document["cost"]["fixed"]["seconds"] < document["cost"]["seconds"]


def test_a_gpu_without_a_baseline_gets_one_derived_from_the_nearest_measured_chip() -> None:
    measured = baseline(10.0, like=report(10.0))
    h200 = replace(target(name="h200", gpu_names=("NVIDIA H200",)), baselines=(measured,))
    facts = Facts(gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA H200"),)))
    own = expected_baseline(h200, "chat-135m", "cu130", facts)
    assert own is measured
    found = expected_baseline(h200, "chat-135m", "cu128", facts)
    assert found is not None
    assert found.evidence == "derived"
    assert found.conditions["spread"] > 0.04
    assert expected_baseline(h200, "another", "cu130", facts) is None
    assert expected_baseline(CPU, "chat-5m", "cpu", facts) is None
    unknown = Facts(gpus=Gpus(devices=(Gpu(index=0, name="Future X1"),)))
    assert expected_baseline(h200, "chat-135m", "cu128", unknown) is None


def test_the_settings_of_a_timing_reach_the_trainer(environment: Environment) -> None:
    base = replace(baseline(1.5, like=cpu_report(1.5), stack="cpu"), lock=None)
    known = replace(CPU, baselines=(base,), choice=replace(target().choice, stack="cpu"))  # type: ignore[type-var]
    timing = replace(QUICK, settings={"threads": 16})
    slow = time_and_judge(environment, known, timing, facts=None, progress=silent, on_line=silent)
    assert slow.word == "slower"
    assert len(slow.reports) == 3  # on a CPU one process proves nothing


def test_a_baseline_is_recorded_shown_and_judged_by(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """record -> show -> verify, as a user goes; the target file keeps its other lines."""
    path = tmp_path / "mine.toml"
    path.write_text('# mine\nschema = 1\ntitle = "CPU"\nstacks = ["cpu"]\n')
    known = replace(load(path), choice=replace(target().choice, stack="cpu"))  # type: ignore[type-var]

    class Found:
        facts = Facts()
        target = known

    monkeypatch.setattr(recorder, "environment_of", lambda path: environment)
    monkeypatch.setattr(recorder.doctor, "examine", lambda *given: Found)
    words = ["record", "--workload", "chat-5m", "--processes", "4", "--output", str(path)]
    result = CliRunner().invoke(recorder.command, words, standalone_mode=False)
    assert result.exception is None, result.output
    assert path.read_text().startswith("# mine\n")
    stored = load(path).baselines[0]
    assert (len(stored.windows), stored.evidence) == (4, "measured")
    assert stored.source.startswith("envdoctor baseline record --target mine --workload chat-5m --processes 4")
    shown = CliRunner().invoke(recorder.command, ["show", "--target", str(path)], standalone_mode=False).output
    assert "median of 4 processes" in shown
    assert "is called slower from" in shown
    again = replace(known, baselines=(stored,))
    same = time_and_judge(environment, again, QUICK, facts=Facts(), progress=silent, on_line=silent)
    assert same.word == "as-expected", same.reasons
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    assert time_and_judge(environment, again, QUICK, facts=Facts(), progress=silent, on_line=silent).word == "slower"


def test_a_disturbed_process_of_a_recording_is_repeated(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, neighbour = tmp_path / "mine.toml", tmp_path / "neighbour"
    path.write_text('schema = 1\ntitle = "CPU"\nstacks = ["cpu"]\n')
    neighbour.touch()
    monkeypatch.setenv("NEIGHBOUR", str(neighbour))

    class Found:
        facts = Facts()
        target = replace(load(path), choice=replace(target().choice, stack="cpu"))  # type: ignore[type-var]

    monkeypatch.setattr(recorder, "environment_of", lambda path: environment)
    monkeypatch.setattr(recorder.doctor, "examine", lambda *given: Found)
    words = ["record", "--workload", "chat-5m", "--processes", "4", "--output", str(path)]
    result = CliRunner().invoke(recorder.command, words, standalone_mode=False)
    assert result.exception is None, result.output
    assert "not counted, and repeated: the speed of its windows varies" in result.output
    stored = load(path).baselines[0]
    assert len(stored.windows) == 4
    assert "disturbed" not in stored.conditions
    assert max(map(max, stored.windows)) < 1.1 * min(map(min, stored.windows))
