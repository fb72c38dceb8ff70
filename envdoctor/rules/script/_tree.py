"""A Python script as a tree whose names are resolved, so that rules ask for ``torch.load`` and not for spellings."""

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from envdoctor.facts.model import Script
from envdoctor.rules.rule import Facts, Skip

NODES = 200_000
"""A training script has some thousand nodes; beyond this a file is generated and nobody wrote its faults by hand."""

Node = ast.AST
Call = ast.Call
code = ast.unparse
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One parsed script: its nodes, the parent of each, and what imported names stand for."""

    script: Script
    module: ast.Module
    nodes: tuple[ast.AST, ...]
    parents: Mapping[ast.AST, ast.AST]
    names: Mapping[str, str]

    def dotted(self, node: ast.AST | None) -> str:
        """``F.dropout`` as "torch.nn.functional.dropout"; "" for what is no plain chain of names."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.names.get(node.id, node.id), *reversed(parts)])

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of these functions, by full names ("torch.load") or by method (".item"); all where none is named."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and (not names or self.is_call(node, *names)):
                yield node

    def is_call(self, node: ast.AST, *names: str) -> bool:
        if not isinstance(node, ast.Call):
            return False
        full, method = self.dotted(node.func), f".{method_name(node)}"
        return any(full == name or (name.startswith(".") and method == name) for name in names)

    def assignments(self) -> Iterator[tuple[ast.expr, ast.expr]]:
        """Target and value of every plain assignment."""
        for node in self.nodes:
            yield from assignments(node)

    def settings(self, name: str) -> Iterator[tuple[ast.AST, object]]:
        """Where a keyword or a dict's key of this name is given a literal, and that literal."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and (given := keyword(node, name)) is not None:
                yield node, constant(given)
            for key, value in dict_items(node):
                if constant(key) == name:
                    yield value, constant(value)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The node's ancestors, nearest first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def scope(self, node: ast.AST) -> ast.AST:
        """The function that the node stands in, or the module."""
        return next((a for a in self.above(node) if isinstance(a, Function)), self.module)

    def imports(self, *packages: str) -> bool:
        """Does the script import one of these packages?"""
        return any(name.partition(".")[0] in packages for name in self.names.values())

    def place(self, node: ast.AST) -> str:
        """ "train.py:12", the subject of findings."""
        return f"{self.script.path}:{getattr(node, 'lineno', 1)}"

    def line(self, node: ast.AST) -> str:
        """The source line of the node, without its indentation."""
        lines = _lines(self.script.source)
        number = getattr(node, "lineno", 1)
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def trees(facts: Facts) -> Iterator[Tree]:
    """The Python scripts among the facts that can be parsed. Raises `Skip` when there is none."""
    scripts = [script for script in facts.scripts if script.language == "python"]
    if not scripts:
        raise Skip("no Python script was given")
    parsed = [tree for script in scripts if (tree := parse(script)) is not None]
    if not parsed:
        raise Skip("the script cannot be parsed")
    yield from parsed


@functools.lru_cache(maxsize=64)
def parse(script: Script) -> Tree | None:
    """The tree of a script; None for one that this Python cannot parse, or that is absurdly deep or large."""
    try:
        module = ast.parse(script.source)
        nodes = tuple(ast.walk(module))
        if len(nodes) > NODES:
            return None
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        return Tree(script, module, nodes, parents, _names(nodes))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@functools.lru_cache(maxsize=64)
def _lines(source: str) -> list[str]:
    return source.splitlines()


def _names(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Local name -> what it stands for: ``import torch.nn.functional as F``, ``from torch.amp import GradScaler``."""
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def method_name(node: ast.AST) -> str:
    """``"item"`` of ``loss.item()``; "" for what is no call of a method."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def called_on(node: ast.AST) -> str:
    """The text of what a method is called on: ``"loss"`` of ``loss.item()``; "" for what is no such call."""
    return ast.unparse(node.func.value) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def has_unpacked(call: ast.Call) -> bool:
    """Are keywords given by ``**options``, and therefore not known?"""
    return any(word.arg is None for word in call.keywords)


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value given for a keyword of a call."""
    return next((word.value for word in call.keywords if word.arg == name), None)


def constant(node: ast.AST | None) -> object:
    """The value of a literal; None for anything else (and for a literal None)."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, (int, float)) else None
    return node.value if isinstance(node, ast.Constant) else None


def keyword_literal(call: ast.Call, name: str) -> object:
    """The literal given for a keyword, or None."""
    return constant(keyword(call, name))


def dict_items(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Keys and values of a dict that is written out."""
    if isinstance(node, ast.Dict):
        yield from ((key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None)


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """The node's descendants, not entering functions and classes that are only defined there."""
    stack = list(ast.iter_child_nodes(node))
    while stack:
        current = stack.pop()
        yield current
        if not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(current))


def assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Target and value of a plain assignment."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
