import ast

from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import finding_at, trees
from envdoctor.rules.script._steps import each_step, losses


@rule(WARNING, kind="script-wrong")
def graph_kept(facts: Facts) -> Findings:
    """Losses are collected together with their graphs.

    Why: a loss that is added up or put in a list without detach() keeps everything that computed it. Memory grows with
    each step until it runs out.
    Fix: collect loss.detach().
    Source: https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """
    for tree in trees(facts):
        names = losses(tree)
        backward_on = {
            ast.unparse(node.func.value)
            for node in tree.nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
        }
        for node in each_step(tree):
            kept: ast.expr | None = None
            if (
                isinstance(node, ast.AugAssign)
                and isinstance(node.op, ast.Add)
                and ast.unparse(node.target) not in backward_on
            ):
                kept = node.value
                if ast.unparse(node.target) in names:  # a sum of partial losses that is itself differentiated
                    continue
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "append"
                and node.args
            ):
                kept = node.args[0]
                if ast.unparse(node.func.value) in names:
                    continue
            if isinstance(kept, ast.Name) and kept.id in names:
                yield finding_at(
                    tree,
                    node,
                    expected=f"{kept.id}.detach()",
                    message=f"{kept.id} is kept with the graph that computed it: memory grows with every step.",
                    fix="Detach the loss before it is collected.",
                    run=tree.line(node).replace(kept.id + ")", kept.id + ".detach())")
                    if isinstance(node, ast.Call)
                    else f"{ast.unparse(node.target)} += {kept.id}.detach()"
                    if isinstance(node, ast.AugAssign)
                    else "",
                )
