"""Mixed precision as a script uses it: its autocast regions and its gradient scalers."""

import ast
from collections.abc import Iterator

from envdoctor.rules.script._tree import Tree, constant, keyword, keyword_literal

_AUTOCAST = ("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast",
             "torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast")  # fmt: skip
_SCALER = ("torch.cuda.amp.GradScaler", "torch.amp.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler",
           "torch.amp.grad_scaler.GradScaler")  # fmt: skip


def autocasts(tree: Tree) -> Iterator[tuple[ast.Call, str]]:
    """Autocast regions on CUDA and their dtype: "float16" (its default), "bfloat16", or "" when it is computed."""
    for call in tree.calls(*_AUTOCAST):
        if (
            keyword_literal(call, "enabled") is False
            or constant(call.args[0] if call.args else keyword(call, "device_type")) == "cpu"
        ):
            continue
        dtype = keyword(call, "dtype") or (call.args[1] if len(call.args) > 1 else None)
        yield call, "float16" if dtype is None else _dtype(tree, dtype)


def scalers(tree: Tree) -> Iterator[ast.Call]:
    """Gradient scalers that are not switched off."""
    for call in tree.calls(*_SCALER):
        if keyword_literal(call, "enabled") is not False and not (call.args and constant(call.args[-1]) is False):
            enabled = keyword(call, "enabled")
            if enabled is None or isinstance(enabled, ast.Constant):
                yield call


def _dtype(tree: Tree, node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        values = [value for to, value in tree.assignments() if isinstance(to, ast.Name) and to.id == node.id]
        if len(values) == 1:
            return _dtype(tree, values[0])
    name = tree.dotted(node)
    for word, dtype in (("bfloat16", "bfloat16"), ("float16", "float16"), ("half", "float16")):
        if name == f"torch.{word}":
            return dtype
    return ""
