"""What of a step makes the host wait for the GPU."""

import ast

from envdoctor.rules.script._tree import Tree

_METHODS = frozenset(("item", "cpu", "numpy", "tolist"))
_BUILTINS = frozenset(("float", "int", "bool", "print", "str", "format"))


def wait_at(tree: Tree, node: ast.AST, losses: frozenset[str]) -> str:
    """What waits there, in words; "" where nothing does."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        return "formatting the loss" if any(_is_loss(part, losses) for part in parts) else ""
    if not isinstance(node, ast.Call):
        return ""
    if tree.is_call(node, "torch.cuda.synchronize", "torch.mps.synchronize"):
        return "torch.cuda.synchronize()"
    if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords and node.func.attr in _METHODS:
        value = node.func.value
        waits = node.func.attr == "item" or _is_tensor(value, losses)
        return f".{node.func.attr}()" if waits and not _on_host(tree, value) else ""
    if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS and any(_is_loss(a, losses) for a in node.args):
        return f"{node.func.id}({ast.unparse(node.args[0])[:40]})"
    if tree.is_call(node, "torch.isnan", "torch.isfinite", "torch.isinf") and _decides(tree, node):
        return "testing a tensor in an if"
    return ""


def _is_loss(node: ast.AST, losses: frozenset[str]) -> bool:
    """The loss itself, or a part of it that is still a tensor: not loss.item(), not loss_sum."""
    if isinstance(node, ast.Name):
        return node.id in losses
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("detach", "mean", "sum", "data") and _is_loss(node.func.value, losses)
    if not isinstance(node, ast.Attribute):
        return False
    return node.attr == "loss" or (node.attr == "data" and _is_loss(node.value, losses))


def _is_tensor(node: ast.AST, losses: frozenset[str]) -> bool:
    """What .cpu(), .numpy() and .tolist() are called on: the loss, outputs, logits, predictions."""
    text = ast.unparse(node).lower()
    return _is_loss(node, losses) or any(
        word in text for word in ("loss", "output", "logit", "pred", "grad", ".detach()")
    )


def _on_host(tree: Tree, node: ast.AST) -> bool:
    """numpy's .item() and values read from a tokenizer or a list wait for nothing."""
    return tree.dotted(node).startswith(("numpy.", "math.")) or (
        isinstance(node, ast.Call) and tree.dotted(node.func).startswith("numpy.")
    )


def _decides(tree: Tree, node: ast.AST) -> bool:
    return any(isinstance(parent, ast.If) and node in ast.walk(parent.test) for parent in tree.above(node))
