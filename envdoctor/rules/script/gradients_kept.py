from envdoctor.rules.rule import ERROR, Facts, Findings, rule
from envdoctor.rules.script._reading import Call, Node, called_on, finding_at, inside, loops, method_name, trees

_ZEROES = ("zero_grad", ".grad = None", ".grad=None")
_ZERO_THEMSELVES = ("deepspeed", "colossalai")


@rule(ERROR, kind="script-wrong", expected="optimizer.zero_grad() in each step")
def gradients_kept(facts: Facts) -> Findings:
    """Gradients are never set to zero.

    Why: backward() adds to what is there. Without zero_grad() every step follows the sum of all gradients so far.
    Fix: call optimizer.zero_grad() after each optimizer.step().
    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    """
    for tree in trees(facts):
        if tree.imports(*_ZERO_THEMSELVES) or any(words in tree.script.source for words in _ZEROES):
            continue
        for loop in loops(tree):
            if call := _optimizer_step(loop):
                yield finding_at(
                    tree,
                    call,
                    message="gradients of all steps are added up: nothing sets them to zero.",
                    fix="Call optimizer.zero_grad() after optimizer.step().",
                    run="optimizer.step(); optimizer.zero_grad()",
                )


def _optimizer_step(loop: Node) -> Call | None:
    """``optimizer.step()`` of a plain torch optimizer, found by its name."""
    for node in inside(loop):
        owner = called_on(node).rpartition(".")[2].lower()
        if isinstance(node, Call) and method_name(node) == "step" and not node.args and "opt" in owner:
            return node
    return None
