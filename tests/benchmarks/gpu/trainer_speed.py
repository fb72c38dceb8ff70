"""The trainer's tasks at several sizes: tokens/s, MFU, memory, where the step goes, idle share, top kernels.

LoRA's frozen weights are counted with 4 FLOPs per token, not 6 (trainer/compute/flops.py): with 6 its MFU would be
half again as large.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from trainer.measure.protocol import Protocol

from tests.benchmarks.gpu import runs
from tests.benchmarks.gpu.session import Session, why

Variant = tuple[str, str, str, dict[str, Any], float]  # name, task, shape, settings, seconds it takes

FULL: list[Variant] = [
    ("sft 0.15b 16384", "sft", "0.15b", {"tokens_per_row": 16384}, 20),
    ("sft 1b 16384", "sft", "1b", {"tokens_per_row": 16384}, 30),
    ("lora 8b 8192", "sft", "8b", {"tokens_per_row": 8192, "lora_rank": 16, "learning_rate": 1e-4}, 45),
    ("pretrain 1b 8192 dense", "pretrain", "1b", {"tokens_per_row": 8192, "examples_per_batch": 2}, 30),
    ("sft 0.15b 16384 compiled", "sft", "0.15b", {"tokens_per_row": 16384, "compile": True}, 60),
    ("sft 1b 16384 compiled", "sft", "1b", {"tokens_per_row": 16384, "compile": True}, 70),
    ("gritlm 0.15b 8192", "gritlm", "0.15b", {"tokens_per_row": 8192}, 25),
    ("sft 0.15b 2048", "sft", "0.15b", {"tokens_per_row": 2048}, 20),
    ("sft 1b 2048", "sft", "1b", {"tokens_per_row": 2048}, 25),
    ("sft 1b 8192 recompute", "sft", "1b", {"tokens_per_row": 8192, "recompute": True}, 25),
    ("lora 1b 16384", "sft", "1b", {"tokens_per_row": 16384, "lora_rank": 16}, 25),
    ("lora 8b 8192 compiled", "sft", "8b", {"tokens_per_row": 8192, "lora_rank": 16, "compile": True}, 80),
    ("lora 8b 2048", "sft", "8b", {"tokens_per_row": 2048, "lora_rank": 16}, 35),
    ("pretrain 0.15b 8192 dense", "pretrain", "0.15b", {"tokens_per_row": 8192, "examples_per_batch": 4}, 25),
]
TOY: list[Variant] = [
    ("sft toy", "sft", "toy", {}, 0),
    ("lora toy", "sft", "toy", {"lora_rank": 4}, 0),
    ("gritlm toy", "gritlm", "toy", {}, 0),
    ("pretrain toy", "pretrain", "toy", {"examples_per_batch": 2}, 0),
    ("rft toy", "rft", "toy", {"lora_rank": 4}, 0),
    ("impossible", "sft", "toy", {"attention": "varlen"}, 0),
]


def measure(session: Session) -> None:
    """Each variant is built, warmed up, timed in windows, then profiled for a few steps more."""
    with tempfile.TemporaryDirectory() as folder:
        for variant in session.pick(TOY, [*FULL, ("rft 0.15b", "rft", "0.15b", {"tokens_per_row": 4096}, 45)]):
            session.attempt(variant[0], lambda v=variant: one(session, v, Path(folder)), variant[4])  # type: ignore[misc]
    session.table(shown(session))


def protocol(session: Session) -> Protocol:
    """Windows of a second: long against the host's jitter, short against the machine's time."""
    if not session.full:
        return Protocol(windows=2, window_seconds=0.05, max_warmup_seconds=1.0, max_seconds=2.0)
    return Protocol(windows=8, window_seconds=0.75, warmup_tolerance=0.03, max_warmup_seconds=4.0, max_seconds=12.0)


def one(session: Session, variant: Variant, folder: Path) -> dict[str, Any]:
    """The row of one variant."""
    name, task_name, shape_name, values, _ = variant
    given: dict[str, Any] = {
        "tokens_per_row": 1024, "output": str(folder / name.replace(" ", "-")), "cache": str(folder / "cache"),
        "threads": session.pick(1, 0), "learning_rate": 1e-5, "over_long": "skip", **values,
    }  # fmt: skip
    if task_name == "rft":
        return sampled(session, given, shape_name)
    chats = session.pick(40, None)
    given.update(runs.data_for(task_name, folder, shape_name, given["tokens_per_row"], chats))
    with runs.run_of(task_name, given, shape_name, session.device, {}) as run:
        first = runs.warm(run, session.pick(1, 3))  # loading kernels and compiling is told apart from warming up
        row = runs.timed(run, protocol(session))
        row["first_steps_seconds"] = first
        row["profile"] = runs.profiled(run, session.pick(2, 4))
    return row


def sampled(session: Session, given: dict[str, Any], shape_name: str) -> dict[str, Any]:
    """Rejection fine-tuning is sampling and supervised training: what it adds is answers, many at a time."""
    from trainer.data.tokenizer import load_tokenizer
    from trainer.options.settings import from_mapping
    from trainer.tasks.answers.sampling import Sampler, plan

    batch, new = session.pick((2, 4), (256, 128))
    work = runs.workload(shape_name)
    values = {"device": session.device.type, "samples_per_prompt": batch, "sample_batch": batch, "max_new_tokens": new}
    settings = from_mapping({**given, **values}, "benchmark")
    tokenizer = load_tokenizer(settings, work)
    sampler = Sampler(settings, work, tokenizer)
    sampler.ends = set()  # random weights end an answer at random; every batch is to have the same work
    prompts = [tokenizer("How many tiles are there in row %d?" % 7)["input_ids"]]
    (wanted,) = plan(prompts, settings)
    seconds: list[float] = []
    for _ in range(session.pick(2, 4)):
        begun = time.perf_counter()
        made = sum(answer.tokens for answer in sampler.answers(wanted))
        seconds.append(time.perf_counter() - begun)
    return {"sampled_per_second": made / statistics.median(seconds[1:]), "batch": batch, "new_tokens": new,
            "seconds": seconds}  # fmt: skip


def shown(session: Session) -> list[str]:
    """The table."""
    heads = ("trained/s", "real/s", "MFU", "GiB", "idle", "fwd", "bwd", "opt", "data", "attention")
    lines = ["%-28s %9s %9s %6s %6s %6s %5s %5s %5s %5s  %s" % ("", *heads)]
    for name, row in session.rows.items():
        if "tokens_per_second" in row:
            rates, parts, idle = row["tokens_per_second"], row["breakdown"], row["profile"]["idle_share"]
            figures = (
                "%.0f" % rates["trained"], "%.0f" % rates["real"], _share(row["mfu"]),
                "%.1f" % ((row["memory"] or 0) / 2**30), _share(idle),
                *(_share(parts[part]) for part in ("forward", "backward", "optimizer", "data")), row["attention"],
            )  # fmt: skip
            lines.append("%-28s %9s %9s %6s %6s %6s %5s %5s %5s %5s  %s" % (name, *figures))
        elif "sampled_per_second" in row:
            lines.append("%-28s %9.0f tokens sampled/s, %d at a time" % (name, row["sampled_per_second"], row["batch"]))
        else:
            lines.append("%-28s %s" % (name, why(row, 90)))
    return lines


def _share(value: Any) -> str:
    return "-" if value is None else "%.1f%%" % (100 * value)
