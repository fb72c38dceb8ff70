"""TRL's SFTTrainer on conversations, with LoRA-free full tuning, and a callback that prints every step."""
# mypy: ignore-errors

import sys
from typing import Any

from datasets import Dataset
from local_model import chats, model, tokenizer
from transformers import TrainerCallback
from trl import SFTConfig, SFTTrainer


class Printer(TrainerCallback):
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        print(f"step {state.global_step}", flush=True)


def main() -> None:
    arguments = SFTConfig(
        output_dir=sys.argv[1], max_steps=150, per_device_train_batch_size=4, report_to=[], save_strategy="no",
        use_cpu=True, bf16=False, disable_tqdm=True, logging_steps=50, max_length=128,
    )  # fmt: skip
    SFTTrainer(
        model=model(),
        args=arguments,
        train_dataset=Dataset.from_list(chats(800)),
        processing_class=tokenizer(),
        callbacks=[Printer()],
    ).train()


if __name__ == "__main__":
    main()
