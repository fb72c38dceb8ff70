"""Examples as the model gets them: each token for itself, what is trained in colour."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from trainer.data.dialogue import encode_rows
from trainer.data.examples import read_rows
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.shards import open_shards
from trainer.data.texts import encode_chunk, texts
from trainer.options.settings import Settings

TRAINED, READ, OFF = "\x1b[32m", "\x1b[2m", "\x1b[0m"


def show_examples(
    files: Sequence[Path], tokenizer: Tokenizer, settings: Settings, count: int, colour: bool
) -> Iterator[str]:
    """Lines for people about the first `count` examples; without colour, ▸ stands before a token that is trained."""
    rows = list(itertools.islice(read_rows(list(files)), count))
    for (place, _), (ids, trained) in zip(rows, encode_rows(rows, tokenizer, settings)):
        yield f"{place}: {len(ids)} tokens, {sum(trained)} of them trained"
        yield "".join(
            piece(text, bool(mark), colour) for text, mark in zip(tokenizer.convert_ids_to_tokens(ids), _marks(trained))
        )


def show_texts(
    names: Sequence[str], tokenizer: Tokenizer, settings: Settings, count: int, colour: bool
) -> Iterator[str]:
    """Lines for people about the first `count` documents of pretraining, in files of texts and folders of shards."""
    found = itertools.chain.from_iterable(_documents(name, tokenizer, settings) for name in names)
    for place, ids in itertools.islice(found, count):
        yield f"{place}: {len(ids)} tokens"
        pieces = tokenizer.convert_ids_to_tokens([int(one) for one in ids])
        yield "".join(piece(text, number > 0, colour) for number, text in enumerate(pieces))


def _documents(name: str, tokenizer: Tokenizer, settings: Settings) -> Iterator[tuple[str, Sequence[int]]]:
    if Path(name).is_file():
        for place, text in texts([Path(name)], settings.text_field):
            for ids in encode_chunk([text], tokenizer) if text.strip() else ():
                yield place, ids
        return
    for shard in open_shards(Path(name), verify=False).shards:
        for number, (low, high) in enumerate(zip(shard.starts, shard.starts[1:]), 1):
            yield f"{name}, document {number}", shard.ids[low:high].tolist()


def piece(token: str, trained: bool, colour: bool) -> str:
    """One token between bars, spaces and line ends made visible."""
    text = token.replace("Ġ", "·").replace("▁", "·").replace("Ċ", "⏎\n").replace("\n", "⏎\n")
    if colour:
        return f"{TRAINED if trained else READ}{text}{OFF}|"
    return f"{'▸' if trained else ''}{text}|"


def _marks(trained: Sequence[int]) -> list[int]:
    return [0, *trained[1:]]  # the first token of a document has nothing before it to be predicted from
