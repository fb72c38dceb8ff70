"""Metrics in TensorBoard's files, what is said without the package, and what the bar shows."""

from __future__ import annotations

import importlib.util
import io
import json
from pathlib import Path

import pytest

from tests.trainer.running import prepare_run
from trainer import loop
from trainer.compute import flops
from trainer.errors import TrainerError
from trainer.measure.progress import Progress
from trainer.measure.trackers import Tracker
from trainer.options.settings import from_mapping


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_a_tracker_that_is_not_installed_is_told(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"accelerate.utils.is_{name}_available", lambda: False)
    with pytest.raises(TrainerError, match=f"tracker={name}, but the package is not installed") as caught:
        Tracker(from_mapping({"tracker": name, "output": str(tmp_path)}, "test"))
    assert name in caught.value.remedy


@pytest.mark.skipif(not importlib.util.find_spec("tensorboard"), reason="tensorboard is not installed")
def test_tensorboard_gets_every_line_of_metrics(tiny: dict, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from trainer.__main__ import main

    config = tmp_path / "settings.json"
    config.write_text(json.dumps({**tiny, "tracker": "tensorboard", "epochs": 2}))
    assert main(["sft", "--config", str(config)]) == 0
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    events = EventAccumulator(str(next((tmp_path / "run" / "tensorboard").rglob("events*")).parent)).Reload()
    found = [(event.step, event.value) for event in events.Scalars("loss")]
    expected = [(line["step"], line["loss"]) for line in lines if line["loss"] is not None]
    assert len(expected) >= 2
    assert [step for step, _ in found] == [step for step, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=1e-6)


def test_a_line_shows_everything(tiny: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = prepare_run({**tiny, "epochs": 2, "price_per_hour": 36.0, "output": str(tmp_path)})
    out = io.StringIO()
    monkeypatch.setattr("sys.stderr", out)
    seen: list = []
    methods = {"__call__": lambda self, line: seen.append(line), "close": lambda self: seen.append(0)}
    taken = type("Taken", (), methods)()
    progress = Progress(run, flops.work_of(run.trainee.model), 1e12, taken)
    loop.train(run, [progress])
    progress.close()
    said = out.getvalue().splitlines()[-1]
    for word in ("it/s", "tok/s", "loss", "data", "GB", "MFU", "ETA", "cost"):
        assert word in said
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert seen == [*lines, 0]
    for line in lines:
        assert line["trained_tokens_per_second"] < line["real_tokens_per_second"] <= line["slot_tokens_per_second"]
        assert 0 < line["cost"] <= line["cost_at_end"]
    assert lines[-1]["cost"] == pytest.approx(lines[-1]["cost_at_end"], abs=1e-3)  # nothing is left to pay for
