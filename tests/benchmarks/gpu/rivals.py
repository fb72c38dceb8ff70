"""The trainer against transformers' Trainer and TRL's SFTTrainer: same data, model, machine; taking turns.

First the losses: padded batches in one order must give the same loss at every step, or the speeds mean nothing. Then
trained tokens per second, in rounds whose order alternates. A package that is absent is said to be absent.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from trainer import tasks
from trainer.model import build
from trainer.options.settings import from_mapping

from tests.benchmarks.gpu import runs, trainer_speed
from tests.benchmarks.gpu.session import Session, why
from tests.benchmarks.gpu.timing import wait

# Trainer arguments by side; what is not named stays at its default.
RIVALS: dict[str, dict[str, Any]] = {
    "transformers defaults": {"per_device_train_batch_size": 8},
    "transformers bf16 batch 32": {"per_device_train_batch_size": 32, "bf16": True},
    "trl packed": {"packing": True, "bf16": True},
    "trl packed compiled": {"packing": True, "bf16": True, "torch_compile": True},
    "trl packed compiled no recomputation": {
        "packing": True, "bf16": True, "torch_compile": True, "gradient_checkpointing": False,
    },
}  # fmt: skip
OURS: dict[str, dict[str, Any]] = {
    "trainer": {},
    "trainer compiled": {"compile": True},
    "trainer rows of 2048": {"tokens_per_row": 2048},
}


def measure(session: Session) -> None:
    """Equal losses, then rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for precision in ("float32", "bfloat16"):
            session.attempt("losses " + precision, lambda p=precision: equal_losses(session, p, folder), 30)  # type: ignore[misc]
        sides = [side for side in (*OURS, *RIVALS) if session.full or "compiled" not in side]
        for turn in range(session.pick(1, 2)):
            for side in sides if turn % 2 == 0 else sides[::-1]:
                row = "%s, round %d" % (side, turn)
                seconds = 70.0 if "compiled" in side else 25.0
                session.attempt(row, lambda s=side: speed(session, s, folder), seconds)  # type: ignore[misc]
    session.table(shown(session, sides))


def shape(session: Session) -> str:
    """The model both sides train."""
    return str(session.pick("toy", "0.15b"))


def given(session: Session, folder: Path) -> dict[str, Any]:
    """Settings of our side; the rival reads the same tokens."""
    return {
        "device": session.device.type, "cache": str(folder / "cache"), "output": str(folder / "ours"), "seed": 0,
        "threads": session.pick(1, 0), "learning_rate": 1e-4, "schedule": "constant", "warmup_steps": 0,
        "over_long": "skip", "tokens_per_row": session.pick(1024, 16384),
        **runs.data_for("sft", folder, shape(session), 0, session.pick(40, None)),
    }  # fmt: skip


def speed(session: Session, side: str, folder: Path) -> dict[str, Any]:
    """One turn of one side."""
    values = given(session, folder)
    if side in RIVALS:
        return rival(session, values, RIVALS[side], side.startswith("trl"), session.pick((2, 0.05), (8, 0.75)))
    with runs.run_of("sft", {**values, **OURS[side]}, shape(session), session.device, {}) as run:
        runs.warm(run, session.pick(1, 3))
        return runs.timed(run, trainer_speed.protocol(session))


def equal_losses(session: Session, precision: str, folder: Path) -> dict[str, Any]:
    """The loss of each of the first steps on both sides, from equal weights, padded batches of 8 in one order."""
    steps = session.pick(4, 20)
    values = {
        **given(session, folder), "packing": False, "attention": "model", "examples_per_batch": 8, "max_steps": steps,
        "precision": precision,
    }  # fmt: skip
    with runs.run_of("sft", values, shape(session), session.device, {}) as run:
        ours = runs.losses(run)
    options = {"per_device_train_batch_size": 8, "bf16": precision == "bfloat16", "max_steps": steps}
    theirs = rival(session, values, {**options, "logging_steps": 1}, False, (10**6, 1.0))["logged"]
    apart = [abs(one / other - 1) for one, other in zip(ours, theirs)]
    drift = statistics.fmean(one / other - 1 for one, other in zip(ours, theirs))
    bound = 1e-3 if precision == "float32" else 2e-2
    agrees = len(ours) == len(theirs) == steps and max(apart) < bound
    return {"agrees": agrees, "largest": max(apart), "mean": drift, "bound": bound, "ours": ours, "theirs": theirs}


def examples(values: dict[str, Any], shape_name: str) -> list[dict[str, list[int]]]:
    """Every example once, in the order of our padded batches: token ids, and labels with -100 where untrained."""
    settings = from_mapping({**values, "packing": False, "attention": "model"}, "benchmark")
    found = tasks.load("sft").prepare(settings, runs.workload(shape_name)).source.examples  # type: ignore[attr-defined]
    order = np.random.default_rng([settings.seed, 0]).permutation(len(found)).tolist()
    rows = []
    for index in order:
        ids, trained = found.example(index)
        marks = [int(mark) for mark in trained]
        labels = [int(token) if mark else -100 for token, mark in zip(ids, marks)]
        rows.append({"input_ids": [int(token) for token in ids], "labels": labels})
    return rows


