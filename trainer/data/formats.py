"""Rows as people have them: chats, sharegpt, alpaca, question and answer, or text, told apart by their columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer.data.examples import read_rows
from trainer.data.fasttokenizer import Tokenizer
from trainer.errors import TrainerError
from trainer.options.settings import Settings

CONVERSATION = "conversations"
# Names that sharegpt files give to whoever speaks.
SPEAKERS = {
    "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant",
    "model": "assistant", "bot": "assistant", "system": "system", "tool": "tool", "function": "tool",
    "observation": "tool",
}  # fmt: skip
# Columns of published instruction sets, whatever their capitals: GSM8K's question and answer, MetaMath's query and
# response, Dolly's instruction, context and response, NuminaMath's problem and solution, OpenOrca's system_prompt.
QUESTIONS = ("prompt", "instruction", "question", "query", "problem", "input", "user", "human")
ANSWERS = ("completion", "response", "answer", "output", "solution", "assistant", "reply", "target")
CONTEXTS = ("context", "input")
SYSTEMS = ("system", "system_prompt")
_ALPACA = ("instruction", "output", "input", "system")


def format_of(row: dict[str, Any], settings: Settings) -> str | None:
    """messages, sharegpt, prompt, alpaca, text or question; None when the columns are of none of them."""
    if settings.data_format != "auto":
        return settings.data_format
    if settings.messages_field in row:
        return "messages"
    if settings.prompt_field in row and settings.completion_field in row:
        return "prompt"
    if CONVERSATION in row:
        return "sharegpt"
    if "instruction" in row and "output" in row:
        return "alpaca"
    if settings.text_field in row:
        return "text"
    return "question" if all(_question_columns(row)[:2]) else None


def as_dialogue(place: str, row: dict[str, Any], tokenizer: Tokenizer, settings: Settings) -> dict[str, Any]:
    """The same row under the columns messages, prompt and completion, or text. TrainerError names what is missing."""
    kind = format_of(row, settings)
    wanted = columns(kind or "prompt", row, settings)
    missing = [name for name in wanted if name not in row]
    if kind is None or missing:
        what = " or ".join(map(repr, missing or wanted))
        raise TrainerError(
            "missing-column", f"{place}: no column {what}; it has {', '.join(map(repr, row)) or 'none'}",
            "Rows are chats (messages; or sharegpt's conversations), alpaca (instruction, input, output), a question "
            "and its answer (prompt and completion, query and response ...), or text. Name other columns with "
            "messages_field, text_field, or prompt_field and completion_field." + _preference_advice(row),
        )  # fmt: skip
    if kind == "messages":
        return {"messages": _parse_list(row[wanted[0]]), "tools": _parse_list(row.get("tools"))}
    if kind == "prompt":
        return {"prompt": row[wanted[0]], "completion": row[wanted[1]]}
    if kind == "sharegpt":
        return {"messages": _turns(place, row)}
    if kind in ("alpaca", "question"):
        names = _ALPACA if kind == "alpaca" else _question_columns(row)
        return _as_chat(place, [row.get(name, "") for name in names], tokenizer)
    return {"text": row[wanted[0]]}


def columns(kind: str, row: dict[str, Any], settings: Settings) -> list[str]:
    """Those that a row of this format must have."""
    question, answer = _question_columns(row)[:2]
    return {
        "messages": [settings.messages_field], "prompt": [settings.prompt_field, settings.completion_field],
        "sharegpt": [CONVERSATION], "alpaca": ["instruction", "output"], "text": [settings.text_field],
        "question": [question or "question", answer or "answer"],
    }[kind]  # fmt: skip


def describe_formats(files: Sequence[Path], settings: Settings) -> dict[str, list[str]]:
    """Files by the format of their first row."""
    found: dict[str, list[str]] = {}
    for path in files:
        _, row = next(read_rows([path]))
        kind = format_of(row, settings)
        if kind is not None:
            found.setdefault(f"{kind} ({', '.join(_read(kind, row, settings))})", []).append(str(path))
    return found


def _read(kind: str, row: dict[str, Any], settings: Settings) -> list[str]:
    extra = {"sharegpt": ("system",), "alpaca": _ALPACA, "question": _question_columns(row)}.get(kind, ())
    return [name for name in row if name in (*columns(kind, row, settings), *extra)]


def _question_columns(row: dict[str, Any]) -> list[str]:
    """Columns with the question, its answer, what belongs to the question, and the system's words; "" where none."""
    names = {name.lower(): name for name in reversed(row)}

    def first(known: Sequence[str], *taken: str) -> str:
        return next((names[name] for name in known if name in names and names[name] not in taken), "")

    question, answer = first(QUESTIONS), first(ANSWERS)
    return [question, answer, first(CONTEXTS, question), first(SYSTEMS)]


def _parse_list(value: Any) -> Any:
    """The list in a text of JSON, which is how CSV files, and many parquet files, hold one."""
    if not isinstance(value, str) or value[:1] != "[":
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _preference_advice(row: dict[str, Any]) -> str:
    """What to do with a preferred answer beside a rejected one."""
    if "chosen" not in row or "rejected" not in row:
        return ""
    field = "messages_field" if isinstance(_parse_list(row["chosen"]), list) else "completion_field"
    return (
        f" Of preferences the preferred answers can be trained: {field}=chosen. Learning from both (DPO) is for "
        "TRL: envdoctor run -- trl dpo ..."
    )


def _turns(place: str, row: dict[str, Any]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    if isinstance(row.get("system"), str) and row["system"].strip():
        turns.append({"role": "system", "content": row["system"]})
    said = _parse_list(row[CONVERSATION])
    for turn in said if isinstance(said, list) else [None]:
        speaker = turn.get("from", turn.get("role")) if isinstance(turn, dict) else None
        text = turn.get("value", turn.get("content")) if isinstance(turn, dict) else None
        if speaker not in SPEAKERS or not isinstance(text, str):
            raise TrainerError(
                "bad-column", f"{place}: conversations must be a list of {{from, value}}, not {str(turn)[:60]!r}",
                f"Known speakers are {', '.join(SPEAKERS)}.",
            )  # fmt: skip
        turns.append({"role": SPEAKERS[speaker], "content": text})
    return turns


def _as_chat(place: str, texts: list[Any], tokenizer: Tokenizer) -> dict[str, Any]:
    """A chat where the tokenizer has a template for one, else a prompt and its completion.

    texts: the question, its answer, what belongs to the question, and the system's words. TrainerError when one is no
    text.
    """
    texts = [*texts[:2], *(text or "" for text in texts[2:])]
    if not all(isinstance(text, str) for text in texts):
        raise TrainerError(
            "bad-column", f"{place}: question, answer, input and system must be texts", "Correct that row."
        )
    question, answer, extra, system = texts
    asked = "\n\n".join(filter(None, (question, extra)))
    if not tokenizer.chat_template:
        return {"prompt": "\n\n".join(filter(None, (system, asked))) + "\n\n", "completion": answer}
    turns = [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
    return {"messages": ([{"role": "system", "content": system}] if system else []) + turns}
