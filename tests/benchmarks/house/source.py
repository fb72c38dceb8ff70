"""The product's source, parsed once: modules, what their names mean, and the types that annotations tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Module:
    """One file. ``names``: what a word at its top level stands for, as (module, name); name None for a module."""

    name: str
    path: Path
    tree: ast.Module
    lines: int
    names: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    defined: dict[str, Definition] = field(default_factory=dict)


class Source:
    """All modules of one checkout's product."""

    def __init__(self, root: Path, halves: tuple[str, ...] = ("envdoctor", "trainer")) -> None:
        self.root = root
        self.modules: dict[str, Module] = {}
        for half in halves:
            for path in sorted((root / half).rglob("*.py")):
                if "_bundle" not in path.parts:
                    self._read(path)
        for module in self.modules.values():
            module.names.update(self.imported(module, module.tree))

    def _read(self, path: Path) -> None:
        text = path.read_text("utf-8")
        name = ".".join(path.relative_to(self.root).with_suffix("").parts)
        name = name[: -len(".__init__")] if name.endswith(".__init__") else name
        module = Module(name, path, ast.parse(text), len(text.splitlines()))
        module.defined = {n.name: n for n in module.tree.body if isinstance(n, (*FUNCTIONS, ast.ClassDef))}
        self.modules[name] = module

    def imported(self, module: Module, tree: ast.AST) -> dict[str, tuple[str, str | None]]:
        """What the import statements below `tree` bind, wherever they stand."""
        bound: dict[str, tuple[str, str | None]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        bound[alias.asname] = (alias.name, None)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    bound[alias.asname or alias.name] = (
                        (whole, None) if whole in self.modules else (node.module, alias.name)
                    )
        return bound

    def definition(self, module: str, name: str, depth: int = 0) -> tuple[Module, Definition] | None:
        """Where a name that `module` has is defined, through what is imported on."""
        found = self.modules.get(module)
        if found is None or depth > 5:
            return None
        if name in found.defined:
            return found, found.defined[name]
        target = found.names.get(name)
        return self.definition(target[0], target[1], depth + 1) if target and target[1] else None

    def functions(self) -> Iterator[tuple[Module, Function]]:
        """Every function and method."""
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, FUNCTIONS):
                    yield module, node

    def methods(self, module: Module, cls: ast.ClassDef, depth: int = 0) -> dict[str, tuple[Module, Function]]:
        """The methods of a class, its bases' included."""
        found: dict[str, tuple[Module, Function]] = {}
        for base in cls.bases:
            above = self.definition(module.name, base.id) if isinstance(base, ast.Name) else None
            if above and isinstance(above[1], ast.ClassDef) and depth < 4:
                found.update(self.methods(above[0], above[1], depth + 1))
        found.update({n.name: (module, n) for n in cls.body if isinstance(n, FUNCTIONS)})
        return found

    def fields(self, module: Module, cls: ast.ClassDef) -> dict[str, tuple[Module, ast.expr]]:
        """The annotated fields of a class."""
        return {
            n.target.id: (module, n.annotation)
            for n in cls.body
            if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        }


def decorators(node: Definition) -> list[str]:
    """The names of a definition's decorators."""
    return [ast.unparse(d).partition("(")[0] for d in node.decorator_list]
