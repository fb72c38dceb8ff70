"""MFU is a share of a peak that somebody must name: a setting, or the doctor, which has the table of GPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.trainer.test_command import run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "setting", "peak"),
    [(None, None, None), ("1e-3", None, 1e-3), (None, "1e-3", 1e-3), ("1e-3", "2e-3", 2e-3)],
)
def test_mfu_is_of_the_peak_that_was_named(
    told: str | None,
    setting: str | None,
    peak: float | None,
    tiny: dict,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ENVDOCTOR_PEAK_TFLOPS", raising=False)
    if told:
        monkeypatch.setenv("ENVDOCTOR_PEAK_TFLOPS", told)
    words = [f"--{key}={value}" for key, value in tiny.items() if key not in ("output", "data")]
    out = tmp_path / "run"
    done = run(
        "sft", "--data", *map(str, tiny["data"]), f"--output={out}", "--max_steps=2", "--log_every=1", *words,
        *([f"--peak_tflops={setting}"] if setting else []),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert lines
    for line in lines:
        if peak is None:
            assert line["mfu"] is None
        else:
            assert line["mfu"] == pytest.approx(line["flops_per_second"] / (peak * 1e12), rel=0.01, abs=1e-4)
