"""The tasks.

A task is one module here with the functions of `trainer.task.Task`; a line in this table is all the wiring there
is.
"""

from __future__ import annotations

from typing import Dict, Tuple

# name -> (module, one line for --help, an example command)
TASKS: Dict[str, Tuple[str, str, str]] = {
    "sft": (
        "trainer.tasks.sft",
        "supervised fine-tuning on prompt/completion pairs or chats",
        "python -m trainer sft --model MODEL_FOLDER --data chats.jsonl --learning_rate 1e-5 --epochs 3",
    ),
    "gritlm": (
        "trainer.tasks.gritlm",
        "one model that embeds and generates: query/passage pairs together with fine-tuning examples",
        "python -m trainer gritlm --model MODEL_FOLDER --data pairs.jsonl chats.jsonl --learning_rate 2e-5",
    ),
    "rft": (
        "trainer.tasks.rft",
        "rejection fine-tuning: sample answers, keep the right ones, train adapters on them",
        "python -m trainer rft --model MODEL_FOLDER --data prompts.jsonl --checker numeric --learning_rate 2e-4",
    ),
    "pretrain": (
        "trainer.tasks.pretrain",
        "pretraining on token shards that `prepare` has written",
        "python -m trainer pretrain --preset production --model_config CONFIG.json --tokenizer FOLDER --data SHARDS",
    ),
}
