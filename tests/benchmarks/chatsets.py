"""Chats of other lengths than the bundled ones, made from the documentation that comes with this Python.

    python -m tests.benchmarks.chatsets documentation FILE    # a question, and all of a docstring or of a chapter
    python -m tests.benchmarks.chatsets turns FILE            # one to three short questions, each answered in a line

Texts are the docstrings of the standard library's modules, classes and functions, read from their source (nothing of it
is imported), and the chapters that pydoc shows of the language. The same Python writes the same bytes. The files are
that Python's documentation, so they are made where they are needed and are not kept here.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import inspect
import json
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, NamedTuple

# Folders whose docstrings explain tests, programs and other people's packages rather than the library.
NOT_READ = {"site-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "ensurepip", "pydoc_data", "config"}
CHATS, SEED = 1000, 0
LEAST, MOST = 120, 6000  # characters of a long answer: from two lines to some pages
LINE = 100  # characters of a short answer at most
Chat = list[dict[str, str]]


class Entry(NamedTuple):
    """One thing that is documented: what it is, its full name, how it is written, and its text."""

    kind: str  # module, class or function
    name: str
    written: str
    text: str


def entries(root: Path) -> list[Entry]:
    """Of all public modules, classes and functions below `root`, in the order of their files and lines."""
    found: list[Entry] = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if NOT_READ.intersection(parts) or any(part.startswith("_") and part != "__init__" for part in parts):
            continue
        name = ".".join(part for part in parts if part != "__init__")
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:
            continue  # a template of a source file
        if text := ast.get_docstring(tree):
            found.append(Entry("module", name, name, text))
        found.extend(_within(tree, name))
    return found


def _within(tree: ast.AST, prefix: str) -> Iterator[Entry]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or node.name.startswith("_"):
            continue
        name, text = f"{prefix}.{node.name}", ast.get_docstring(node)
        if isinstance(node, ast.ClassDef):
            if text:
                yield Entry("class", name, name, text)
            yield from _within(node, name)
        elif text:
            yield Entry("function", name, f"{name}({ast.unparse(node.args)})", text)


def chapters() -> list[Entry]:
    """What pydoc tells of the language itself."""
    from pydoc_data import topics

    return [Entry("chapter", name, name, inspect.cleandoc(text)) for name, text in sorted(topics.topics.items())]


ASKED = {
    "module": "What is the module `%s` for?", "class": "What is `%s`?", "function": "What does `%s` do?",
    "chapter": "What does Python's reference say of `%s`?",
}  # fmt: skip


def documentation(known: list[Entry], draw: random.Random) -> Iterator[Chat]:
    """One question and one whole text each, in an order of `draw`: a few lines mostly, pages now and then."""
    fitting = [entry for entry in known if LEAST <= len(entry.text) <= MOST]
    for entry in draw.sample(fitting, len(fitting)):
        yield _turn(ASKED[entry.kind] % entry.written, entry.text)


def turns(known: list[Entry], draw: random.Random) -> Iterator[Chat]:
    """One to three neighbours each, asked for by name and answered in a line."""
    short = [Entry(entry.kind, entry.name, entry.written, entry.text.partition("\n\n")[0]) for entry in known]
    short = [entry for entry in short if len(entry.text) <= LINE and entry.kind != "chapter"]
    starts, at = [], 0
    while at < len(short):
        starts.append((at, at := at + draw.randint(1, 3)))
    for low, high in draw.sample(starts, len(starts)):
        yield [turn for entry in short[low:high] for turn in _turn(f"`{entry.name}`?", " ".join(entry.text.split()))]


def _turn(question: str, answer: str) -> Chat:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


SETS: dict[str, Callable[[list[Entry], random.Random], Iterator[Chat]]] = {
    "documentation": documentation,
    "turns": turns,
}


def written(name: str, path: Path, chats: int = CHATS, root: Path | None = None) -> dict[str, Any]:
    """Write the first `chats` chats of the set `name` to `path`, JSON lines; how many, and the file's sha256."""
    known = entries(root or Path(sysconfig.get_path("stdlib"))) + chapters()
    rows = [json.dumps({"messages": chat}) for chat, _ in zip(SETS[name](known, random.Random(SEED)), range(chats))]
    text = "".join(row + "\n" for row in rows).encode()
    path.write_bytes(text)
    return {"chats": len(rows), "sha256": hashlib.sha256(text).hexdigest()}


def main() -> None:
    """Write one of the sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=list(SETS))
    parser.add_argument("file", type=Path)
    parser.add_argument("--chats", type=int, default=CHATS, help="at most")
    given = parser.parse_args()
    print("%(chats)d chats, sha256 %(sha256)s" % written(given.set, given.file, given.chats))


if __name__ == "__main__":
    main()
