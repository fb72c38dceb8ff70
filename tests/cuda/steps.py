"""The child: reads set-ups as JSON lines, runs each on the device that is not there, answers with a JSON line.

python -m tests.cuda.steps FOLDER < set-ups > answers
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from tests.cuda.chips import CHIPS
from tests.cuda.device import Device, PretendMode
from tests.cuda.setups import SHAPES, SetUp
from tests.cuda.watch import Through, Watch

STEPS, EVERY = 4, 3  # the first, third and last end in a log
CHATS = 600


def answered(set_up: SetUp, device: Device, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """What the run did, or why it could not; and the kernels that Inductor wrote, by name."""
    from tests.cuda import adapter, flashattn, inductor
    from tests.cuda.processes import of_several

    begun = time.perf_counter()
    is_compiled = set_up.values.get("compile") == "on" or set_up.values.get("attention") == "flex"
    watch = Through() if is_compiled else Watch()
    texts: dict[str, str] = {}
    watch.tolerant = set_up.tolerant
    device.waits = watch.waited
    device.appear(CHIPS[set_up.chip])
    trial = adapter.Trial(watch)
    answer: dict[str, Any] = {"error": None}
    adapter.chunk_bytes(set_up.loss_chunk or adapter.CHUNK_BYTES)
    values = settings_of(set_up, folder)
    try:
        with (
            of_several(set_up.rank, set_up.world), noted_launches(set_up, watch),
            flashattn.installed(set_up.values.get("attention")),
            inductor.compiling(device, watch) if is_compiled else nullcontext(texts) as texts, PretendMode(), watch,
        ):  # fmt: skip
            trial.execute(set_up.task, values)
    except Exception as error:  # noqa: BLE001 - the parent decides what it means
        answer["error"] = {"type": type(error).__name__, "text": str(error)[:2000], "at": traceback.format_exc()}
    finally:
        adapter.chunk_bytes(adapter.CHUNK_BYTES)
    found = {
        **answer, **watch.report(), "need": trial.need._asdict() if trial.need else None, "shapes": trial.shapes,
        "estimates": trial.estimates, "formula": trial.formula, "slots": trial.slots,
        "held": trial.held, "built": trial.built, "ended": trial.ended, "checkpoint": trial.checkpoint,
        "saved": trial.saved, "choices": trial.choices, "reasons": trial.reasons,
        "seconds": time.perf_counter() - begun,
    }  # fmt: skip
    return found, texts


@contextmanager
def noted_launches(set_up: SetUp, watch: Watch) -> Iterator[None]:
    """Triton's kernels, which only Liger's functions launch here: noted, since there is nothing to load them."""
    if set_up.values.get("liger", "off") == "off":
        yield
        return
    from triton.runtime.jit import JITFunction

    def run(kernel: Any, *args: Any, **kwargs: Any) -> None:
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        watch.launched(kernel.__name__, tensors)

    before, JITFunction.run = JITFunction.run, run
    try:
        yield
    finally:
        JITFunction.run = before


def settings_of(set_up: SetUp, folder: Path) -> dict[str, Any]:
    """The trainer's settings: what all set-ups share, the task's data, and what the set-up says."""
    config = folder / (set_up.shape + ".json")
    config.write_text(json.dumps(SHAPES[set_up.shape]), "utf-8")
    rows = set_up.values.get("tokens_per_row", 1024)
    values: dict[str, Any] = {
        "model_config": str(config), "output": str(folder / "run"), "cache": str(folder / "tokens"), "device": "cuda",
        "resume": "never", "save_model": False, "tokens_per_row": rows, "max_steps": STEPS, "epochs": 100,
        "log_every": EVERY, "loader_workers": 0, "tokenize_workers": 1, "threads": 1,
        "compile": "off", "recompute": "none",
    }  # fmt: skip
    if set_up.task != "pretrain":
        values["over_long"] = "skip"
    if "quantize" in set_up.values:
        del values["model_config"]
        values["model"] = saved(set_up.shape, folder)
    return {**values, **data_of(set_up.task, rows, folder), **set_up.values}


def saved(shape: str, folder: Path) -> str:
    """A model of that shape on disk, with content."""
    from transformers import AutoConfig, AutoModelForCausalLM

    place, values = folder / f"{shape}-saved", dict(SHAPES[shape])
    if not place.exists():
        torch.manual_seed(0)
        AutoModelForCausalLM.from_config(AutoConfig.for_model(values.pop("model_type"), **values)).save_pretrained(
            place
        )
    return str(place)


def data_of(task: str, rows: int, folder: Path) -> dict[str, Any]:
    """The settings that name a task's data, which is made of the bundled chats and sums."""
    from tests.cuda import adapter

    lines = adapter.lines_of_chats(CHATS)
    chats = _written(folder / "chats.jsonl", lines)
    found: dict[str, Any] = {"tokenizer": adapter.TOKENIZER, "data": [chats]}
    if task == "gritlm":
        found["data"] = [_written(folder / "pairs.jsonl", map(json.dumps, _pairs(lines))), chats]
        found["pairs_per_batch"] = 4
    elif task == "rft":
        found.update(data=[adapter.SUMS], checker="numeric", samples_per_prompt=1)
    elif task == "pretrain":
        found["data"] = [_shards(lines, rows, folder)]
    return found


def _pairs(lines: list[str]) -> list[dict[str, Any]]:
    """Each chat's first question and answer, with the next chats' answers as hard negatives."""
    turns = [[turn for turn in json.loads(line)["messages"] if turn["role"] != "system"] for line in lines]
    answers = [turn[1]["content"] for turn in turns]
    return [
        {
            "query": ["Find the answer", turn[0]["content"]], "positives": [answers[place]],
            "negatives": [answers[(place + step) % len(answers)] for step in range(1, 5)],
        }
        for place, turn in enumerate(turns)
    ]  # fmt: skip


def _shards(lines: list[str], rows: int, folder: Path) -> str:
    """Documents as long as four rows, so that attention spans whole rows."""
    from tests.cuda import adapter

    place = folder / f"shards-{rows}"
    if not place.exists():
        place.mkdir()
        text = "\n".join(turn["content"] for line in lines for turn in json.loads(line)["messages"])
        size = 16 * rows  # characters: the bundled tokenizer makes a token of about four
        texts = [json.dumps({"text": text[start : start + size]}) for start in range(0, len(text), size)]
        adapter.shards(_written(place / "texts.jsonl", texts), place / "shards")
    return str(place / "shards")


def _written(path: Path, lines: Any) -> str:
    if not path.exists():
        path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return str(path)


def main() -> None:
    """Answer until there are no more questions; what the trainer prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    folder = Path(sys.argv[1])
    device = Device(lambda what: None)
    for line in sys.stdin:
        answer, _ = answered(SetUp(**json.loads(line)), device, folder)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
