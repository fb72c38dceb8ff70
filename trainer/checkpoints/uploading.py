"""What a run says about a checkpoint that it uploads, and the wait for the last upload at its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable

from trainer.checkpoints.save import Announce
from trainer.checkpoints.upload import Uploader
from trainer.report import RunReport
from trainer.state import Run


@contextmanager
def uploading(run: Run, report: RunReport) -> Iterator[Announce | None]:
    """What a Saver should announce its checkpoints to (None without the setting `upload`). On leaving, also after a
    failure, waits for what is under way; `report.uploads` tells how it ended.
    """
    settings = run.settings
    if not settings.upload or not run.group.first:
        yield None
        return
    staging = Path(settings.output) / "uploads"
    uploader = Uploader(settings.upload, settings.upload_compression, settings.upload_attempts, run.say, staging)
    begun = time.perf_counter()
    first = (run.position.step, run.tokens)

    def announce(state: dict[str, Any]) -> Callable[[Path], None]:
        run.history.read()  # the weights were just copied to the host: nothing is in flight that this could wait for
        described = {**metadata(run, report, state), **_speed(run, first, time.perf_counter() - begun)}
        return lambda folder: uploader.send(folder, {"name": folder.name, **described})

    try:
        yield announce
    finally:
        if uploader.busy:
            run.say(f"upload: waiting up to {settings.upload_wait:g} s for {uploader.busy}")
        uploader.close(settings.upload_wait)
        report.uploads = uploader.report()


def metadata(run: Run, report: RunReport, state: dict[str, Any]) -> dict[str, Any]:
    """Where the run stands and what it is: everything somebody needs who has only the uploaded copy."""
    settings = run.settings
    model = report.model and {
        "parameters": report.model.parameters,
        "trained_parameters": report.model.trained_parameters,
    }
    device = report.device and asdict(report.device)
    return {
        "schema": 1, "written": datetime.now(timezone.utc).isoformat(timespec="seconds"), "task": report.task,
        **state["position"], "total_steps": run.total_steps, "tokens": run.tokens, "loss": run.history.last_loss,
        "skipped_steps": len(run.history.skipped), "model": model, "device": device,
        "versions": report.versions, "settings": {**asdict(settings), "data": list(settings.data)},
        "data": run.prepared.facts, "config": run.trainee.model.config.to_dict(),
    }  # fmt: skip


def _speed(run: Run, first: tuple[int, int], seconds: float) -> dict[str, Any]:
    """Over this process's share of the run, waits included."""
    return {
        "seconds": round(seconds, 3),
        "steps_per_second": round((run.position.step - first[0]) / seconds, 4),
        "tokens_per_second": round((run.tokens - first[1]) / seconds, 1),
    }
