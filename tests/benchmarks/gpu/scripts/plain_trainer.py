"""transformers' Trainer on random token rows: `plain_trainer.py ANSWER STEPS DEVICE [toy]` times its steps."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments


def main(answer: str, steps: int, device: str, toy: bool) -> None:
    torch.manual_seed(0)
    width, layers, length, batch = (64, 2, 64, 2) if toy else (576, 30, 1024, 8)
    config = AutoConfig.for_model(
        "llama", hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64 or 1,
        num_key_value_heads=width // 192 or 1, intermediate_size=width * 8 // 3, vocab_size=2048 if toy else 49152,
        tie_word_embeddings=True,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config)
    rows = [torch.randint(config.vocab_size, (length,)) for _ in range(64)]
    ends: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc,unused-ignore]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            if device == "cuda":
                torch.cuda.synchronize()
            ends.append(time.perf_counter())

    arguments = TrainingArguments(
        output_dir=answer + ".run", per_device_train_batch_size=batch, max_steps=steps, bf16=device == "cuda",
        use_cpu=device == "cpu", report_to=[], save_strategy="no", disable_tqdm=True, remove_unused_columns=False,
    )  # fmt: skip

    def collate(items: Any) -> Any:
        ids = torch.stack(list(items))
        return {"input_ids": ids, "labels": ids}

    Trainer(model=model, args=arguments, train_dataset=rows, data_collator=collate, callbacks=[Clock()]).train()
    with open(answer, "w", encoding="ascii") as stream:
        json.dump([after - before for before, after in zip(ends, ends[1:])], stream)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], "toy" in sys.argv[4:])
