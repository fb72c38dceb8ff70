"""Prompts to be answered, checked before anything is sampled."""

from __future__ import annotations

from pathlib import Path

from trainer.data.dialogue import prompt_text
from trainer.data.examples import Row, read_rows
from trainer.data.fasttokenizer import Tokenizer
from trainer.errors import TrainerError
from trainer.options.settings import Settings
from trainer.tasks.answers.checkers import Checker


def read_prompts(
    files: list[Path], tokenizer: Tokenizer, settings: Settings, judge: Checker
) -> tuple[list[Row], list[list[int]]]:
    """Every row, and the ids of its prompt. TrainerError names the file and line of a row that cannot be used."""
    if not files:
        raise TrainerError("no-data", "no data", "Set data to JSON lines or parquet files with prompts and answers.")
    rows = list(read_rows(files))
    texts = []
    for place, row in rows:
        if settings.prompt_field not in row:
            raise TrainerError(
                "missing-column",
                f"{place}: no column {settings.prompt_field!r}; it has {', '.join(map(repr, row)) or 'none'}",
                "Name the column with prompt_field.",
            )
        judge.prove(place, row)
        texts.append(prompt_text(place, row[settings.prompt_field], tokenizer))
    prompts: list[list[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
    for (place, _), ids in zip(rows, prompts):
        if not ids:
            raise TrainerError("empty-prompt", f"{place}: the prompt is empty", "Correct or remove that row.")
        if len(ids) + settings.max_new_tokens > settings.tokens_per_row and settings.over_long == "error":
            raise TrainerError(
                "example-too-long",
                f"{place}: {len(ids)} tokens and max_new_tokens ({settings.max_new_tokens}) are more than "
                f"tokens_per_row ({settings.tokens_per_row})",
                "Raise tokens_per_row, lower max_new_tokens, or set over_long=skip.",
            )
    return rows, prompts
