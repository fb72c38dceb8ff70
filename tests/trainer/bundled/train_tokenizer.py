"""Writes tokenizer/: a byte-level BPE of at most 2,048 tokens, trained on chat.jsonl, with a chat template.

python -m tests.trainer.bundled.train_tokenizer
"""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from trainer.data.workloads import DATA

SPECIAL = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def write(folder: Path) -> None:
    """Write the tokenizer into `folder`."""
    texts = []
    for line in (DATA / "chat.jsonl").read_text(encoding="utf-8").splitlines():
        texts += [message["content"] for message in json.loads(line)["messages"]]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=2048, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False),
    )
    folder.mkdir(exist_ok=True)
    content = json.loads(tokenizer.to_str())
    # tokenizers before 0.20 know merges only as "a b"; newer ones read both.
    content["model"]["merges"] = [m if isinstance(m, str) else " ".join(m) for m in content["model"]["merges"]]
    (folder / "tokenizer.json").write_text(
        json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<|pad|>",
        "eos_token": "<|end|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 8192,
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    print(f"{folder.name}: {tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    write(DATA / "tokenizer")
