"""Rows as people have them: chats, sharegpt, alpaca, prompt/completion or plain text, told apart by their columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer.data.examples import read_rows
from trainer.errors import TrainerError
from trainer.settings import Settings

CONVERSATION = "conversations"
# Names that sharegpt files give to whoever speaks.
SPEAKERS = {
    "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant",
    "model": "assistant", "bot": "assistant", "system": "system", "tool": "tool", "function": "tool",
    "observation": "tool",
}  # fmt: skip


def format_of(row: dict[str, Any], settings: Settings) -> str | None:
    """messages, sharegpt, prompt, alpaca or text; None when the columns are of none of them."""
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
    return "text" if settings.text_field in row else None


def as_dialogue(place: str, row: dict[str, Any], tokenizer: Any, settings: Settings) -> dict[str, Any]:
    """The same row under the columns messages, prompt and completion, or text. TrainerError names what is missing."""
    kind = format_of(row, settings)
    wanted = columns(kind or "prompt", settings)
    missing = [name for name in wanted if name not in row]
    if kind is None or missing:
        what = " or ".join(map(repr, missing or wanted))
        raise TrainerError(
            "missing-column", f"{place}: no column {what}; it has {', '.join(map(repr, row)) or 'none'}",
            "Rows are chats (messages; or sharegpt's conversations), alpaca (instruction, input, output), prompt and "
            "completion, or text. Name other columns with messages_field, text_field, or prompt_field and "
            "completion_field.",
        )  # fmt: skip
    if kind == "messages":
        return {"messages": row[wanted[0]], "tools": row.get("tools")}
    if kind == "prompt":
        return {"prompt": row[wanted[0]], "completion": row[wanted[1]]}
    if kind == "sharegpt":
        return {"messages": _turns(place, row)}
    if kind == "alpaca":
        return _alpaca(place, row, tokenizer)
    return {"text": row[wanted[0]]}


def columns(kind: str, settings: Settings) -> list[str]:
    """Those that a row of this format must have."""
    return {
        "messages": [settings.messages_field], "prompt": [settings.prompt_field, settings.completion_field],
        "sharegpt": [CONVERSATION], "alpaca": ["instruction", "output"], "text": [settings.text_field],
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
    extra = ["system", "input"] if kind == "alpaca" else ["system"] if kind == "sharegpt" else []
    wanted = [*columns(kind, settings), *extra]
    return [name for name in row if name in wanted]


def _turns(place: str, row: dict[str, Any]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    if isinstance(row.get("system"), str) and row["system"].strip():
        turns.append({"role": "system", "content": row["system"]})
    said = row[CONVERSATION]
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


def _alpaca(place: str, row: dict[str, Any], tokenizer: Any) -> dict[str, Any]:
    """A chat where the tokenizer has a template for one, else a prompt and its completion."""
    texts = [row["instruction"], row.get("input") or "", row["output"], row.get("system") or ""]
    if not all(isinstance(text, str) for text in texts):
        raise TrainerError("bad-column", f"{place}: instruction, input and output must be texts", "Correct that row.")
    instruction, extra, output, system = texts
    asked = "\n\n".join(filter(None, (instruction, extra)))
    if not tokenizer.chat_template:
        return {"prompt": "\n\n".join(filter(None, (system, asked))) + "\n\n", "completion": output}
    turns = [{"role": "user", "content": asked}, {"role": "assistant", "content": output}]
    return {"messages": ([{"role": "system", "content": system}] if system else []) + turns}
