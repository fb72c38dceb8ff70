"""Prompts to be answered, checked before anything is sampled."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List, Tuple

from trainer.checkers import Checker
from trainer.dialogue import prompt_text
from trainer.errors import TrainerError
from trainer.examples import Row, read_rows
from trainer.settings import Settings


def read_prompts(
    files: List[Path], tokenizer: Any, settings: Settings, judge: Checker
) -> Tuple[List[Row], List[List[int]]]:
    """Every row, and the ids of its prompt. TrainerError names the file and line of a row that cannot be used."""
    if not files:
        raise TrainerError("no-data", "no data", "Set data to JSON lines or parquet files with prompts and answers.")
    rows = list(read_rows(files))
    texts = []
    for place, row in rows:
        if settings.prompt_field not in row:
            raise TrainerError(
                "missing-column",
                "%s: no column %r; it has %s" % (place, settings.prompt_field, ", ".join(map(repr, row)) or "none"),
                "Name the column with prompt_field.",
            )
        judge.prove(place, row)
        texts.append(prompt_text(place, row[settings.prompt_field], tokenizer))
    prompts: List[List[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
    for (place, _), ids in zip(rows, prompts):
        if not ids:
            raise TrainerError("empty-prompt", "%s: the prompt is empty" % place, "Correct or remove that row.")
        if len(ids) + settings.max_new_tokens > settings.tokens_per_row and settings.over_long == "error":
            raise TrainerError(
                "example-too-long",
                "%s: %d tokens and max_new_tokens (%d) are more than tokens_per_row (%d)"
                % (place, len(ids), settings.max_new_tokens, settings.tokens_per_row),
                "Raise tokens_per_row, lower max_new_tokens, or set over_long=skip.",
            )
    return rows, prompts
