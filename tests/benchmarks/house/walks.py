"""How far a newcomer goes who follows one value through the source from the door to where it is used.

The walk starts in a function with some of its parameters and goes, in the order in which they are written, through the
calls that are given the value, or something that was made of it. Every function of the product is read once. A *stay*
is a file entered from another one on the way down, a *room* a file, a *return* a stay in a room entered before:
stays = rooms + returns. Calls through values whose type no annotation tells are not followed, nor what only tells of
an error. `deep`: how many functions into each other the reader goes: 1 opens what the first function calls.
"""

from __future__ import annotations

import ast
import contextlib
from dataclasses import dataclass, field

from tests.benchmarks.house.source import FUNCTIONS, Function, Module, Source, decorators

Type = tuple[Module, ast.ClassDef]


@dataclass(frozen=True)
class Walk:
    """From where, with which parameters, to the function at whose door it ends (None: to the end), past which doors."""

    name: str
    start: str
    values: tuple[str, ...]
    end: str | None = None
    passing: tuple[str, ...] = ()


WALKS = (
    Walk("check: judge(facts) -> checkup", "envdoctor.doctor:judge", ("facts", "options")),
    Walk("fix: fix(environment) -> changed", "envdoctor.doctor:fix", ("environment",)),
    Walk("verify: judge(reports) -> verdict", "envdoctor.speed.verdict:judge", ("reports",)),
    # A measured run goes another way from there on.
    Walk("train: execute(settings) -> first step", "trainer.run:execute", ("settings",), "trainer.loop:train",
         ("trainer.run:_measure",)),
)  # fmt: skip


@dataclass
class Way:
    """The functions met, in order."""

    doors: list[tuple[str, str]] = field(default_factory=list)

    @property
    def stays(self) -> list[str]:
        files = [module for module, _ in self.doors]
        return [file for place, file in enumerate(files) if not place or files[place - 1] != file]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Stays, rooms, returns."""
        stays = self.stays
        rooms = len(set(stays))
        return len(stays), rooms, len(stays) - rooms


class Arrived(Exception):
    """The function at which the walk ends."""


EVERYTHING = 1000


def follow(source: Source, walk: Walk, deep: int = EVERYTHING) -> Way:
    """Walk from the start until the end's door, or until nothing new is called."""
    module, _, name = walk.start.rpartition(":")
    found = source.definition(module, name)
    if found is None or not isinstance(found[1], FUNCTIONS):
        raise ValueError(f"{walk.start}: no such function")
    walker = _Walker(source, walk, deep)
    with contextlib.suppress(Arrived):
        walker.enter(found[0], found[1], set(walk.values), None)
    return walker.way


class _Walker:
    def __init__(self, source: Source, walk: Walk, deep: int) -> None:
        self.source, self.walk, self.way = source, walk, Way()
        self.read: set[int] = set()
        self.left = deep

    def enter(self, module: Module, function: Function, values: set[str], own: Type | None) -> None:
        door = f"{module.name}:{function.name}"
        if id(function) in self.read or door in self.walk.passing:
            return
        self.read.add(id(function))
        self.way.doors.append((module.name, function.name))
        if self.walk.end == door:
            raise Arrived
        if self.left:
            self.left -= 1
            _Reader(self, module, function, values, own).all(function.body)
            self.left += 1


