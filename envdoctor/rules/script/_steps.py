"""What of a script runs in every training step: the innermost loops that call ``backward``, and what they call."""

import ast
import functools
from collections.abc import Iterator

from envdoctor.rules.rule import Pattern
from envdoctor.rules.script._tree import Tree, called_on, inside, method_name

Loop = ast.For | ast.While | ast.AsyncFor

_METHODS = frozenset(("training_step", "compute_loss"))
"""Methods that trainers call in every step (Lightning's LightningModule, transformers' Trainer)."""

_RARELY = Pattern(r"(?i)%|\b(?:log|print|eval|save|report|display|sync|should|verbose|debug|is_last|last|first)\w*")


@functools.lru_cache(maxsize=64)
def steps(tree: Tree) -> tuple[ast.AST, ...]:
    """Loops and functions whose body runs once per training step."""
    functions = {node.name: node for node in tree.nodes if isinstance(node, ast.FunctionDef)}
    loops = [node for node in tree.nodes if isinstance(node, (ast.For, ast.While)) and _trains(node, functions)]
    innermost = [loop for loop in loops if not any(other is not loop and _within(tree, other, loop) for other in loops)]
    found: list[ast.AST] = list(innermost)
    for loop in innermost:
        called = [functions.get(_callee(node)) for node in inside(loop) if isinstance(node, ast.Call)]
        found += [function for function in dict.fromkeys(called) if function is not None and _has_backward(function)]
    found += [
        node
        for node in tree.nodes
        if isinstance(node, ast.FunctionDef)
        and node.name in _METHODS
        and isinstance(tree.parents.get(node), ast.ClassDef)
    ]
    return tuple(found)


def loops(tree: Tree) -> list[ast.For | ast.While]:
    """Of those the loops."""
    return [step for step in steps(tree) if isinstance(step, (ast.For, ast.While))]


@functools.lru_cache(maxsize=64)
def each_step(tree: Tree) -> tuple[ast.AST, ...]:
    """Nodes that run in every step: not those that only a condition on the step number or on logging reaches."""
    found: dict[ast.AST, None] = {}
    for step in steps(tree):
        body: list[ast.stmt] = getattr(step, "body", [])
        for node in _always(body):
            found.setdefault(node)
        if isinstance(step, ast.While):
            for node in (step.test, *inside(step.test)):
                found.setdefault(node)
    return tuple(sorted(found, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))))


def calls_each_step(tree: Tree, *names: str) -> Iterator[ast.Call]:
    """Calls of these functions in every step; all where none is named."""
    for node in each_step(tree):
        if isinstance(node, ast.Call) and (not names or tree.is_call(node, *names)):
            yield node


def _always(block: list[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes of a block, less the branches that are taken rarely, on errors, or on the way out."""
    for statement in block:
        if isinstance(statement, ast.If):
            rare = bool(_RARELY.search(ast.unparse(statement.test)))
            yield from (statement.test, *inside(statement.test))
            if not rare and not _leaves(statement.body):
                yield from _always(statement.body)
            if not rare and not _leaves(statement.orelse):
                yield from _always(statement.orelse)
            if rare and statement.body and isinstance(statement.body[-1], ast.Continue):
                return
        elif isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try)):
            for field in ("target", "iter", "test"):
                if isinstance(part := getattr(statement, field, None), ast.expr):
                    yield from (part, *inside(part))
            for item in getattr(statement, "items", ()):
                yield from (item.context_expr, *inside(item.context_expr))
            yield statement
            yield from _always(statement.body)
        elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from (statement, *inside(statement))


def copies_to_gpu(tree: Tree) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Copies in every step, each with what it copies: ``x.to(device)``, ``x.cuda()``, not ``x.to(torch.bfloat16)``."""
    for call in calls_each_step(tree, ".to", ".cuda"):
        where = ast.unparse(call.args[0]) if call.args else ""
        to_gpu = method_name(call) == "cuda" or any(word in where for word in ("device", "cuda", "rank"))
        if to_gpu and isinstance(call.func, ast.Attribute):
            yield call, call.func.value


def collection(node: ast.AST) -> tuple[str, str]:
    """``("total", "loss")`` of ``total += loss`` and ``total.append(loss)``; empty where no plain name is collected."""
    into, kept = "", None
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        into, kept = ast.unparse(node.target), node.value
    elif isinstance(node, ast.Call) and method_name(node) == "append" and node.args:
        into, kept = called_on(node), node.args[0]
    return (into, kept.id) if isinstance(kept, ast.Name) else ("", "")


def losses(tree: Tree) -> frozenset[str]:
    """Names whose ``backward`` is called, and those that such a name is computed from or into by plain arithmetic."""
    names: set[str] = set()
    for node in tree.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("backward"):
            names.update(_roots(node.func.value))
            for argument in node.args[:1]:
                names.update(_roots(argument))
        if isinstance(node, ast.FunctionDef) and node.name in _METHODS:
            for inner in inside(node):
                if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Name):
                    names.add(inner.value.id)
    return frozenset(names - {"accelerator", "fabric", "self", "scaler", "engine", "model_engine", "model"})


def _roots(node: ast.expr) -> Iterator[str]:
    """``scaler.scale(loss)`` and ``(loss / n)`` both stand on ``loss``."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.BinOp):
        yield from _roots(node.left)
        yield from _roots(node.right)
    elif isinstance(node, ast.Call):
        for argument in node.args[:1]:
            yield from _roots(argument)


def _trains(loop: Loop, functions: dict[str, ast.FunctionDef]) -> bool:
    if _has_backward(loop):
        return True
    return any(
        isinstance(node, ast.Call)
        and (called := functions.get(_callee(node))) is not None
        and _has_backward(called)
        and not _has_loop_with_backward(called)
        for node in inside(loop)
    )


def _has_backward(node: ast.AST) -> bool:
    return any(method_name(inner) in ("backward", "manual_backward") for inner in inside(node))


def _has_loop_with_backward(function: ast.AST) -> bool:
    return any(isinstance(node, (ast.For, ast.While)) and _has_backward(node) for node in inside(function))


def _callee(call: ast.Call) -> str:
    """The plain name of what is called: ``step(...)`` and ``self.step(...)``."""
    if isinstance(call.func, ast.Name):
        return call.func.id
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "self":
        return call.func.attr
    return ""


def _within(tree: Tree, node: ast.AST, outer: ast.AST) -> bool:
    return any(parent is outer for parent in tree.above(node))


def _leaves(body: list[ast.stmt]) -> bool:
    return any(isinstance(statement, (ast.Return, ast.Break, ast.Raise)) for statement in body)
