"""The memory that real runs of the trainer take on a CPU: python -m tests.benchmarks.memory [--times N] [NAME ...]

Each run is a process of its own, with a model of random weights made from a configuration, two steps and a checkpoint;
its peak is the kernel's count of resident memory. The record, `recorded/memory.json`, is what
`tests/models/test_memory.py` holds the doctor's estimate against: the highest of several runs.

Runs of the same configuration differ where nothing is computed again: by up to a tenth, with adapters in float32 by up
to a fifth. It is malloc's heap: blocks below 32 MiB lie in it, and which hole takes which block depends on what was
freed a moment before. Mapped files are the same to a megabyte, one thread and one arena change nothing, and with
MALLOC_MMAP_THRESHOLD_=1048576, which keeps such blocks out of the heap, four runs of "middle float32" took 1,159 to
1,160 MB; without, 1,249 to 1,379. That the trainer does not set it has a reason: ten steps had eight times the page
faults (3.9 million for 0.5), 6.2 s of the kernel's time for 1.8, and in one pair of runs each, on a machine that others
used, took a fifth more CPU time ("large float32, adapters" too). A threshold of 8 MiB left the peak where it was. So
the heap is kept where memory is not short, the estimate holds for the highest of several runs, and where layers are
computed again, which is done where memory is short, the threshold is set (`trainer/compute/hostmemory.py`): runs differ
by 2 % there.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = Path(__file__).parent / "recorded" / "memory.json"
BUNDLED = ROOT / "trainer" / "data" / "bundled"


def shape(
    hidden: int, layers: int, heads: int, keys: int, inner: int, vocabulary: int = 2048, family: str = "llama",
    **more: Any,
) -> dict[str, Any]:  # fmt: skip
    return {
        "model_type": family, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": keys, "intermediate_size": inner, "vocab_size": vocabulary,
        "max_position_embeddings": 16384, "tie_word_embeddings": True, "pad_token_id": 0, "eos_token_id": 1,
        "bos_token_id": None, **more,
    }  # fmt: skip


WIDE, DEEP = shape(768, 4, 12, 4, 2048), shape(320, 14, 5, 5, 864)
MIDDLE, LARGE = shape(512, 6, 8, 4, 1408), shape(1024, 8, 16, 8, 2816)
MANY = shape(384, 4, 6, 2, 1024, 49152)
RUNS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "middle float32": ("sft", MIDDLE, {"precision": "float32", "tokens_per_row": 2048}),
    "middle bfloat16": ("sft", MIDDLE, {"precision": "bfloat16", "tokens_per_row": 3072}),
    "middle float32, every layer": (
        "sft", MIDDLE, {"precision": "float32", "tokens_per_row": 4096, "recompute": "full"},
    ),
    "middle float32, every other": (
        "sft", MIDDLE, {"precision": "float32", "tokens_per_row": 3072, "recompute": "alternate"},
    ),
    "wide float32": ("sft", WIDE, {"precision": "float32", "tokens_per_row": 1024}),
    "wide bfloat16, every layer": ("sft", WIDE, {"precision": "bfloat16", "tokens_per_row": 4096, "recompute": "full"}),
    "deep float32": ("sft", DEEP, {"precision": "float32", "tokens_per_row": 1536}),
    "deep bfloat16, every other": (
        "sft", DEEP, {"precision": "bfloat16", "tokens_per_row": 2048, "recompute": "alternate"},
    ),
    "large float32, adapters": ("sft", LARGE, {"precision": "float32", "tokens_per_row": 1024, "lora_rank": 16}),
    "large bfloat16, adapters": ("sft", LARGE, {"precision": "bfloat16", "tokens_per_row": 1024, "lora_rank": 8}),
    "large float32, short rows": ("sft", LARGE, {"precision": "float32", "tokens_per_row": 512}),
    "many words float32": ("sft", MANY, {"precision": "float32", "tokens_per_row": 1024}),
    "many words bfloat16": ("sft", MANY, {"precision": "bfloat16", "tokens_per_row": 2048}),
    "accumulated": ("sft", MIDDLE, {"precision": "float32", "tokens_per_row": 1024, "accumulate": 2}),
    "accumulated bfloat16, wide": (
        "sft", WIDE, {"precision": "bfloat16", "tokens_per_row": 1536, "accumulate": 3},
    ),
    "pretrain float32": (
        "pretrain", MIDDLE, {"precision": "float32", "tokens_per_row": 512, "examples_per_batch": 4},
    ),
    "qwen3 float32": (
        "sft", shape(512, 6, 8, 4, 1408, family="qwen3", head_dim=64), {"precision": "float32", "tokens_per_row": 2048},
    ),
}  # fmt: skip


def run(name: str, folder: Path) -> dict[str, Any]:
    """The report of one run: its peak, tokens and weights. RuntimeError when it failed."""
    task, config, settings = RUNS[name]
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    data = [str(BUNDLED / "chat.jsonl")] if task == "sft" else [str(_shards(folder))]
    values: dict[str, Any] = {
        "model_config": str(folder / "config.json"), "tokenizer": str(BUNDLED / "tokenizer"),
        "output": str(folder / "run"), "cache": str(folder / "tokens"), "resume": "never", "save_model": False,
        "max_steps": 2, "device": "cpu", "compile": "off", "recompute": "none", "threads": 2,
        "loader_workers": 0, **({"over_long": "skip"} if task == "sft" else {}), **settings,
    }  # fmt: skip
    words = [word for key, value in values.items() for word in (f"--{key}", _word(value))]
    report = folder / "report.json"
    command = [sys.executable, "-m", "trainer", task, *words, "--data", *data, "--report", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(report.read_text("utf-8")) if report.exists() else {"error": done.stderr[-2000:]}
    if found.get("error"):
        raise RuntimeError(f"{name}: {found['error']}")
    tokens = found["tokens_per_step"]
    return {
        "name": name, "task": task, "config": config, "settings": settings, "peak": found["memory"]["peak_rss"],
        "parameters": found["model"]["parameters"], "trained_share": round(tokens["trained"] / tokens["slots"], 3),
        "slots": tokens["slots"],
    }  # fmt: skip


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shards(folder: Path) -> Path:
    texts = BUNDLED / "texts.jsonl"
    command = [
        sys.executable,
        "-m",
        "trainer",
        "prepare",
        "--data",
        str(texts),
        "--tokenizer",
        str(BUNDLED / "tokenizer"),
    ]
    subprocess.run([*command, "--output", str(folder / "shards")], cwd=ROOT, check=True, capture_output=True)
    return folder / "shards"


def main(names: list[str], times: int) -> None:
    """Run those named, or all, and add the peak of each run to the record as it ends."""
    for name in names or RUNS:
        for _ in range(times):
            folder = Path(tempfile.mkdtemp(prefix="memory-"))
            try:
                peaks = _recorded(run(name, folder))
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        print(f"{name:<32}{min(peaks) / 1e6:>8.0f} to {max(peaks) / 1e6:.0f} MB, {len(peaks)} runs", flush=True)


def _recorded(found: dict[str, Any]) -> list[int]:
    """All peaks of this configuration in the record, the new one too; those of other packages are forgotten."""
    import torch
    import transformers

    versions = {
        "python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__,
    }  # fmt: skip
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"runs": []}
    same = (found["config"], found["settings"])
    before = [
        one for one in record["runs"]
        if one["name"] == found["name"] and (one["config"], one["settings"]) == same and record["versions"] == versions
    ]  # fmt: skip
    peaks = [peak for one in before for peak in one.get("peaks", [one["peak"]])] + [found["peak"]]
    found = {**found, "peak": max(peaks), "peaks": peaks}
    record |= {"made_by": "python -m tests.benchmarks.memory", "versions": versions}
    record["runs"] = [*(one for one in record["runs"] if one["name"] != found["name"]), found]
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return peaks


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="NAME", help=f"Default: all of {', '.join(RUNS)}")
    parser.add_argument(
        "--times", type=int, default=4, metavar="N", help="Runs of each, added to those recorded. Default: %(default)s"
    )
    found = parser.parse_args()
    main(found.runs, max(1, found.times))
