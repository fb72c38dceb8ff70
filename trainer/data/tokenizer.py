"""The tokenizer of a run, and what of it decides its tokens."""

from __future__ import annotations

from pathlib import Path

from trainer.data.fasttokenizer import Tokenizer
from trainer.data.workloads import Workload
from trainer.errors import TrainerError, in_one_line
from trainer.options.settings import Settings

# Chat templates by name, for tokenizers that have none. chatml: turns between the marks of that name (which should be
# tokens of the tokenizer); plain: turns as lines that any tokenizer knows.
TEMPLATES = {
    "chatml": "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "plain": "{% for m in messages %}{{ m['role'] | capitalize }}: {{ m['content'] }}"
    "{{ eos_token if m['role'] == 'assistant' and eos_token else '' }}\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}",
}


def load_tokenizer(settings: Settings, workload: Workload | None) -> Tokenizer:
    """The fast tokenizer of the settings, the model's folder or the workload; TrainerError when there is none."""
    from transformers import AutoTokenizer

    folder = settings.tokenizer or settings.model or (str(workload.tokenizer) if workload else None)
    if folder is None:
        raise TrainerError("no-tokenizer", "no tokenizer", "Set tokenizer to a folder with tokenizer.json.")
    if not Path(folder).is_dir():
        raise TrainerError(
            "no-tokenizer", f"{folder}: no such folder", "Set tokenizer to a folder with tokenizer.json."
        )
    try:
        tokenizer: Tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # noqa: BLE001 - the tokenizers raise what they like for files that somebody else broke
        told = str(error).partition("\n")[0] if isinstance(error, (OSError, ValueError)) else in_one_line(error)
        raise TrainerError("no-tokenizer", f"{folder}: {told}", "Give a folder with a sound tokenizer.json.") from None
    if not tokenizer.is_fast:
        raise TrainerError("slow-tokenizer", f"{folder}: only a slow tokenizer", "Save it with its tokenizer.json.")
    if settings.chat_template in TEMPLATES:
        tokenizer.chat_template = TEMPLATES[settings.chat_template]
    elif settings.chat_template:
        try:
            tokenizer.chat_template = Path(settings.chat_template).read_text(encoding="utf-8")
        except OSError as error:
            raise TrainerError(
                "unreadable-file",
                f"{settings.chat_template}: {error.strerror}",
                f"Give a file, or one of {', '.join(TEMPLATES)}.",
            ) from None
    return tokenizer


def pad_id(tokenizer: Tokenizer) -> int:
    """The id that fills padded rows: its own, else the end token's, else 0 (the attention mask hides it anyway)."""
    return tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id or 0
