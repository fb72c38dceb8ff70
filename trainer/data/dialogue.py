"""From a row to token ids and the mask of trained tokens: prompt/completion pairs, chat messages, plain text.

A token is trained when any of its characters lies in an assistant turn (its end-of-turn mark included) or in a
completion. For chats the text is rendered up to the start and to the end of each assistant turn; the difference is
the turn. Templates that rewrite earlier turns defeat that, unless they mark the assistant's text with {% generation
%}, which is then used instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trainer.data.examples import Row
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.formats import as_dialogue
from trainer.data.timelimit import at_most
from trainer.data.tokens import Encoded
from trainer.errors import TrainerError
from trainer.options.settings import Settings

Span = tuple[int, int]  # characters, half-open
TEMPLATE_SECONDS = 20.0  # for one row; rendering takes well under a millisecond
BATCH = 512  # rows per call of the tokenizer, which spreads a batch over the cores


def encode_rows(rows: Iterable[Row], tokenizer: Tokenizer, settings: Settings) -> Iterator[Encoded]:
    """Ids and trained marks of each row, in order; TrainerError names the row at fault."""
    waiting: list[tuple[str, str, list[Span]]] = []
    for place, row in rows:
        row = as_dialogue(place, row, tokenizer, settings)
        if "messages" in row and "{% generation" in (tokenizer.chat_template or ""):
            yield from _encode_texts(waiting, tokenizer, settings)
            waiting = []
            yield from _check_dialogues(
                place, _marked_by_template(place, row["messages"], tokenizer, row.get("tools")), settings
            )
            continue
        waiting.append((place, *_text_and_spans(place, row, tokenizer)))
        if len(waiting) == BATCH:
            yield from _encode_texts(waiting, tokenizer, settings)
            waiting = []
    yield from _encode_texts(waiting, tokenizer, settings)


def prompt_text(place: str, prompt: Any, tokenizer: Tokenizer) -> str:
    """The text a model is to answer: a prompt as training sees it, or a chat up to where the assistant speaks."""
    if isinstance(prompt, str):
        return (tokenizer.bos_token or "") + prompt
    turns = _messages(place, prompt, tokenizer)
    text: str = _render(place, turns, tokenizer, tokenize=False, add_generation_prompt=True)
    return text


def _encode_texts(
    items: list[tuple[str, str, list[Span]]], tokenizer: Tokenizer, settings: Settings
) -> Iterator[Encoded]:
    if not items:
        return
    batch = tokenizer([text for _, text, _ in items], add_special_tokens=False, return_offsets_mapping=True)
    for (place, _, spans), ids, offsets in zip(items, batch["input_ids"], batch["offset_mapping"]):
        trained = [0] * len(ids)
        for low, high in spans:
            for index, (start, end) in enumerate(offsets):
                if start < high and end > low:
                    trained[index] = 1
        yield from _check_dialogues(place, (list(ids), trained), settings)


def _check_dialogues(place: str, encoded: Encoded, settings: Settings) -> Iterator[Encoded]:
    ids, trained = encoded
    if not any(trained[1:]):  # the first token of a document has nothing before it to be predicted from
        raise TrainerError(
            "nothing-to-train", f"{place}: no trained token", "Give it a non-empty answer, or remove it."
        )
    most = settings.tokens_per_row
    if len(ids) <= most:
        yield encoded
    elif settings.over_long == "error":
        raise TrainerError(
            "example-too-long",
            f"{place}: {len(ids)} tokens, more than tokens_per_row ({most})",
            f"Raise tokens_per_row to at least {len(ids)}, or set over_long=skip to leave such examples out, or "
            "over_long=cut to keep their beginning.",
        )
    elif settings.over_long == "cut" and any(trained[1:most]):
        yield ids[:most], trained[:most]


def _text_and_spans(place: str, row: dict[str, Any], tokenizer: Tokenizer) -> tuple[str, list[Span]]:
    if "messages" in row:
        return _chat(place, row["messages"], tokenizer, row.get("tools"))
    begin, end = tokenizer.bos_token or "", tokenizer.eos_token or ""
    if "text" in row:
        if not isinstance(row["text"], str):
            raise TrainerError("bad-column", f"{place}: text must be a text", "Correct that row.")
        whole = begin + row["text"] + end
        return whole, [(len(begin), len(whole))]
    prompt, completion = row["prompt"], row["completion"]
    if isinstance(prompt, list) and isinstance(completion, list):
        return _chat(place, prompt + completion, tokenizer)
    if not isinstance(prompt, str) or not isinstance(completion, str):
        raise TrainerError("bad-column", f"{place}: prompt and completion must be texts", "Correct that row.")
    text = begin + prompt + completion + end
    return text, [(len(begin) + len(prompt), len(text))]


def _messages(place: str, messages: Any, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    turns = [_turn(m) for m in messages] if isinstance(messages, list) else [None]
    if None in turns:
        raise TrainerError(
            "bad-column", f"{place}: messages must be a list of {{role, content}} texts",
            "Correct that row; an assistant that only calls tools has tool_calls instead of a content.",
        )  # fmt: skip
    if not tokenizer.chat_template:
        raise TrainerError(
            "no-chat-template",
            f"{place}: a chat, but the tokenizer has no chat template",
            "Give one with chat_template=FILE, chatml or plain (plain needs no tokens of its own).",
        )
    return [turn for turn in turns if turn is not None]


def _turn(message: Any) -> dict[str, Any] | None:
    """A message with its content as one text; None when it is none. Parts of a content that are no text are refused."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return None
    content = message.get("content")
    if isinstance(content, list) and all(isinstance(p, dict) and isinstance(p.get("text"), str) for p in content):
        content = "".join(part["text"] for part in content)
    if content is None and message.get("tool_calls"):
        content = ""
    return {**message, "content": content} if isinstance(content, str) else None


