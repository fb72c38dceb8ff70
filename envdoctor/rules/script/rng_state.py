import ast
import re

from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, rule
from envdoctor.rules.script._reading import Tree, assignments, constant, finding_at, keyword_literal, trees

_DROPOUT = Pattern(r"(?i)dropout|^drop$|drop_path|pdrop|_drop$")


@rule(ERROR, kind="script-wrong", expected="preserve_rng_state=True")
def rng_state(facts: Facts) -> Findings:
    """Activation checkpointing does not keep the random state, and the model has dropout.

    Why: with preserve_rng_state=False the second forward pass draws another dropout mask than the first one, so the
    gradients belong to a function that was never evaluated. Nothing reports it.
    Fix: leave preserve_rng_state at True, or set every dropout to 0.
    Source: https://docs.pytorch.org/docs/stable/checkpoint.html
    """
    for tree in trees(facts):
        for node in tree.nodes:
            place = _not_kept(node)
            if place is None:
                continue
            dropout = _dropout(tree)
            if dropout is False:
                continue
            yield finding_at(
                tree,
                place,
                severity=None if dropout else WARNING,
                message="the recomputed forward pass draws other dropout masks: gradients are wrong."
                if dropout
                else "if the model has any dropout, recomputation draws other masks and gradients are wrong.",
                fix="Leave preserve_rng_state at its default, True; or set every dropout of the model to 0.",
                run="preserve_rng_state=True",
            )


def _not_kept(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Call) and keyword_literal(node, "preserve_rng_state") is False:
        return node
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if constant(key) == "preserve_rng_state" and constant(value) is False:
                return value
    return None


def _dropout(tree: Tree) -> bool | None:
    """True when the script names a dropout above 0, False when it sets every one to 0, None when it names none."""
    zero = False
    for node in tree.nodes:
        rate: object = None
        if isinstance(node, ast.Call) and re.search(
            r"(?:^|\.)(?:\w*Dropout\w*|dropout\d?d?|DropPath)$", tree.dotted(node.func)
        ):
            rate = constant(node.args[0]) if node.args else keyword_literal(node, "p")
            if rate is None:
                return True
        elif isinstance(node, ast.keyword) and _DROPOUT.search(node.arg or ""):
            rate = constant(node.value)
        else:
            rates = [
                constant(value)
                for to, value in assignments(node)
                if _DROPOUT.search(ast.unparse(to).rpartition(".")[2])
            ]
            rate = rates[0] if rates else None
        if isinstance(rate, (int, float)) and not isinstance(rate, bool):
            if rate > 0:
                return True
            zero = True
    return False if zero else None
