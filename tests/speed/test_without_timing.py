"""What is said before anything is trained, where training could tell nothing; and that it is said without training."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from envdoctor import doctor
from envdoctor.commands import verify
from envdoctor.errors import Trouble
from envdoctor.facts.environment import locate
from envdoctor.facts.model import Distribution, Facts, Gpu, Gpus, Host, Packages, Unavailable
from envdoctor.locks.library import load_targets
from envdoctor.locks.target import StackChoice
from envdoctor.rules.checkup import CheckOptions
from envdoctor.speed.memory_needed import too_little_memory
from envdoctor.speed.timing import TimingOptions
from envdoctor.speed.without_timing import without_timing
from tests.change.conftest import make_environment
from tests.speed.making import baseline, cpu_report, target

H100 = Gpus(devices=(Gpu(index=0, name="NVIDIA H100 80GB HBM3"),))
CPU = replace(target(name="cpu", gpu_names=()), choice=StackChoice(stack="cpu", reason=""))


def facts(torch: str | None = "2.13.0+cu130", gpus: Gpus | Unavailable = H100, **more: Any) -> Facts:
    installed = (Distribution(name="torch", version=torch),) if torch else ()
    return Facts(packages=Packages(distributions=installed), gpus=gpus, **more)


CASES: list[tuple[str, Facts, bool, str, str]] = [
    # name, facts, on a GPU target, problem, instead
    ("no GPU", facts(gpus=Gpus()), True, "no NVIDIA GPU", "verify --target cpu"),
    ("no GPU and a CPU build", facts("2.13.0+cpu", Gpus()), True, "no NVIDIA GPU", "verify --target cpu"),
    ("no driver", facts(gpus=Unavailable(reason="no driver")), True, "no driver", "verify --target cpu"),
    ("hidden", facts(variables={"CUDA_VISIBLE_DEVICES": ""}), True, "hides every GPU", "unset CUDA_VISIBLE_DEVICES"),
    ("a CPU build", facts("2.13.0+cpu"), True, "a build for CPUs", "fix --target h100"),
    ("no torch", facts(None), True, "has no torch", "fix --target h100"),
    ("no torch for a CPU", facts(None, Gpus()), False, "has no torch", "fix --target cpu"),
]


@pytest.mark.parametrize(("given", "gpu", "problem", "instead"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_in_two_lines_what_is_missing_and_what_is_possible(given: Facts, gpu: bool, problem: str, instead: str) -> None:
    found = without_timing(given, target() if gpu else CPU, "chat-135m", baseline())
    assert found is not None
    assert (found.word, found.reports) == ("not-comparable", ())
    assert problem in found.sentence
    assert instead in found.next_step


@pytest.mark.parametrize(
    "given",
    [
        facts(),
        facts(variables={"CUDA_VISIBLE_DEVICES": "3"}),
        Facts(gpus=H100),
        replace(facts(None), packages=Packages(complete=False)),
    ],
    ids=["all there", "one visible", "packages unknown", "packages in part"],
)
def test_what_may_be_possible_is_timed(given: Facts) -> None:
    assert without_timing(given, target(), "chat-135m", baseline()) is None


def test_without_a_baseline_the_way_to_one_is_told() -> None:
    unknown = facts(gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA X1"),)))
    found = without_timing(unknown, target(), "chat-135m", None)
    assert found is not None
    assert "how fast chat-135m should be" in found.sentence
    assert "baseline record --target h100" in found.next_step
    assert "run --measure" in found.next_step
    other = without_timing(unknown, replace(target(), baselines=(baseline(workload="chat-30m"),)), "chat-135m", None)
    assert other is not None
    assert other.next_step.startswith("Take --workload chat-30m, or record it")
    fits_nowhere = replace(target(), choice=None, no_choice="the driver is too old")
    unfit = without_timing(facts(), fits_nowhere, "chat-135m", None)
    assert unfit is not None
    assert "the driver is too old" in unfit.sentence


@pytest.mark.parametrize("name", sorted(set(load_targets()) - {"cpu"}))
def test_no_gpu_target_is_trained_for_on_a_machine_without_a_gpu(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real story, in a real environment: whatever is missing is said by the facts, and the trainer never starts."""
    seen = doctor.target_for(locate(make_environment(tmp_path / "env")), CheckOptions(target=name))
    if not isinstance(seen.facts.gpus, Unavailable) and seen.facts.gpus.devices:
        pytest.skip("this machine has a GPU")
    monkeypatch.setattr("envdoctor.launch.trainer.train", lambda *given, **more: pytest.fail("something was trained"))
    words = ["--target", name, "--env", str(tmp_path / "env"), "--format", "json"]
    result = CliRunner().invoke(verify.command, words, standalone_mode=False)
    assert result.return_value == 3, result.output
    data = json.loads(result.stdout)
    assert data["verdict"] == "not-comparable"
    assert data["conditions"]["processes"] == 0
    assert data["conditions"]["next"]
    assert data["conditions"]["sentence"].startswith("Cannot tell: ")


def test_a_known_card_is_timed_without_a_baseline() -> None:
    """The card can be held against its kind, if not the step."""
    assert without_timing(facts(), target(), "chat-135m", None) is None


def test_a_baseline_for_another_processor_still_lets_the_run_be_timed() -> None:
    """CPUs are compared through their probes."""
    assert without_timing(facts("2.13.0+cpu", Gpus()), CPU, "chat-5m", baseline(like=cpu_report())) is None
    assert TimingOptions().workload is None


@pytest.mark.parametrize(
    ("workload", "free", "limit", "gpus", "said"),
    [
        ("chat-135m", 12e9, None, Gpus(), "chat-135m takes 18 GB of memory on a CPU, and 12.0 GB are free"),
        ("chat-135m", 64e9, 16e9, Gpus(), "and 16.0 GB are free"),
        ("chat-135m", 64e9, None, Gpus(), None),
        ("chat-135m", None, None, Gpus(), None),
        ("chat-135m", 12e9, None, H100, None),
        ("mine", 1e6, None, Gpus(), None),
        ("chat-5m", 1e8, None, Gpus(), "Free some memory"),
    ],
)
def test_memory_is_looked_at_before_a_workload_is_started(
    workload: str, free: float | None, limit: float | None, gpus: Gpus, said: str | None
) -> None:
    host = Host(memory_available=free and int(free), memory_limit=limit and int(limit))
    answer = too_little_memory(workload, facts(gpus=gpus, host=host))
    assert answer is None if said is None else answer is not None and said in " ".join(answer)


def test_a_workload_that_does_not_fit_is_not_started(tmp_path: Path) -> None:
    """There is no environment: were it started, that would be the error."""
    known = facts("2.13.0+cpu", Gpus(), host=Host(memory_available=int(3e8)))
    judged = doctor.judge(known, CheckOptions(target="cpu"))
    checkup = replace(judged, target=replace(judged.target, choice=CPU.choice))
    with pytest.raises(Trouble, match=r"chat-5m takes 1 GB of memory on a CPU, and 0\.3 GB are free") as caught:
        doctor.speed_of(locate(tmp_path), checkup, TimingOptions(workload="chat-5m"), None)  # type: ignore[arg-type]
    assert caught.value.exit_code == 3
