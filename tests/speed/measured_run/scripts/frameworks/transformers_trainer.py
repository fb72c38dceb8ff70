"""transformers.Trainer with accumulation and a callback that prints every step."""
# mypy: ignore-errors

import sys
from typing import Any

from local_model import chats, model, tokenizer
from transformers import DataCollatorForLanguageModeling, Trainer, TrainerCallback, TrainingArguments


class Printer(TrainerCallback):
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        print(f"step {state.global_step}", flush=True)


def main() -> None:
    words = tokenizer()
    rows = [words(words.apply_chat_template(row["messages"], tokenize=False)) for row in chats(3000)]
    arguments = TrainingArguments(
        output_dir=sys.argv[1], max_steps=150, per_device_train_batch_size=4, gradient_accumulation_steps=2,
        report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True, logging_steps=50,
    )  # fmt: skip
    Trainer(
        model=model(),
        args=arguments,
        train_dataset=rows,
        data_collator=DataCollatorForLanguageModeling(words, mlm=False),
        callbacks=[Printer()],
    ).train()


if __name__ == "__main__":
    main()
