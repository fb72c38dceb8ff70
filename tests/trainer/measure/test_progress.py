"""What a terminal shows, and the rows of metrics.jsonl: each with the loss of its own step."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path

import pytest

from tests.trainer.running import prepare_run
from trainer import loop
from trainer.compute import flops
from trainer.errors import TrainerError
from trainer.measure import progress
from trainer.measure.history import History


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [24, 40, 80, 200])
def test_the_bar_fits_the_terminal_from_the_first_step_on(
    tiny: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    run = prepare_run({**tiny, "epochs": 3, "log_every": 5, "price_per_hour": 2.0, "output": str(tmp_path)})
    out = Terminal()
    monkeypatch.setattr("sys.stderr", out)
    monkeypatch.setattr(progress, "REDRAWN", 0.0)
    monkeypatch.setenv("COLUMNS", str(columns))
    with progress.show_progress(run, flops.work_of(run.trainee.model)) as log:
        loop.train(run, [log])
    drawn = [text for text in re.split(r"\r\x1b\[2K|\n", out.getvalue()) if text]
    assert [text.split("/")[0] for text in drawn] == [str(step) for step in range(1, run.position.step + 1)]
    assert max(map(len, drawn)) < columns
    assert out.getvalue().count("\n") == 1, "one line, ended once"
    if columns >= 40:
        assert all("loss" in text and "━" in drawn[-1] for text in drawn)


def test_rows_have_the_loss_of_their_step_and_go_on_without_repeating(tiny: dict, tmp_path: Path) -> None:
    values = {**tiny, "epochs": 3, "log_every": 4, "output": str(tmp_path)}
    run = prepare_run(values)
    steps = run.prepared.source.steps_in(0) * 3
    with progress.show_progress(run, flops.work_of(run.trainee.model)) as log:
        loop.train(run, [log])
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert rows[0]["step"] == 1
    assert rows[-1]["step"] == run.position.step >= steps - 3
    assert [row["loss"] for row in rows] == [run.history.losses[row["step"] - 1] for row in rows]
    since = run.history.losses[rows[0]["step"] : rows[1]["step"]]
    assert rows[1]["mean_loss"] == pytest.approx(sum(since) / len(since))
    (tmp_path / "metrics.jsonl").open("a").write('{"torn')
    with progress.open_to_continue(tmp_path / "metrics.jsonl", 5):
        pass
    kept = [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert kept == [1, 4]


def losses(values: list[float], **options: bool) -> History:
    history = History(5, **options)
    for step, value in enumerate(values):
        history.add(step, value, 1.0, 0.0)
    history.read()
    return history


def test_a_diverging_loss_stops_with_its_step_and_a_remedy() -> None:
    falling = [7.6 * 0.95**n for n in range(30)]
    with pytest.raises(TrainerError) as caught:
        losses(falling + [20.0 * 1.5**n for n in range(20)], stop_diverging=True)
    assert caught.value.kind == "diverging"
    assert re.search(r"from 7\.6 to \S+ \(mean of 8 steps\) by step 3\d", caught.value.message)
    assert "learning_rate" in caught.value.remedy
    with pytest.raises(TrainerError, match="from 1 to 400"):
        losses([1.0, *[400.0] * 40], stop_diverging=True)  # at once, and no further
    assert losses([1.0, *[400.0] * 40]).last_loss == 400.0  # only where it is asked for
    noisy = [0.3 + 0.25 * math.sin(n) for n in range(100)]  # many times its lowest, but never more than it began with
    assert losses(noisy, stop_diverging=True).steps_done == 100
