import ast

from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Target, rule, trains_on_gpu
from envdoctor.rules.script._reading import Tree, finding_at, trees
from envdoctor.rules.script._steps import each_step, losses

_METHODS = frozenset(("item", "cpu", "numpy", "tolist"))
_BUILTINS = frozenset(("float", "int", "bool", "print", "str", "format"))


@rule(WARNING, kind="script-slow", expected="no wait in the step")
def sync_per_step(facts: Facts, target: Target) -> Findings:
    """The training loop waits for the GPU in every step.

    Why: .item(), float(loss), print(loss), .cpu() and torch.cuda.synchronize() hold the host until every queued kernel
    has ended. The GPU then has nothing queued and idles while the host prepares the next step.
    Fix: keep the loss on the GPU (``total += loss.detach()``) and read it every n-th step.
    Source: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
    """
    note = trains_on_gpu(facts, target) is False
    for tree in trees(facts):
        names = losses(tree)
        lines: set[int] = set()
        for node in each_step(tree):
            what = _waits(tree, node, names)
            number = getattr(node, "lineno", 0)
            if what and number not in lines:
                lines.add(number)
                yield finding_at(
                    tree,
                    node,
                    severity=NOTE if note else None,
                    message=f"{what} makes the host wait for the GPU in every step.",
                    fix="Add up on the GPU and read the sum every n-th step.",
                    run="total += loss.detach()    # and total.item() only when logging, every n steps",
                )


def _waits(tree: Tree, node: ast.AST, losses_: frozenset[str]) -> str:
    if isinstance(node, ast.JoinedStr):
        return (
            "formatting the loss"
            if any(_is_loss(part.value, losses_) for part in node.values if isinstance(part, ast.FormattedValue))
            else ""
        )
    if not isinstance(node, ast.Call):
        return ""
    if tree.is_call(node, "torch.cuda.synchronize", "torch.mps.synchronize"):
        return "torch.cuda.synchronize()"
    if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords and node.func.attr in _METHODS:
        value = node.func.value
        if node.func.attr != "item" and not (_is_tensor(value, losses_)):
            return ""
        return f".{node.func.attr}()" if not _on_host(tree, value) else ""
    if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS and any(_is_loss(a, losses_) for a in node.args):
        return f"{node.func.id}({ast.unparse(node.args[0])[:40]})"
    if tree.is_call(node, "torch.isnan", "torch.isfinite", "torch.isinf") and _decides(tree, node):
        return "testing a tensor in an if"
    return ""


def _is_loss(node: ast.AST, losses_: frozenset[str]) -> bool:
    """The loss itself, or a part of it that is still a tensor: not loss.item(), not loss_sum."""
    if isinstance(node, ast.Name):
        return node.id in losses_
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("detach", "mean", "sum", "data")
    ):
        return _is_loss(node.func.value, losses_)
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ("data", "loss")
        and (node.attr == "loss" or _is_loss(node.value, losses_))
    )


def _is_tensor(node: ast.AST, losses_: frozenset[str]) -> bool:
    """What .cpu(), .numpy() and .tolist() are called on: the loss, outputs, logits, predictions."""
    text = ast.unparse(node).lower()
    return _is_loss(node, losses_) or any(
        word in text for word in ("loss", "output", "logit", "pred", "grad", ".detach()")
    )


def _on_host(tree: Tree, node: ast.AST) -> bool:
    """numpy's .item() and values read from a tokenizer or a list wait for nothing."""
    return tree.dotted(node).startswith(("numpy.", "math.")) or (
        isinstance(node, ast.Call) and tree.dotted(node.func).startswith("numpy.")
    )


def _decides(tree: Tree, node: ast.AST) -> bool:
    return any(isinstance(parent, ast.If) and node in ast.walk(parent.test) for parent in tree.above(node))
