import ast

from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import Tree, finding_at, inside, trees

_GUARDS = ("no_grad", "inference_mode", "set_grad_enabled", "eval_mode")


@rule(WARNING, kind="script-slow", expected="with torch.inference_mode():")
def evaluation_with_graph(facts: Facts) -> Findings:
    """Evaluation records a graph that nobody differentiates.

    Why: model.eval() only switches layers like dropout. Without torch.no_grad() or inference_mode() each forward pass
    keeps its activations, which costs time and several times the memory.
    Fix: put the evaluation under torch.inference_mode().
    Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """
    for tree in trees(facts):
        for call in tree.calls(".eval"):
            if call.args or not isinstance(call.func, ast.Attribute):
                continue
            model = ast.unparse(call.func.value)
            scope = tree.scope(call)
            forward = _forward(scope, model, call.lineno)
            if forward is None or _is_guarded(tree, forward) or _called_under_guard(tree, scope):
                continue
            yield finding_at(
                tree,
                forward,
                message=f"{model} runs in evaluation mode and still records a graph.",
                fix="Put the evaluation under torch.inference_mode() (or torch.no_grad()).",
                run="with torch.inference_mode():",
            )


def _forward(scope: ast.AST, model: str, after: int) -> ast.Call | None:
    """The first ``model(...)`` between ``model.eval()`` and the next ``model.train()`` of the same function."""
    calls = [node for node in inside(scope) if isinstance(node, ast.Call) and node.lineno > after]
    trains = min((c.lineno for c in calls if ast.unparse(c.func) == f"{model}.train"), default=1 << 30)
    forwards = [c for c in calls if ast.unparse(c.func) == model and c.lineno < trains]
    if any(isinstance(c.func, ast.Attribute) and c.func.attr == "backward" and c.lineno < trains for c in calls):
        return None  # gradients are wanted: an attack, a saliency map, a frozen part
    return min(forwards, key=lambda c: c.lineno, default=None)


def _is_guarded(tree: Tree, node: ast.AST) -> bool:
    for parent in tree.above(node):
        if isinstance(parent, (ast.With, ast.AsyncWith)) and any(
            guard in ast.unparse(item.context_expr) for item in parent.items for guard in _GUARDS
        ):
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
            guard in ast.unparse(decorator) for decorator in parent.decorator_list for guard in _GUARDS
        ):
            return True
    return any(
        tree.is_call(other, "torch.set_grad_enabled", "torch.autograd.set_grad_enabled")
        and other.lineno < getattr(node, "lineno", 0)
        for other in tree.nodes
        if isinstance(other, ast.Call)
    )


def _called_under_guard(tree: Tree, scope: ast.AST) -> bool:
    """Is the whole function only called where recording is off already?"""
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    calls = [c for c in tree.nodes if isinstance(c, ast.Call) and ast.unparse(c.func).rpartition(".")[2] == scope.name]
    return bool(calls) and all(_is_guarded(tree, call) for call in calls)
