import ast

from envdoctor.rules.rule import ERROR, Facts, Findings, rule
from envdoctor.rules.script._reading import finding_at, inside, trees
from envdoctor.rules.script._steps import steps

_ZERO_THEMSELVES = ("deepspeed", "colossalai")


@rule(ERROR, kind="script-wrong", expected="optimizer.zero_grad() in each step")
def gradients_kept(facts: Facts) -> Findings:
    """Gradients are never set to zero.

    Why: backward() adds to what is there. Without zero_grad() every step follows the sum of all gradients so far.
    Fix: call optimizer.zero_grad() after each optimizer.step().
    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    """
    for tree in trees(facts):
        source = tree.script.source
        if (
            tree.imports(*_ZERO_THEMSELVES)
            or "zero_grad" in source
            or ".grad = None" in source
            or ".grad=None" in source
        ):
            continue
        for step in steps(tree):
            if isinstance(step, (ast.For, ast.While)) and (call := _optimizer_step(step)):
                yield finding_at(
                    tree,
                    call,
                    message="gradients of all steps are added up: nothing sets them to zero.",
                    fix="Call optimizer.zero_grad() after optimizer.step().",
                    run="optimizer.step(); optimizer.zero_grad()",
                )


def _optimizer_step(loop: ast.AST) -> ast.Call | None:
    """``optimizer.step()`` of a plain torch optimizer, found by its name."""
    for node in inside(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step":
            owner = ast.unparse(node.func.value).rpartition(".")[2].lower()
            if "opt" in owner and not node.args:
                return node
    return None
