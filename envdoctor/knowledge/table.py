"""Tables of what is known, as TOML beside the questions: each row is parsed when somebody first asks for it.

tomllib reads some 2 MB a second, so that parsing every table would take longer than all the judging of a check does;
and of most tables a check needs two or three rows. So a file is cut at its ``[[row]]`` headers, indexed by text, and
only the rows that are asked for are parsed. That this gives what parsing the whole file gives is tested.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from envdoctor.errors import Trouble
from envdoctor.facts.wire import WireError, from_json
from envdoctor.values.document import parse_toml, read_text

FOLDER = Path(__file__).resolve().parent
T = TypeVar("T")


class Block(NamedTuple):
    """One ``[[kind]]`` row before it is parsed, and the line on which it stands."""

    kind: str
    line: int
    text: str

    @functools.cache  # noqa: B019 - blocks are those of the bundled files, and live as long as the program
    def texts(self, *keys: str) -> tuple[str, ...]:
        """All texts that these keys hold, a single one or a list of them."""
        value = r"(\[(?:[^\]\"]|\"[^\"]*\")*\]|\"[^\"\n]*\")"
        found = re.findall(rf"^(?:{'|'.join(keys)}) = {value}", self.text, re.MULTILINE)
        return tuple(text for value in found for text in re.findall(r'"([^"]*)"', value))


class Table:
    """A file of rows. Raises `Trouble` naming file, line and row for whatever does not fit."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _parts(self) -> tuple[str, tuple[Block, ...]]:
        """What is no row, with its lines in their places; and the rows."""
        head, *rest = read_text(self.path).split("\n[")  # ten times as fast as a regex at every line's start
        line = head.count("\n") + 2
        others, blocks = [head], []
        for part in rest:
            kind, end, text = part.partition("]]\n")
            if end and kind.startswith("["):
                blocks.append(Block(kind[1:], line, "\n" + text))
            others.append(("\n" * part.count("\n")) if end and kind.startswith("[") else f"[{part}")
            line += part.count("\n") + 1
        return "\n".join(others).rstrip(), tuple(blocks)

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """What is no row: ``schema``, ``read_up_to``, and whatever tables stand beside the rows."""
        return parse_toml(self._parts[0], self.path)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self._parts[1]

    def parse(self, block: Block, kind: type[T]) -> T:
        data = parse_toml(block.text, self.path, first_line=block.line)
        try:
            return from_json(kind, data)
        except WireError as error:
            named = next((f" {data[key]!r}" for key in ("name", "package", "chip") if key in data), "")
            where = f"line {block.line}, [[{block.kind}]]{named}"
            raise Trouble(
                f"{error.where}: {error.problem}" if error.where else error.problem,
                file=self.path,
                where=where,
                remedy="Correct that row, or install envdoctor again.",
            ) from error


def columns(table: Table, key: str) -> Iterator[tuple[str, ...]]:
    """The rows of ``[key]``, cell by cell, as many as its ``columns`` names. Raises `Trouble` naming a row that has
    more or fewer."""
    stored = table.head[key]
    wanted = stored["columns"].count("|") + 1
    for row in stored["rows"].strip().splitlines():
        cells = tuple(cell.strip() for cell in row.split("|"))
        if len(cells) != wanted:
            problem = f"{len(cells)} cells, expected {wanted}: {stored['columns']}"
            raise Trouble(problem, file=table.path, where=f"[{key}] {row!r}", remedy="Correct that row.")
        yield cells


class Rows(Generic[T]):
    """The rows ``[[kind]]`` of a table in their order, found by the text of one of their keys."""

    def __init__(self, table: Table, kind: str, value: type[T], by: str = "name") -> None:
        self._table, self.kind, self._value, self._by = table, kind, value, by
        self._read: dict[Block, T] = {}

    @cached_property
    def _blocks(self) -> tuple[tuple[str, Block], ...]:
        return tuple(
            (text, block) for block in self._table.blocks if block.kind == self.kind for text in block.texts(self._by)
        )

    def names(self) -> tuple[str, ...]:
        """What rows there are, without parsing one."""
        return tuple(dict.fromkeys(name for name, _ in self._blocks))

    def among(self, names: Container[str], holds: Callable[[Block], bool] = lambda _: True) -> Iterator[T]:
        """The rows of these names, of which the text ``holds`` what is looked for: only they are parsed."""
        return (self._row(block) for name, block in self._blocks if name in names and holds(block))

    def __iter__(self) -> Iterator[T]:
        return (self._row(block) for _, block in self._blocks)

    def _row(self, block: Block) -> T:
        if block not in self._read:
            self._read[block] = self._table.parse(block, self._value)
        return self._read[block]


@functools.cache
def bundled_table(name: str) -> Table:
    """The table ``name``.toml that stands here."""
    return Table(FOLDER / f"{name}.toml")