def _render(place: str, messages: list[dict[str, Any]], tokenizer: Tokenizer, **options: Any) -> Any:
    try:
        with at_most(TEMPLATE_SECONDS):
            return tokenizer.apply_chat_template(messages, **options)
    except Exception as error:  # noqa: BLE001 - a template is a program and may raise anything
        raise TrainerError(
            "chat-template-failed", f"{place}: {error}", "Correct the row or the chat template."
        ) from None


def _chat(place: str, messages: Any, tokenizer: Tokenizer, tools: Any = None) -> tuple[str, list[Span]]:
    turns = _messages(place, messages, tokenizer)

    def render(some: list[dict[str, Any]], **options: Any) -> str:
        text: str = _render(place, some, tokenizer, tokenize=False, **({"tools": tools} if tools else {}), **options)
        return text

    text = render(turns)
    spans = []
    for index, turn in enumerate(turns):
        if turn["role"] != "assistant":
            continue
        before = render(turns[:index], add_generation_prompt=True) if index else ""
        after = render(turns[: index + 1])
        span: Span | None = (len(before), len(after))
        if not text.startswith(after) or not after.startswith(before):
            span = _where_written(text, before, after, tokenizer.eos_token or "")
        if span is None:
            raise TrainerError(
                "chat-template-rewrites",
                f"{place}: the chat template changes earlier text as turns are added, so the assistant's cannot be "
                "told apart",
                "Give a template that marks them with {% generation %}, through chat_template=FILE.",
            )
        if not _says(text[slice(*span)], turn):
            raise TrainerError(
                "chat-template-leaves-out",
                f"{place}: the chat template does not write all of turn {index + 1}: "
                f"{(text[slice(*span)].strip() or 'nothing')[:60]!r}",
                "Give a template that does, through chat_template=FILE, or correct the row.",
            )
        spans.append(span)
    return text, spans


def _where_written(text: str, before: str, as_last: str, end: str) -> Span | None:
    """The turn's characters in the text, for templates that write it otherwise when more turns follow (Qwen 3 leaves
    out earlier thoughts) or that close the whole with an end token (Phi 3): the longest end of the turn as it is
    written in the last place that stands behind `before`.
    """
    begin = len(before)
    if text.startswith(before):
        for tail in (as_last, as_last.removesuffix(end)):
            for start in range(begin, len(tail)):
                if text.startswith(tail[start:], begin):
                    return begin, begin + len(tail) - start
    return None


def _says(text: str, turn: dict[str, Any]) -> bool:
    """Is what the assistant says, or calls, in the text? Thoughts may be left out: templates do that on purpose."""
    calls = turn.get("tool_calls") or []
    names = [(call.get("function") or call).get("name", "") for call in calls if isinstance(call, dict)]
    return turn["content"].rpartition("</think>")[2].strip() in text and all(name in text for name in names)


def _marked_by_template(place: str, messages: Any, tokenizer: Tokenizer, tools: Any = None) -> Encoded:
    turns = _messages(place, messages, tokenizer)
    options = {"tokenize": True, "return_dict": True, "return_assistant_tokens_mask": True}
    result = _render(place, turns, tokenizer, **options, **({"tools": tools} if tools else {}))
    return list(result["input_ids"]), list(result["assistant_masks"])
