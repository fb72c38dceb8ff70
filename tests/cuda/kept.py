"""What a layer of each family keeps for its backward pass, counted.

    python -m tests.cuda.kept [FAMILY ...] [--kinds KIND,...]

Small models of every family are built by the trainer, on the CPU and on the device that is not there, and counted by
its own counter (`trainer.model.memory`). What they keep per token is linear in their sizes, so a few shapes tell the
factors; `trainer/model/kept.json` holds them, and the doctor reads it. The residuals are printed: they stay below 1 %.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = ROOT / "trainer" / "model" / "kept.json"
FAMILIES = (
    "llama", "mistral", "qwen2", "qwen3", "phi3", "gemma", "olmo2", "smollm3", "granite", "starcoder2", "gpt_neox",
)  # fmt: skip
COLUMNS = ("hidden", "query", "key", "inner", "heads", "one", "rank")
# hidden, heads, keys, width of a head, inner, rank of adapters
SHAPES = (
    (128, 4, 2, 32, 192, 8), (256, 4, 2, 32, 192, 8), (128, 8, 2, 32, 192, 8), (128, 4, 4, 32, 192, 16),
    (128, 4, 2, 64, 192, 8), (128, 4, 2, 32, 448, 8), (384, 6, 3, 64, 640, 24), (192, 6, 2, 32, 320, 16),
    (256, 8, 4, 32, 704, 8),
)  # fmt: skip
# One width for queries and residual stream, and no shared keys.
TOGETHER = ((128, 4, 0, 0, 192, 8), (256, 4, 0, 0, 192, 8), (128, 8, 0, 0, 192, 8), (128, 4, 0, 0, 448, 16),
            (384, 6, 0, 0, 640, 24), (192, 6, 0, 0, 320, 16))  # fmt: skip
ATTENTION = {"cuda bfloat16": "varlen", "cuda float16": "documents", "cuda float32": "documents"}


def config(family: str, sizes: tuple[int, ...], layers: int = 2) -> dict[str, Any]:
    hidden, heads, keys, width, inner, _ = sizes
    made = {
        "model_type": family, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": keys or heads, "intermediate_size": inner, "vocab_size": 512,
        "max_position_embeddings": 4096, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None,
        "attention_dropout": 0.0, "hidden_dropout": 0.0, "residual_dropout": 0.0, "embedding_dropout": 0.0,
    }  # fmt: skip
    return {**made, "head_dim": width} if width else made


def shapes(family: str) -> tuple[tuple[int, ...], ...]:
    if family == "gpt_neox":
        return TOGETHER
    # Families whose heads are as wide as the residual stream leaves them.
    fixed = family in ("phi3", "starcoder2", "olmo2", "granite", "qwen2")
    return tuple((*one[:3], 0, *one[4:]) for one in SHAPES if one[0] % one[1] == 0) if fixed else SHAPES


def counted(family: str, key: str) -> dict[str, Any]:
    """The factors of one family, device, precision and kind; those that the shapes cannot tell apart share."""
    import numpy as np

    device, precision, *lora = key.split()
    rows, found = [], []
    for sizes in shapes(family):
        hidden, heads, keys, width, inner, rank = sizes
        width, keys = width or hidden // heads, keys or heads
        what = of_layer(family, sizes, device, precision, rank if lora else 0)
        rows.append([hidden, heads * width, keys * width, inner, heads, 1, rank if lora else 0])
        found.append(what if device == "cuda" else what[:3])  # elsewhere no layer is computed again in part
    table, values = np.array(rows, float), np.array(found)
    factors = np.linalg.lstsq(table, values, rcond=1e-9)[0]
    off = np.abs(table @ factors - values).max(0) / np.maximum(values.max(0), 1)
    print(f"{family:<12}{key:<22}off by {off.max():.2%} at most", file=sys.stderr, flush=True)
    row: dict[str, Any] = {
        what: {name: round(float(x), 3) for name, x in zip(COLUMNS, column, strict=True) if abs(x) > 5e-4}
        for what, column in zip(("inside", "outside", "entry", "products"), factors.T, strict=False)
    }
    return {**row, "off": round(float(off.max()), 4)}


def of_layer(family: str, sizes: tuple[int, ...], device: str, precision: str, rank: int) -> tuple[float, ...]:
    """Bytes per token: within a layer, around all of them, as a layer's input, and of its products and attention.

    With adapters the first layer keeps less, since no gradient goes on to the frozen embedding: it is not typical.
    """
    inside, outside, entry, products = _model(family, sizes, device, precision, rank, layers=2)
    if not rank:
        return inside / 2, outside, entry / 2, products / 2
    further = _model(family, sizes, device, precision, rank, layers=3)
    return further[0] - inside, outside, further[2] - entry, further[3] - products


def _model(
    family: str, sizes: tuple[int, ...], device: str, precision: str, rank: int, layers: int
) -> tuple[float, float, float, float]:
    from trainer.model import memory
    from trainer.model.build import build
    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.json")
        path.write_text(json.dumps(config(family, sizes, layers)), "utf-8")
        attention = ATTENTION.get(f"{device} {precision}", "documents")
        values = {"model_config": str(path), "device": device, "precision": precision, "threads": 1,
                  "attention": attention, "lora_rank": rank}  # fmt: skip
        with _on(device):
            trainee = build(from_mapping(values, "count"), None)
            with trainee.held:
                Sft().adapt(trainee, from_mapping(values, "count"))
                return memory._bytes_kept(trainee)


@contextmanager
def _on(device: str) -> Iterator[None]:
    if device == "cpu":
        yield
        return
    import torch

    from tests.cuda.adapter import comparing
    from tests.cuda.device import PretendMode
    from tests.cuda.processes import of_several
    from tests.cuda.watch import Watch

    watch, address = Watch(), torch.UntypedStorage.data_ptr
    watch.tolerant = True
    DEVICE[0].waits = watch.waited
    torch.UntypedStorage.data_ptr = lambda storage: storage._cdata  # type: ignore[method-assign]
    try:
        with of_several(0, 1), comparing(), PretendMode(), watch:
            yield
    finally:
        torch.UntypedStorage.data_ptr = address  # type: ignore[method-assign]


DEVICE: list[Any] = []


def child(keys: list[str], families: list[str]) -> None:
    """Count here, and answer with JSON lines."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if any(key.startswith("cuda") for key in keys):
        from tests.cuda.chips import CHIPS
        from tests.cuda.device import Device

        DEVICE.append(Device(lambda what: None))
        DEVICE[0].appear(CHIPS["H100"])
    import torch

    torch.set_num_threads(1)
    for family in families:
        for key in keys:
            try:
                answers.write(json.dumps([family, key, counted(family, key)]) + "\n")
            except Exception as error:  # noqa: BLE001 - told; the family then has no such row
                print(f"{family} {key}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)
            answers.flush()


def main(families: list[str], only: list[str]) -> None:
    """Both devices, each in a child of its own; what was counted goes into the table. `only`: these kinds, or all."""
    from tests.cuda import environment

    kept = environment.ensure(environment.default_folder(), sys.executable)
    kinds = [f"{precision}{lora}" for precision in ("float32", "bfloat16", "float16") for lora in ("", " lora")]
    table = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {"families": {}}
    for python, variables, device in (
        (str(kept.python), kept.variables(ROOT), "cuda"),
        (sys.executable, {**os.environ, "PYTHONPATH": str(ROOT)}, "cpu"),
    ):
        keys = [f"{device} {kind}" for kind in kinds if device == "cuda" or not kind.startswith("float16")]
        keys = [key for key in keys if not only or key in only]
        if not keys:
            continue
        command = [python, "-W", "ignore", "-m", "tests.cuda.kept", "--child", ",".join(keys), *families]
        done = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True)
        assert done.stdout is not None
        for line in done.stdout:
            family, key, row = json.loads(line)
            table["families"].setdefault(family, {})[key] = row
            table["about"] = "bytes that one layer keeps per token; made by: python -m tests.cuda.kept"
            table["families"] = dict(sorted(table["families"].items()))
            TABLE.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
        done.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2].split(","), sys.argv[3:])
    else:
        words = sys.argv[1:]
        only = words.pop(words.index("--kinds") + 1).split(",") if "--kinds" in words else []
        main([word for word in words if word != "--kinds"] or list(FAMILIES), only)
