"""Query/passage pairs and generative examples, read and tokenised.

A data file's row is either a pair (query, positives, negatives) or an example of supervised fine-tuning. All texts of
all rows become documents of one token folder; a document's role stands beside its mark of counted tokens, and which
documents belong together follows from the order of the roles.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.data.dialogue import encode_rows
from trainer.data.examples import Row, read_rows
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.tokens import Encoded
from trainer.errors import TrainerError
from trainer.options.settings import Settings

GENERATIVE, FIRST_QUERY, QUERY, POSITIVE, NEGATIVE = range(5)  # FIRST_QUERY: the first pair of a file
MANY = 512  # rows tokenised in one call

Text = tuple[str, str]  # prefix (seen, but not in the mean) and text
Item = tuple[int, str, Any]  # role, place, and a Text or the row of a generative example


@dataclass(frozen=True)
class Query:
    """Indices of the documents of one pair row; `file` counts the files that have pairs."""

    query: int
    positives: tuple[int, ...]
    negatives: tuple[int, ...]
    file: int


@dataclass(frozen=True)
class Catalogue:
    """What there is to draw from: pair rows, and the indices of generative documents."""

    queries: list[Query]
    generative: list[int]


def items(files: list[Path], settings: Settings) -> Iterator[list[Item]]:
    """The documents of each row, read but not tokenised. TrainerError names the file and line of a bad row."""
    for path in files:
        role = FIRST_QUERY
        for place, row in read_rows([path]):
            if settings.query_field not in row:
                yield [(GENERATIVE, place, row)]
                continue
            yield _pair(place, row, settings, role)
            role = QUERY


def _pair(place: str, row: dict[str, Any], settings: Settings, role: int) -> list[Item]:
    if settings.positives_field not in row:
        raise TrainerError(
            "missing-column",
            f"{place}: a query, but no column {settings.positives_field!r}; it has {', '.join(map(repr, row))}",
            "Name the columns with query_field, positives_field and negatives_field.",
        )
    positives, negatives = row[settings.positives_field], row.get(settings.negatives_field) or []
    if not isinstance(positives, list) or not isinstance(negatives, list) or not positives:
        raise TrainerError(
            "bad-column", f"{place}: positives must be a list of at least one text, negatives a list", "Correct it."
        )
    found: list[Item] = [(role, place, _text(place, row[settings.query_field], settings))]
    found += [(POSITIVE, place, _text(place, value, settings)) for value in positives]
    return found + [(NEGATIVE, place, _text(place, value, settings)) for value in negatives]


def _text(place: str, value: Any, settings: Settings) -> Text:
    instruction, text = value if isinstance(value, list) and len(value) == 2 else ("", value)
    if not isinstance(instruction, str) or not isinstance(text, str) or not text.strip():
        raise TrainerError(
            "bad-column",
            f"{place}: a query or passage must be a non-empty text or an [instruction, text] pair",
            "Correct that row.",
        )
    shown = settings.instruction_format.replace("{}", instruction) if instruction else ""
    return shown + settings.embed_mark, text


def encode_pairs(files: list[Path], tokenizer: Tokenizer, settings: Settings) -> Iterator[Encoded]:
    """Every document's ids, and for each 2 x role, plus 1 if the token counts (is trained, or is in the mean)."""
    rows = items(files, settings)
    pending = False  # the first pair of a file was left out: the next one takes its role
    for chunk in iter(lambda: list(itertools.islice(rows, MANY)), []):
        generative: list[Row] = [(row[0][1], row[0][2]) for row in chunk if row[0][0] == GENERATIVE]
        for ids, trained in encode_rows(generative, tokenizer, settings):
            yield ids, [2 * GENERATIVE + mark for mark in trained]
        pairs = [row for row in chunk if row[0][0] != GENERATIVE]
        documents = iter(encode_texts([(place, text) for row in pairs for _, place, text in row], tokenizer))
        for row in pairs:
            first, pending = pending or row[0][0] == FIRST_QUERY, False
            found = list(itertools.islice(documents, len(row)))
            if settings.over_long == "cut":
                found = [(ids[: settings.tokens_per_row], marks[: settings.tokens_per_row]) for ids, marks in found]
            if not all(any(marks) and len(ids) <= settings.tokens_per_row for ids, marks in found):
                _over_long(row[0][1], max(len(ids) for ids, _ in found), settings)
                pending = first
                continue
            roles = [FIRST_QUERY if first else QUERY, *(role for role, _, _ in row[1:])]
            yield from ((ids, [2 * role + mark for mark in marks]) for role, (ids, marks) in zip(roles, found))


def _over_long(place: str, length: int, settings: Settings) -> None:
    if settings.over_long == "error":
        raise TrainerError(
            "example-too-long",
            f"{place}: a text of {length} tokens, more than tokens_per_row ({settings.tokens_per_row})",
            f"Raise tokens_per_row to at least {length}, or set over_long=skip to leave such rows out, or "
            "over_long=cut to keep the beginning of their texts.",
        )


def encode_texts(texts: Sequence[tuple[str, Text]], tokenizer: Tokenizer) -> Iterator[Encoded]:
    """Ids of prefix + text, and 1 for every token that has a character of the text."""
    if not texts:
        return
    begin = tokenizer.bos_token or ""
    whole = [begin + prefix + text for _, (prefix, text) in texts]
    batch = tokenizer(whole, add_special_tokens=False, return_offsets_mapping=True)
    for (place, (prefix, _)), ids, offsets in zip(texts, batch["input_ids"], batch["offset_mapping"]):
        border = len(begin) + len(prefix)
        marks = [int(end > border) for _, end in offsets]
        if not any(marks):
            raise TrainerError("nothing-to-embed", f"{place}: a text without tokens", "Correct or remove that row.")
        yield list(ids), marks


def catalogue(roles: Sequence[int]) -> Catalogue:
    """The rows that the roles of the documents, in order, say there are."""
    found = Catalogue([], [])
    parts: dict[int, list[int]] = {}
    file = -1

    def close() -> None:
        if parts:
            found.queries.append(Query(parts[QUERY][0], tuple(parts[POSITIVE]), tuple(parts[NEGATIVE]), file))

    for index, role in enumerate(roles):
        if role == GENERATIVE:
            found.generative.append(index)
        elif role in (FIRST_QUERY, QUERY):
            close()
            file += role == FIRST_QUERY
            parts = {QUERY: [index], POSITIVE: [], NEGATIVE: []}
        else:
            parts[role].append(index)
    close()
    return found