def rival(
    session: Session, values: dict[str, Any], options: dict[str, Any], trl: bool, windows: tuple[int, float]
) -> dict[str, Any]:
    """Train by the other trainer until `windows` (how many, seconds of each) are timed, or its max_steps are done."""
    import transformers

    torch.manual_seed(values["seed"])
    settings = from_mapping(values, "benchmark")
    model = build.load_model(settings, runs.workload(shape(session)), "sdpa")
    arguments: dict[str, Any] = {
        "output_dir": values["output"] + "-rival", "max_steps": 10**6, "learning_rate": settings.learning_rate,
        "lr_scheduler_type": "constant", "adam_beta1": settings.beta1, "adam_beta2": settings.beta2,
        "report_to": [], "save_strategy": "no", "disable_tqdm": True, "seed": 0, "remove_unused_columns": False,
        "use_cpu": session.device.type == "cpu", **options,
    }  # fmt: skip
    clock = Clock(session.device, *windows)
    callback = clock.callback(transformers.TrainerCallback)
    data: Any = examples(values, shape(session))
    if trl:
        import datasets  # type: ignore[import-not-found,unused-ignore]
        from trl import SFTConfig, SFTTrainer  # type: ignore[import-not-found,unused-ignore]

        masks = [[int(label != -100) for label in row["labels"]] for row in data]
        table = datasets.Dataset.from_dict({"input_ids": [row["input_ids"] for row in data], "completion_mask": masks})
        arguments.update(max_length=min(2048, values["tokens_per_row"]), completion_only_loss=True)
        arguments.pop("remove_unused_columns")
        from trainer.data.tokenizer import load_tokenizer

        other = clock.counting(SFTTrainer)(
            model=model, args=SFTConfig(**arguments), train_dataset=table, callbacks=[callback],
            processing_class=load_tokenizer(settings, runs.workload(shape(session))),
        )  # fmt: skip
    else:
        other = clock.counting(transformers.Trainer)(
            model=model, args=transformers.TrainingArguments(**arguments), train_dataset=data, callbacks=[callback],
            data_collator=padded,
        )  # fmt: skip
    other.train()
    logged = [line["loss"] for line in other.state.log_history if "loss" in line]
    rates = [count / seconds for seconds, count, _ in clock.windows]
    cuda = session.device.type == "cuda"
    return {
        "tokens_per_second": {"trained": statistics.median(rates) if rates else None}, "windows": clock.windows,
        "memory": torch.cuda.max_memory_allocated() if cuda else None, "logged": logged, "options": options,
        "version": transformers.__version__, "steps": other.state.global_step,
    }  # fmt: skip


def padded(rows: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
    """A batch as the usual collators make it."""
    longest = max(len(row["input_ids"]) for row in rows)

    def filled(name: str, value: int) -> torch.Tensor:
        return torch.tensor([[*row[name], *[value] * (longest - len(row[name]))] for row in rows])

    mask = torch.tensor([[1] * len(row["input_ids"]) + [0] * (longest - len(row["input_ids"])) for row in rows])
    return {"input_ids": filled("input_ids", 0), "labels": filled("labels", -100), "attention_mask": mask}


class Clock:
    """Windows of another trainer's steps: (seconds, trained tokens, steps). The device is waited for at their edges."""

    def __init__(self, device: torch.device, count: int, seconds: float) -> None:
        self.device, self.count, self.seconds = device, count, seconds
        self.windows: list[tuple[float, float, int]] = []
        self.tokens: Any = torch.zeros((), dtype=torch.int64, device=device)
        self._since: float | None = None
        self._steps = 0

    def counting(self, base: Any) -> Any:
        """`base` counting trained tokens on the device, and taking examples in their order."""
        clock = self

        class Counting(base):  # type: ignore[misc]
            def compute_loss(self, model: Any, inputs: Any, *rest: Any, **more: Any) -> Any:
                clock.tokens += inputs["labels"].ne(-100).sum()
                return super().compute_loss(model, inputs, *rest, **more)

            def _get_train_sampler(self, *_: Any) -> Any:
                return torch.utils.data.SequentialSampler(self.train_dataset)

        return Counting

    def callback(self, base: Any) -> Any:
        """What is told of every step, and ends the training."""
        clock = self

        class Watching(base):  # type: ignore[misc]
            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
                control.should_training_stop = control.should_training_stop or clock.step(state.global_step)
                return control

        return Watching()

    def step(self, number: int) -> bool:
        """After each step; the first five are warming up, which compiling ends in."""
        if self.count >= 10**6 or number < 5:
            return False
        now = time.perf_counter()
        self._steps += 1
        if self._since is not None and now - self._since < self.seconds:
            return False
        wait(self.device)
        now = time.perf_counter()
        if self._since is not None:
            self.windows.append((now - self._since, float(self.tokens), self._steps))
        self.tokens.zero_()
        self._since, self._steps = now, 0
        return len(self.windows) >= self.count


def shown(session: Session, sides: list[str]) -> list[str]:
    """The table."""
    lines = ["%-40s %12s %8s %8s  %s" % ("", "trained/s", "of ours", "GiB", "rounds")]
    rates: dict[str, list[float]] = {}
    for side in sides:
        rows = [row for name, row in session.rows.items() if name.startswith(side + ", round")]
        found = [row["tokens_per_second"]["trained"] for row in rows if row.get("tokens_per_second")]
        rates[side] = [rate for rate in found if rate]
        if not rates[side]:
            lines.append("%-40s %s" % (side, why(rows[0], 80) if rows else ""))
            continue
        rate, ours = statistics.median(rates[side]), rates.get("trainer") or [float("nan")]
        memory = max((row.get("memory") or 0) for row in rows) / 2**30
        shares = " ".join("%.0f" % one for one in rates[side])
        lines.append("%-40s %12.0f %7.2fx %8.1f  %s" % (side, rate, rate / statistics.median(ours), memory, shares))
    for precision in ("float32", "bfloat16"):
        row = session.rows.get("losses " + precision, {})
        if "agrees" in row:
            word = "equal" if row["agrees"] else "NOT EQUAL"
            line = "losses of %s by both: %s (largest difference %.1e, mean %+.1e)"
            lines.append(line % (precision, word, row["largest"], row["mean"]))
        elif row:
            lines.append("losses of %s: %s" % (precision, why(row, 90)))
    return lines
