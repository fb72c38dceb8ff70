"""YAML, and JSON with comments, as values that know their lines. PyYAML reads both; tags make nothing here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.values.frozen import frozen

DEPTH = 40
ENTRIES = 20_000  # of a whole file, each alias counted once


@frozen
class Node:
    """A value: text, a list or a mapping; ``line`` counts from 1. Of a mapping's entries the key's line is kept too."""

    line: int
    text: str | None = None
    items: tuple[Node, ...] = ()
    entries: Mapping[str, tuple[int, Node]] | None = None

    def at(self, *keys: str) -> Node | None:
        """The node under these keys."""
        node: Node | None = self
        for key in keys:
            found = (node.entries or {}).get(key) if node is not None else None
            node = found[1] if found else None
        return node

    def value(self, *keys: str) -> str | None:
        """The text under these keys."""
        found = self.at(*keys)
        return found.text if found is not None else None

    @property
    def named(self) -> Iterator[tuple[str, int, Node]]:
        """Key, its line, and value of each entry."""
        yield from ((key, line, node) for key, (line, node) in (self.entries or {}).items())


def read(source: str, path: str) -> Node:
    """The document of a YAML text. Raises `Trouble` with the line of a mistake."""
    import yaml

    try:
        root: Any = yaml.compose(source, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = f"not valid YAML: {error.problem or error.context}"
        raise Trouble(problem, file=Path(path), where=where, remedy="Correct that line.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problem = f"not readable as YAML ({type(error).__name__})"
        raise Trouble(problem, file=Path(path), remedy="Write it again.") from error
    if root is None:
        raise Trouble("there is nothing in it", file=Path(path), remedy="Is it the right file?")
    return _DocumentReader(path).node(root, 0)


def read_with_comments(source: str, path: str) -> Node:
    """JSON with comments and trailing commas, as devcontainers are written: without them it is YAML."""
    return read(_without_comments(source), path)


class _DocumentReader:
    """Each node is made once, however many aliases name it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._made: dict[int, Node] = {}

    def node(self, node: Any, depth: int) -> Node:
        if depth > DEPTH or len(self._made) > ENTRIES:
            line = node.start_mark.line + 1
            raise Trouble("nested too deeply, or too large", file=Path(self._path), where=f"line {line}")
        if (made := self._made.get(id(node))) is None:
            made = self._made[id(node)] = self._new(node, depth)
        return made

    def _new(self, node: Any, depth: int) -> Node:
        line = node.start_mark.line + 1
        if node.id == "sequence":
            return Node(line=line, items=tuple(self.node(each, depth + 1) for each in node.value))
        if node.id != "mapping":
            return Node(line=line, text=node.value)
        entries: dict[str, tuple[int, Node]] = {}
        merged: dict[str, tuple[int, Node]] = {}
        for key, value in node.value:
            if key.value == "<<":
                for source in value.value if value.id == "sequence" else (value,):
                    for name, entry in (self.node(source, depth + 1).entries or {}).items():
                        merged.setdefault(name, entry)
            else:
                entries[str(key.value)] = (key.start_mark.line + 1, self.node(value, depth + 1))
        return Node(line=line, entries={**merged, **entries})


def _without_comments(source: str) -> str:
    """Comments as blanks, tabs between values as spaces; every line keeps its number."""
    made: list[str] = []
    at, size = 0, len(source)
    while at < size:
        char = source[at]
        if char == '"':
            end = at + 1
            while end < size and source[end] != '"':
                end += 2 if source[end] == "\\" else 1
            made.append(source[at : end + 1])
            at = end + 1
        elif source.startswith("//", at):
            while at < size and source[at] != "\n":
                at += 1
        elif source.startswith("/*", at):
            end = source.find("*/", at + 2)
            end = size if end < 0 else end + 2
            made.append("\n" * source.count("\n", at, end))
            at = end
        else:
            made.append(" " if char == "\t" else char)
            at += 1
    return "".join(made)
