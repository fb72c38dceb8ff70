"""Metrics to TensorBoard or Weights & Biases, through accelerate's own trackers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Callable

from trainer.errors import TrainerError
from trainer.options.settings import Settings

Log = Callable[[dict[str, Any]], None]
# name -> (accelerate.utils' check, class in accelerate.tracking, what to install)
KNOWN = {
    "tensorboard": ("is_tensorboard_available", "TensorBoardTracker", "tensorboard"),
    "wandb": ("is_wandb_available", "WandBTracker", "wandb"),
}


class Tracker:
    """Takes the lines of metrics.jsonl. TrainerError on creation when the tracker's package is not installed."""

    def __init__(self, settings: Settings) -> None:
        check, name, package = KNOWN[settings.tracker]
        try:
            from accelerate import PartialState, tracking, utils
        except ImportError as error:
            raise TrainerError(
                "no-tracker", f"tracker={settings.tracker} needs accelerate ({error})", "Install accelerate."
            ) from None
        if not getattr(utils, check)():
            raise TrainerError(
                "no-tracker", f"tracker={settings.tracker}, but the package is not installed",
                f"Install {package}, or set tracker=none.",
            )  # fmt: skip
        PartialState()  # accelerate's trackers ask it which process they are in
        folder = Path(settings.output)
        folder.mkdir(parents=True, exist_ok=True)
        where = {"logging_dir": str(folder)} if settings.tracker == "tensorboard" else {"dir": str(folder)}
        run_name = "tensorboard" if settings.tracker == "tensorboard" else folder.name
        self._tracker = getattr(tracking, name)(run_name, **where)
        if hasattr(self._tracker, "start"):
            self._tracker.start()  # since accelerate 1.10
        # Trackers keep single values: lists become words, and what is not set an empty one.
        plain = {
            key: " ".join(map(str, value)) if isinstance(value, (list, tuple)) else "" if value is None else value
            for key, value in asdict(settings).items()
        }
        self._tracker.store_init_configuration(plain)

    def __call__(self, line: dict[str, Any]) -> None:
        values = {name: value for name, value in line.items() if isinstance(value, (int, float)) and name != "step"}
        self._tracker.log(values, step=line["step"])

    def close(self) -> None:
        """Write what is buffered."""
        self._tracker.finish()
