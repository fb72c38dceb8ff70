"""Texts that make a regular expression work as hard as it can, made from the expression itself."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from envdoctor.values.pattern import Pattern

if sys.version_info >= (3, 11):
    from re import _constants as constants
    from re import _parser as parser
else:
    import sre_constants as constants
    import sre_parse as parser

ROOT = Path(__file__).resolve().parents[3] / "envdoctor"
CALLS = {"compile", "search", "match", "fullmatch", "sub", "split", "findall", "finditer"}
UNITS = (
    "a",
    "a-",
    "a.",
    "a ",
    "-",
    " ",
    "\t",
    "1",
    "1.",
    "1-",
    ".",
    "[",
    "(",
    "[]",
    "'",
    '"',
    "|",
    ":",
    "=",
    "A_",
    "/a",
)
"""Letters, separators, blanks, tabs, digits, brackets, quotes: what reports consist of."""
FROM = 40  # a repetition of fewer than this is no ramp


Written = tuple[str, str, int, tuple[str, ...]]


def written(folders: Sequence[Path] = (ROOT,)) -> Iterator[Written]:
    """(place, source, flags, methods) of every expression written in the doctor, its probes aside.

    The first argument is evaluated in its module, so that expressions made of several parts are found too; of those
    that a function puts together from its own variables there are few, and the parts are expressions of their own. The
    methods are those by which it is applied; where that cannot be told, `search`, which works hardest.
    """
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            within = path.relative_to(ROOT.parent)
            if {"probe", "inject", "_bundle"} & set(within.parts):
                continue
            text = path.read_text("utf-8")
            if "re." not in text and "Pattern(" not in text:
                continue
            names = vars(importlib.import_module(".".join(within.with_suffix("").parts).removesuffix(".__init__")))
            tree = ast.parse(text)
            found = set()
            constants_ = {id(node.value): node.targets[0].id for node in ast.walk(tree)
                          if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}  # fmt: skip
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and node.args and _is_expression(node.func):
                    try:
                        source = eval(ast.unparse(node.args[0]), names)
                        flags = _flags(node, names)
                    except NameError:
                        continue
                    if isinstance(source, str):
                        methods = _methods(node, constants_.get(id(node)), text)
                        found.add(source)
                        yield f"{within}:{node.lineno}", source, flags, methods

            for source, flags in _held(list(names.values())):  # made by a function for a table
                if source not in found:
                    yield str(within), source, flags, ("search",)


def _held(values: list[Any]) -> Iterator[tuple[str, int]]:
    """Expressions in the tables of a module."""
    for value in values:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            yield value.pattern, value.flags
        elif isinstance(value, Pattern):
            yield value.source, value.flags
        elif isinstance(value, (tuple, list)):
            yield from _held(list(value))
        elif isinstance(value, dict):
            yield from _held(list(value.values()))


def _methods(node: ast.Call, name: str | None, text: str) -> tuple[str, ...]:
    if isinstance(node.func, ast.Attribute) and node.func.attr != "compile":
        used = {node.func.attr}
    else:
        used = set(re.findall(rf"\b{name}\.(\w+)\(", text)) if name else set()
        # Handed on under its name, or imported: nobody knows how it is applied
        if name is None or not name.startswith("_") or re.search(rf"\b{name}\b(?![.\w]| =|:)", text):
            used.add("search")
    kept = used & {"match", "fullmatch"}
    return tuple(sorted(kept | ({"search"} if used - kept else set())))


def _is_expression(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.value.id == "re" and function.attr in CALLS
    return isinstance(function, ast.Name) and function.id == "Pattern"


def _flags(node: ast.Call, names: dict[str, Any]) -> int:
    given = [keyword.value for keyword in node.keywords if keyword.arg == "flags"]
    compiled = isinstance(node.func, ast.Name) or (isinstance(node.func, ast.Attribute) and node.func.attr == "compile")
    if not given and compiled:
        given = node.args[1:2]
    elif not given and len(node.args) > 2:
        given = [argument for argument in node.args[2:] if ast.unparse(argument).startswith("re.")]
    return int(eval(ast.unparse(given[0]), names)) if given else 0


def attacks(source: str, flags: int, size: int) -> Iterator[str]:
    """Texts of about ``size`` characters: each repetition of the expression led up to, repeated, and then failed."""
    tree = parser.parse(source, flags)
    for before, unit in dict.fromkeys([("", ""), *_repetitions(list(tree), "")]):
        for one in dict.fromkeys((unit, *UNITS)):
            if one:
                yield before + one * (size // len(one)) + "!\x01"


def _repetitions(nodes: list[Any], before: str) -> Iterator[tuple[str, str]]:
    """(what leads up to it, one round of it) for each long repetition in a sequence of nodes."""
    for code, argument in nodes:
        for inside, unit in _inside(code, argument):
            yield from _repetitions(inside, before)
            if unit:
                yield before, _example(inside)
        before += _example([(code, argument)])


def _inside(code: Any, argument: Any) -> Iterator[tuple[list[Any], bool]]:
    name = str(code)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        yield list(argument[2]), argument[1] == constants.MAXREPEAT or argument[1] >= FROM
    elif name == "SUBPATTERN":
        yield list(argument[3]), False
    elif name == "BRANCH":
        yield from ((list(branch), False) for branch in argument[1])
    elif name in ("ASSERT", "ASSERT_NOT"):
        yield list(argument[1]), False
    elif name == "ATOMIC_GROUP":
        yield list(argument), False


def _example(nodes: list[Any]) -> str:
    """A short text that the nodes match; where they have a choice, the first."""
    text = ""
    for code, argument in nodes:
        name = str(code)
        if name == "LITERAL":
            text += chr(argument)
        elif name == "NOT_LITERAL":
            text += "b" if argument == ord("a") else "a"
        elif name == "ANY":
            text += "a"
        elif name == "IN":
            text += _member(argument)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            text += _example(list(argument[2])) * argument[0]
        elif name == "SUBPATTERN":
            text += _example(list(argument[3]))
        elif name == "BRANCH":
            text += _example(list(argument[1][0]))
        elif name == "ATOMIC_GROUP":
            text += _example(list(argument))
    return text


CANDIDATES = "a1A -_.,:;=()[]{}<>/\\|'\"#+*%@!~\t\x1b\x07\n·é\u200b\u3000"


def _member(items: list[Any]) -> str:
    """A character of a class."""
    compiled = parser.SubPattern(parser.State(), [(constants.IN, items)])
    expression = re.compile("".join([_class(compiled)]))
    for character in [*CANDIDATES, *map(chr, range(32, 0x3000))]:
        if expression.fullmatch(character):
            return character
    return "a"


CATEGORIES = {"DIGIT": r"\d", "NOT_DIGIT": r"\D", "SPACE": r"\s", "NOT_SPACE": r"\S", "WORD": r"\w", "NOT_WORD": r"\W"}


def _class(pattern: Any) -> str:
    (_, items) = pattern.data[0]
    parts = []
    for code, argument in items:
        name = str(code)
        if name == "NEGATE":
            parts.append("^")
        elif name == "LITERAL":
            parts.append(re.escape(chr(argument)))
        elif name == "RANGE":
            parts.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
        else:
            parts.append(CATEGORIES[str(argument).removeprefix("CATEGORY_")])
    return f"[{''.join(parts)}]"
