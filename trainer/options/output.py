"""Options that say what a run tells while it trains, and what it leaves; none of them changes the trained model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from trainer.options.option import option


@dataclass(frozen=True)
class LogOptions:
    """logs"""

    log_every: int = option(
        10, "steps between lines of metrics.jsonl; the first and the last step have one as well", least=1, result=False
    )
    tracker: str = option(
        "none",
        "also log to TensorBoard (OUTPUT/tensorboard) or W&B, through accelerate",
        ("none", "tensorboard", "wandb"), result=False,
    )  # fmt: skip
    price_per_hour: float = option(
        0.0, "of all machines of the run; with it the bar shows what the run costs", least=0.0, rare=True, result=False
    )


@dataclass(frozen=True)
class CheckpointOptions:
    """checkpoints"""

    checkpoint_every: int = option(
        0, "steps between checkpoints; 0: only at the end or a signal; -1: each epoch", least=-1, result=False
    )
    keep_checkpoints: int = option(
        2, "newest checkpoints that stay; 2 is the least that survives a torn one", least=2, rare=True, result=False
    )
    checkpoint_blocking: bool = option(
        False, "training waits until a checkpoint is on the disk, as plain loops do", rare=True, result=False
    )
    push_to: Optional[str] = option(
        None, "OWNER/NAME on the Hub that the trained model is sent to, private at first", result=False
    )
    save_precision: str = option(
        "checkpoint", "of the trained model's files; checkpoint: as in the model it began from, else float32",
        ("checkpoint", "float32", "bfloat16", "float16"), rare=True, result=False,
    )  # fmt: skip
    upload: Optional[str] = option(
        None, "URL that finished checkpoints are copied to in the background, through fsspec", rare=True, result=False
    )
    upload_compression: str = option(
        "none", "one archive per checkpoint", ("none", "tar.gz", "tar.zst"), rare=True, result=False
    )
    upload_attempts: int = option(
        4, "tries of each upload, 1, 2, 4 ... seconds apart; training never stops for one", least=1, rare=True,
        result=False,
    )  # fmt: skip
    upload_wait: float = option(
        600.0, "seconds the end of the run waits for an upload; what is not done is said", least=0.0, rare=True,
        result=False,
    )  # fmt: skip
