"""transformers' Trainer on padded chats of very different lengths, with accumulation and a loader worker."""

import sys
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments

STEPS = 30


class Chats(torch.utils.data.Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> Any:
        length = 8 if index % 4 else 64
        ids = torch.full((64,), 0)
        ids[:length] = torch.arange(length) % 50 + 1
        labels = ids.masked_fill(ids == 0, -100)
        return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": labels}


def main() -> None:
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "intermediate_size": 64, "vocab_size": 64}
    config = AutoConfig.for_model("llama", **heads, **sizes)
    arguments = TrainingArguments(
        output_dir=sys.argv[1], max_steps=STEPS, per_device_train_batch_size=4, gradient_accumulation_steps=2,
        report_to=[], save_strategy="no", logging_steps=10, use_cpu=True, disable_tqdm=True, dataloader_num_workers=1,
    )  # fmt: skip
    Trainer(model=AutoModelForCausalLM.from_config(config), args=arguments, train_dataset=Chats()).train()


if __name__ == "__main__":
    main()