class _Reader:
    """One function, read from top to bottom."""

    def __init__(self, walker: _Walker, module: Module, function: Function, values: set[str], own: Type | None) -> None:
        self.walker, self.source, self.module = walker, walker.source, module
        self.values, self.own = set(values), own
        self.names = {**module.names, **self.source.imported(module, function)}
        self.types: dict[str, Type] = {"self": own} if own else {}
        self.inner = {n.name: n for n in ast.walk(function) if isinstance(n, FUNCTIONS) and n is not function}
        arguments = function.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            found = self.type_named(module, argument.annotation)
            if found:
                self.types[argument.arg] = found

    def all(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Raise, ast.Import, ast.ImportFrom)):
            return
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            self.expression(node.value)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self.bind(target, node.value)
            return
        if isinstance(node, (ast.For, ast.AsyncFor)):
            self.expression(node.iter)
            self.bind(node.target, node.iter)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self.expression(item.context_expr)
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, item.context_expr)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.expression(child)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.ExceptHandler):
                self.all(child.body)

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
            for place, one in enumerate(target.elts):
                self.bind(one, parts[place] if parts else value)
        elif isinstance(target, ast.Name):
            if self.carries(value):
                self.values.add(target.id)
            found = self.type_of(value)
            if found:
                self.types[target.id] = found

    def expression(self, node: ast.AST) -> None:
        """Calls in the order in which they are made: arguments first."""
        for child in ast.iter_child_nodes(node):
            self.expression(child)
        if isinstance(node, ast.Call) and self.carries(node):
            self.call(node)

    def carries(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.values for n in ast.walk(node))

    def call(self, node: ast.Call) -> None:
        found = self.target(node.func)
        if found is None:
            return
        module, function, own = found
        arguments = [*function.args.posonlyargs, *function.args.args]
        if own is not None and "staticmethod" not in decorators(function):
            arguments = arguments[1:]
        values = {a.arg for a, v in zip(arguments, node.args) if self.carries(v)}
        values |= {k.arg for k in node.keywords if k.arg and self.carries(k.value)}
        if own is not None:
            values.add("self")
        self.walker.enter(module, function, values, own)

    def target(self, func: ast.expr) -> tuple[Module, Function, Type | None] | None:
        """The function that is called, and the class it is a method of."""
        if isinstance(func, ast.Name):
            if func.id in self.inner:
                return self.module, self.inner[func.id], None
            return self.of_definition(self.named(func.id))
        if isinstance(func, ast.Attribute):
            if isinstance(func.value, ast.Name) and func.value.id not in self.types:
                name = self.names.get(func.value.id)
                if name and name[1] is None:
                    return self.of_definition(self.source.definition(name[0], func.attr))
                above = self.named(func.value.id)
            else:
                above = self.type_of(func.value)
            if above and isinstance(above[1], ast.ClassDef):
                method = self.source.methods(*above).get(func.attr)
                return (method[0], method[1], above) if method else None
        return None

    def of_definition(self, found: object) -> tuple[Module, Function, Type | None] | None:
        if not isinstance(found, tuple):
            return None
        module, node = found
        if isinstance(node, ast.ClassDef):
            methods = self.source.methods(module, node)
            made = methods.get("__init__") or methods.get("__post_init__")
            return (made[0], made[1], (module, node)) if made else None
        return module, node, None

    def named(self, name: str) -> object:
        bound = self.names.get(name)
        if bound and bound[1]:
            return self.source.definition(bound[0], bound[1])
        return self.source.definition(self.module.name, name)

    def type_named(self, module: Module, annotation: ast.expr | None) -> Type | None:
        """The class of the product that an annotation names; of `X | None`, `Iterator[X]` and their kind, X."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        if isinstance(annotation, ast.BinOp):
            return self.type_named(module, annotation.left) or self.type_named(module, annotation.right)
        if isinstance(annotation, ast.Subscript):
            wrapper = ast.unparse(annotation.value)
            return (
                self.type_named(module, annotation.slice) if wrapper in ("Iterator", "Optional", "Generator") else None
            )
        name = annotation.id if isinstance(annotation, ast.Name) else None
        found = None
        if name:
            found = self.source.definition(module.name, name)
        elif isinstance(annotation, ast.Attribute) and isinstance(annotation.value, ast.Name):
            bound = module.names.get(annotation.value.id)
            found = self.source.definition(bound[0], annotation.attr) if bound and bound[1] is None else None
        return (found[0], found[1]) if found and isinstance(found[1], ast.ClassDef) else None

    def type_of(self, value: ast.expr) -> Type | None:
        """The class of the product that a value is of, as far as annotations tell."""
        if isinstance(value, ast.Name):
            return self.types.get(value.id)
        if isinstance(value, ast.BoolOp):
            return next(filter(None, map(self.type_of, value.values)), None)
        if isinstance(value, ast.IfExp):
            return self.type_of(value.body) or self.type_of(value.orelse)
        if isinstance(value, ast.Attribute):
            above = self.type_of(value.value)
            if above is None:
                return None
            held = self.source.fields(*above).get(value.attr)
            if held:
                return self.type_named(*held)
            method = self.source.methods(*above).get(value.attr)
            return self.type_named(method[0], method[1].returns) if method else None
        if isinstance(value, ast.Call):
            if isinstance(value.func, ast.Name) and value.func.id == "replace" and value.args:
                return self.type_of(value.args[0])
            found = self.named(value.func.id) if isinstance(value.func, ast.Name) else None
            if isinstance(found, tuple) and isinstance(found[1], ast.ClassDef):
                return found[0], found[1]
            made = self.target(value.func)
            if made is None:
                return None
            if made[1].name in ("__init__", "__post_init__"):
                return made[2]
            return self.type_named(made[0], made[1].returns)
        return None
