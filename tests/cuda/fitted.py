"""Peaks counted on a device that is not there, for the doctor's estimate: python -m tests.cuda.fitted [NAME ...]

Whole runs of the trainer, as in `test_steps.py`, of models as wide as real ones and a few layers deep. The record,
`goldens/fit.json`, is what `tests/models/test_memory.py` holds `envdoctor fit` against.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.cuda.setups import SHAPES, SetUp

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = Path(__file__).parent / "goldens" / "fit.json"
DEEP = {"135m": 10, "1b": 4, "8b": 4}  # layers


def _published(family: str, layers: int, sizes: tuple[int, ...], vocabulary: int, **more: Any) -> dict[str, Any]:
    """sizes: hidden, heads, keys, inner."""
    names = ("hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size")
    return {
        "model_type": family, **dict(zip(names, sizes, strict=True)), "num_hidden_layers": layers,
        "vocab_size": vocabulary, "max_position_embeddings": 16384, "pad_token_id": 0, "eos_token_id": 1,
        "bos_token_id": None, **more,
    }  # fmt: skip


# As published, whole or with fewer layers: none of them was looked at when the formula's constants were set.
MODELS: dict[str, dict[str, Any]] = {
    **{name: {**SHAPES[name], "num_hidden_layers": layers} for name, layers in DEEP.items()},
    **{f"{name}, whole": SHAPES[name] for name in DEEP},
    "qwen2 1.5b": _published("qwen2", 8, (1536, 12, 2, 8960), 151936, tie_word_embeddings=True),
    "mistral 7b": _published("mistral", 4, (4096, 32, 8, 14336), 32768, tie_word_embeddings=False),
    "phi3 mini": _published("phi3", 4, (3072, 32, 32, 8192), 32064, tie_word_embeddings=False),
    "qwen3 0.6b": _published("qwen3", 8, (1024, 16, 8, 3072), 151936, head_dim=128, tie_word_embeddings=True),
    "gemma 2b": _published("gemma", 4, (2048, 8, 1, 16384), 256000, head_dim=256),
    "pythia 410m": _published("gpt_neox", 6, (1024, 16, 16, 4096), 50304, tie_word_embeddings=False),
    "starcoder2 3b": _published("starcoder2", 4, (3072, 24, 2, 12288), 49152),
    "olmo2 1b": _published("olmo2", 4, (2048, 16, 16, 8192), 100352, tie_word_embeddings=False),
    "smollm3 3b": _published("smollm3", 4, (2048, 16, 4, 11008), 128256),
    "granite 2b": _published("granite", 4, (2048, 32, 8, 8192), 49152, tie_word_embeddings=True),
}
RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "135m": ("135m", "sft", {"tokens_per_row": 8192}),
    "135m, short rows": ("135m", "sft", {"tokens_per_row": 1024}),
    "135m, every layer": ("135m", "sft", {"tokens_per_row": 16384, "recompute": "full"}),
    "135m, every other layer": ("135m", "sft", {"tokens_per_row": 8192, "recompute": "alternate"}),
    "135m, float32": ("135m", "sft", {"tokens_per_row": 4096, "precision": "float32", "attention": "documents"}),
    "135m, adapters": ("135m", "sft", {"tokens_per_row": 8192, "lora_rank": 16}),
    "135m, accumulated": ("135m", "sft", {"tokens_per_row": 2048, "accumulate": 3}),
    "135m, pretrain": ("135m", "pretrain", {"tokens_per_row": 4096, "examples_per_batch": 2}),
    "1b": ("1b", "sft", {"tokens_per_row": 8192}),
    "1b, every layer": ("1b", "sft", {"tokens_per_row": 16384, "recompute": "full"}),
    "1b, every other layer": ("1b", "sft", {"tokens_per_row": 16384, "recompute": "alternate"}),
    "1b, adapters": ("1b", "sft", {"tokens_per_row": 8192, "lora_rank": 8}),
    "8b, adapters": ("8b", "sft", {"tokens_per_row": 8192, "lora_rank": 16}),
    "8b, adapters, every layer": ("8b", "sft", {"tokens_per_row": 16384, "lora_rank": 64, "recompute": "full"}),
    "8b": ("8b", "sft", {"tokens_per_row": 2048}),
    "qwen2 1.5b": ("qwen2 1.5b", "sft", {"tokens_per_row": 4096}),
    "mistral 7b, adapters": ("mistral 7b", "sft", {"tokens_per_row": 8192, "lora_rank": 16}),
    "phi3 mini, every other layer": ("phi3 mini", "sft", {"tokens_per_row": 4096, "recompute": "alternate"}),
    "qwen3 0.6b": ("qwen3 0.6b", "pretrain", {"tokens_per_row": 4096, "examples_per_batch": 2}),
    "gemma 2b, adapters": ("gemma 2b", "sft", {"tokens_per_row": 4096, "lora_rank": 8}),
    "pythia 410m": ("pythia 410m", "sft", {"tokens_per_row": 8192}),
    "starcoder2 3b, every layer": ("starcoder2 3b", "sft", {"tokens_per_row": 8192, "recompute": "full"}),
    "olmo2 1b": ("olmo2 1b", "sft", {"tokens_per_row": 4096}),
    "smollm3 3b, accumulated": ("smollm3 3b", "sft", {"tokens_per_row": 2048, "accumulate": 2}),
    "granite 2b, adapters": ("granite 2b", "sft", {"tokens_per_row": 8192, "lora_rank": 32}),
    "135m, whole, pretrain": ("135m, whole", "pretrain", {"tokens_per_row": 8192, "examples_per_batch": 2}),
    "1b, whole": ("1b, whole", "sft", {"tokens_per_row": 8192}),
    "8b, whole, adapters": ("8b, whole", "sft", {"tokens_per_row": 4096, "lora_rank": 16}),
}


def child(names: list[str]) -> None:
    """Run here, and answer with JSON lines."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    from tests.cuda.device import Device  # before the trainer is imported

    device = Device(lambda what: None)
    from tests.cuda import steps

    made = steps.settings_of

    def settings_of(set_up: SetUp, folder: Path) -> dict[str, Any]:
        values = {**made(set_up, folder), "max_steps": 2}
        return {name: value for name, value in values.items() if name != "pairs_per_batch"}

    steps.settings_of = settings_of
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            shape, task, values = RUNS[name]
            SHAPES[f"{shape} of few"] = config = MODELS[shape]
            values = {"precision": "bfloat16", "attention": "varlen", "recompute": "none", **values}
            found = steps.answered(SetUp(task, values, f"{shape} of few"), device, Path(folder))
            if found["error"]:
                print(name, found["error"]["at"], file=sys.stderr, flush=True)
                continue
            place = max(range(len(found["steps"])), key=lambda step: found["steps"][step]["peak"])
            slots, trained = (max(one[what] for one in found["shapes"][place]) for what in (0, 1))
            run = {
                "name": name, "task": task, "config": config, "settings": values,
                "peak": found["steps"][place]["peak"], "micro_batch": slots, "trained_share": round(trained / slots, 4),
                "trainers_estimate": round(found["estimates"][place]),
            }  # fmt: skip
            answers.write(json.dumps(run) + "\n")
            answers.flush()


def main(names: list[str]) -> None:
    """In the kept environment; what is counted goes into the record as it comes, and is held against the estimate."""
    from tests.cuda import environment
    from tests.models.test_memory import tensors

    kept = environment.ensure(environment.default_folder(), sys.executable)
    command = [str(kept.python), "-W", "ignore", "-m", "tests.cuda.fitted", "--child", *names]
    done = subprocess.Popen(command, cwd=ROOT, env=kept.variables(ROOT), stdout=subprocess.PIPE, text=True)
    assert done.stdout is not None
    for line in done.stdout:
        run = json.loads(line)
        record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"runs": []}
        record["made_by"] = "python -m tests.cuda.fitted"
        found = {one["name"]: one for one in [*record["runs"], run]}
        record["runs"] = [found[name] for name in RUNS if name in found]
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        ratio = tensors(run) / run["peak"]
        print(f"{run['name']:<32}{run['peak'] / 1e9:>8.2f} GB   estimate / peak {ratio:.3f}", flush=True)
    done.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
    else:
        main(sys.argv[1:] or list(RUNS))
