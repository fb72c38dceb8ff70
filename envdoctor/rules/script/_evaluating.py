"""Where a script evaluates its model, and whether the recording of gradients is off there."""

import ast

from envdoctor.rules.script._tree import Function, Tree, called_on, inside, method_name

_GUARDS = ("no_grad", "inference_mode", "set_grad_enabled", "eval_mode")


def forward_with_graph(tree: Tree, evaluation: ast.Call) -> ast.Call | None:
    """The first ``model(...)`` after this ``model.eval()`` that records a graph."""
    scope = tree.scope(evaluation)
    forward = _forward(scope, called_on(evaluation), evaluation.lineno)
    if forward is None or _is_guarded(tree, forward) or _is_called_under_guard(tree, scope):
        return None
    return forward


def _forward(scope: ast.AST, model: str, after: int) -> ast.Call | None:
    """The first ``model(...)`` between ``model.eval()`` and the next ``model.train()`` of the same function."""
    calls = [node for node in inside(scope) if isinstance(node, ast.Call) and node.lineno > after]
    trains = min((c.lineno for c in calls if ast.unparse(c.func) == f"{model}.train"), default=1 << 30)
    forwards = [c for c in calls if ast.unparse(c.func) == model and c.lineno < trains]
    if any(method_name(c) == "backward" and c.lineno < trains for c in calls):
        return None  # gradients are wanted: an attack, a saliency map, a frozen part
    return min(forwards, key=lambda c: c.lineno, default=None)


def _is_guarded(tree: Tree, node: ast.AST) -> bool:
    for parent in tree.above(node):
        around: list[ast.expr] = []
        if isinstance(parent, (ast.With, ast.AsyncWith)):
            around = [item.context_expr for item in parent.items]
        elif isinstance(parent, Function):
            around = parent.decorator_list
        if any(guard in ast.unparse(part) for part in around for guard in _GUARDS):
            return True
    switches = tree.calls("torch.set_grad_enabled", "torch.autograd.set_grad_enabled")
    return any(switch.lineno < getattr(node, "lineno", 0) for switch in switches)


def _is_called_under_guard(tree: Tree, scope: ast.AST) -> bool:
    """Is the whole function only called where recording is off already?"""
    if not isinstance(scope, Function):
        return False
    calls = [c for c in tree.nodes if isinstance(c, ast.Call) and ast.unparse(c.func).rpartition(".")[2] == scope.name]
    return bool(calls) and all(_is_guarded(tree, call) for call in calls)
