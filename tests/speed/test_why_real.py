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
from envdoctor.facts.environment import Environment, locate
from envdoctor.launch.trainer import Measure
from envdoctor.locks.target import Target
from envdoctor.rules.checkup import CheckOptions, Checkup
from envdoctor.speed.ablation.suspect_ablation import ablate_suspects
from envdoctor.speed.ablation.suspects import REACHES, SuspectAblation
from envdoctor.speed.baselines.recording import record
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report
from envdoctor.speed.timing import TimingOptions, run_once
from envdoctor.speed.verdict import judge
from tests.speed.series.conditions import slowed

pytestmark = pytest.mark.slow

SHORT = TimingOptions(
    workload="chat-5m",
    measure=Measure(windows=6, window_seconds=0.2, max_warmup_seconds=3.0, probes=False),
    settings={"tokens_per_row": 384, "over_long": "skip"},
)


@pytest.fixture(scope="module")
def examined() -> tuple[Environment, Checkup]:
    environment = locate(Path(sys.prefix))
    return environment, doctor.examine(environment, CheckOptions(target="cpu", torch=False))


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith(REACHES)]:
        monkeypatch.delenv(name)


def timed(environment: Environment, target: Target) -> Report:
    return run_once(environment, target, "chat-5m", SHORT.measure, settings=SHORT.settings, on_line=lambda line: None)


def why(
    examined: tuple[Environment, Checkup], target: Target, run: Report, good: Report
) -> tuple[Verdict, SuspectAblation]:
    environment, checkup = examined
    base = record([good] * 3, target, "cpu", noisy=True)
    verdict = judge([run], base, target=target)
    return ablate_suspects(
        environment,
        target,
        SHORT,
        verdict,
        facts=checkup.facts,
        rounds=2,
        progress=lambda text: None,
        on_line=lambda line: None,
    )


def test_a_debugging_variable_left_on_is_named(
    examined: tuple[Environment, Checkup], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, checkup = examined
    good = timed(environment, checkup.target)
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")  # bit-equal results on every CPU: SSE2 instead of AVX
    monkeypatch.setenv("OMP_DISPLAY_ENV", "false")  # harmless, and a suspect all the same
    verdict, ablation = why(examined, checkup.target, timed(environment, checkup.target), good)
    assert verdict.cause == ablation.cause == "settings"
    assert ablation.suspect is not None
    assert ablation.suspect.unset == ("MKL_CBWR",)


def test_a_wait_for_each_batch_is_named_as_data(examined: tuple[Environment, Checkup]) -> None:
    environment, checkup = examined
    good = timed(environment, checkup.target)
    slow = replace(checkup.target, variables={**checkup.target.variables, **slowed(data=0.1)})
    verdict, ablation = why(examined, slow, timed(environment, slow), good)
    assert verdict.cause == ablation.cause == "data"
    assert ablation.suspect is not None
    assert ablation.suspect.mended.settings["prefetch"] == 2


def test_a_wrong_number_of_threads_is_named(examined: tuple[Environment, Checkup]) -> None:
    """Eight threads on two cores: what a container's variable does to a trainer that believes it."""
    environment, checkup = examined
    good = timed(environment, checkup.target)
    many = replace(SHORT, settings={**SHORT.settings, "threads": 16})
    run = run_once(
        environment, checkup.target, "chat-5m", many.measure, settings=many.settings, on_line=lambda line: None
    )
    base = record([good] * 3, checkup.target, "cpu", noisy=True)
    verdict, ablation = ablate_suspects(
        environment, checkup.target, many, judge([run], base, target=checkup.target),
        facts=checkup.facts, rounds=2, progress=lambda text: None, on_line=lambda line: None,
    )  # fmt: skip
    assert [suspect.cause for suspect, _ in ablation.rows] == ["settings"]
    assert "threads 16" in ablation.rows[0][0].what
    assert verdict.cause == "settings"
