"""From sampled answers to training data: those a checker accepts, each once, and a summary of the rest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer.data import whole
from trainer.data.examples import Row
from trainer.errors import TrainerError
from trainer.options.settings import Settings
from trainer.tasks.answers.checkers import Checker, quote_answer
from trainer.tasks.answers.sampling import Answer

Kept = tuple[list[Answer], dict[str, int]]


def keep(answers: Sequence[Answer], rows: Sequence[Row], checker: Checker, settings: Settings) -> Kept:
    """The accepted answers that differ, in the order of prompts, and how many fared how.

    An answer cut off at max_new_tokens is rejected unseen: trained on, it would teach to stop in mid-sentence.
    TrainerError when none is accepted, with three that were not.
    """
    fates: Counter[str] = Counter()
    kept: list[Answer] = []
    rejected: list[tuple[Answer, str]] = []
    seen: dict[int, list[str]] = {}
    for answer in sorted(answers, key=lambda answer: (answer.prompt, answer.sample)):
        place, row = rows[answer.prompt]
        fate = checker.check(place, answer.text, row) if answer.finished else "unfinished"
        texts = seen.setdefault(answer.prompt, [])
        if fate == "accepted":
            if answer.text in texts:
                fate = "duplicate"
            elif settings.max_accepted and len(texts) == settings.max_accepted:
                fate = "beyond_max_accepted"
            else:
                fate = "kept"
                texts.append(answer.text)
                kept.append(answer)
        elif len(rejected) < 3:
            rejected.append((answer, fate))
        fates[fate] += 1
    if not kept:
        raise _nothing(len(answers), rejected, rows, settings)
    fates["accepted"] = fates["kept"] + fates["duplicate"] + fates["beyond_max_accepted"]
    fates["prompts_without"] = len(rows) - sum(1 for texts in seen.values() if texts)
    return kept, fates


def _nothing(count: int, rejected: list[tuple[Answer, str]], rows: Sequence[Row], settings: Settings) -> TrainerError:
    lines = []
    for answer, fate in rejected:
        place, row = rows[answer.prompt]
        right = row.get(settings.answer_field)
        wanted = "" if right is None else f", wanted {quote_answer(str(right))}"
        lines.append(f"\n       {place}: {quote_answer(answer.text)}{wanted} ({fate})")
    return TrainerError(
        "nothing-accepted",
        f"checker {settings.checker} accepted none of {count} answers; for example:{''.join(lines)}",
        "Start from a model that can answer some of the prompts, sample more, or correct the checker.",
    )


def write_accepted(path: Path, kept: Sequence[Answer], rows: Sequence[Row], settings: Settings, identity: str) -> str:
    """Write the accepted answers as JSON lines a later sft run can read, each with where it came from.

    Returns the file's sha256.
    """
    lines = []
    for answer in kept:
        place, row = rows[answer.prompt]
        prompt = row[settings.prompt_field]
        chat = isinstance(prompt, list)
        origin = {
            "row": place, "sample": answer.sample, "tokens": answer.tokens, "checker": settings.checker,
            "seed": settings.seed, "temperature": settings.sampling_temperature, "top_p": settings.top_p,
            "model": settings.model or settings.workload or settings.model_config, "samples": identity[:16],
        }  # fmt: skip
        completion: Any = [{"role": "assistant", "content": answer.text}] if chat else answer.text
        lines.append(
            json.dumps({settings.prompt_field: prompt, settings.completion_field: completion, "origin": origin})
        )
    content = "".join(line + "\n" for line in lines).encode()
    write(path, content)
    return hashlib.sha256(content).hexdigest()


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all. TrainerError when the folder cannot be written."""
    try:
        whole.write_file(path, content)
    except OSError as error:
        raise TrainerError(
            "samples-not-written", f"{path}: {error.strerror or error}", "Free some space, then start again."
        ) from None
