"""`verify --why` with real trainings and a planted cause: the suspect that is named is the one that was planted.

The effects are large (a matrix library held to old instructions, a wait for each batch), so that they show on a busy
machine too; how small an effect can be seen is what `python -m tests.speed.series --inject` answers.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor import doctor
from envdoctor.environment import Environment, locate
from envdoctor.examination import Examination, Question
from envdoctor.handoff import Measure
from envdoctor.inquiry import inquire
from envdoctor.speed.baseline import record
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report
from envdoctor.speed.verdict import judge
from envdoctor.speed.why import REACHES, Inquiry
from envdoctor.target import Target
from envdoctor.timing import Timing, run_once
from tests.speed.series.conditions import slowed

pytestmark = pytest.mark.slow

SHORT = Timing(
    workload="chat-5m",
    measure=Measure(windows=6, window_seconds=0.2, max_warmup_seconds=3.0, probes=False),
    settings={"tokens_per_row": 384, "over_long": "skip"},
)


@pytest.fixture(scope="module")
def examined() -> tuple[Environment, Examination]:
    environment = locate(Path(sys.prefix))
    return environment, doctor.examine(environment, Question(target="cpu", torch=False))


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith(REACHES)]:
        monkeypatch.delenv(name)


def timed(environment: Environment, target: Target) -> Report:
    return run_once(environment, target, "chat-5m", SHORT.measure, settings=SHORT.settings, on_line=lambda line: None)


def why(
    examined: tuple[Environment, Examination], target: Target, run: Report, good: Report
) -> tuple[Verdict, Inquiry]:
    environment, examination = examined
    base = record([good] * 3, target, "cpu", noisy=True)
    verdict = judge([run], base, target=target)
    return inquire(
        environment,
        target,
        SHORT,
        verdict,
        facts=examination.facts,
        rounds=2,
        progress=lambda text: None,
        on_line=lambda line: None,
    )


def test_a_debugging_variable_left_on_is_named(
    examined: tuple[Environment, Examination], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, examination = examined
    good = timed(environment, examination.target)
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")  # bit-equal results on every CPU: SSE2 instead of AVX
    monkeypatch.setenv("OMP_DISPLAY_ENV", "false")  # harmless, and a suspect all the same
    verdict, inquiry = why(examined, examination.target, timed(environment, examination.target), good)
    assert verdict.cause == inquiry.cause == "settings"
    assert inquiry.suspect is not None
    assert inquiry.suspect.unset == ("MKL_CBWR",)


def test_a_wait_for_each_batch_is_named_as_data(examined: tuple[Environment, Examination]) -> None:
    environment, examination = examined
    good = timed(environment, examination.target)
    slow = replace(examination.target, variables={**examination.target.variables, **slowed(data=0.1)})
    verdict, inquiry = why(examined, slow, timed(environment, slow), good)
    assert verdict.cause == inquiry.cause == "data"
    assert inquiry.suspect is not None
    assert inquiry.suspect.mended.settings["prefetch"] == 2


def test_a_wrong_number_of_threads_is_named(examined: tuple[Environment, Examination]) -> None:
    """Eight threads on two cores: what a container's variable does to a trainer that believes it."""
    environment, examination = examined
    good = timed(environment, examination.target)
    many = replace(SHORT, settings={**SHORT.settings, "threads": 16})
    run = run_once(
        environment, examination.target, "chat-5m", many.measure, settings=many.settings, on_line=lambda line: None
    )
    base = record([good] * 3, examination.target, "cpu", noisy=True)
    verdict, inquiry = inquire(
        environment, examination.target, many, judge([run], base, target=examination.target),
        facts=examination.facts, rounds=2, progress=lambda text: None, on_line=lambda line: None,
    )  # fmt: skip
    assert [suspect.cause for suspect, _ in inquiry.rows] == ["settings"]
    assert "threads 16" in inquiry.rows[0][0].what
    assert verdict.cause == "settings"
