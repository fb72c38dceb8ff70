from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import Call, Node, Tree, assignments, constant, finding_at, keyword_literal, trees

_CALLS = ("torch.use_deterministic_algorithms", "torch.set_deterministic")


@rule(WARNING, kind="script-slow", expected="fast algorithms")
def deterministic(facts: Facts) -> Findings:
    """Deterministic algorithms are forced.

    Why: fast kernels that add in any order are then refused or replaced by slower ones, and some are synchronised.
    A seed alone makes runs comparable; bit-equal runs are for tests and for finding faults.
    Fix: keep the seed and remove the switch, unless bit-equal results are what the run is for.
    Source: https://docs.pytorch.org/docs/stable/notes/randomness.html
    """
    for tree in trees(facts):
        for node in tree.nodes:
            if what := _forces(tree, node):
                yield finding_at(
                    tree,
                    node,
                    message=f"{what} forbids the fastest kernels.",
                    fix="Remove it, unless results must be equal to the bit. A seed repeats a run closely.",
                )


def _forces(tree: Tree, node: Node) -> str:
    for target, value in assignments(node):
        if tree.dotted(target) == "torch.backends.cudnn.deterministic" and constant(value) is True:
            return "torch.backends.cudnn.deterministic = True"
        if tree.dotted(target) == "torch.backends.cudnn.enabled" and constant(value) is False:
            return "torch.backends.cudnn.enabled = False"
    if isinstance(node, Call):
        if tree.is_call(node, *_CALLS) and (
            (node.args and constant(node.args[0]) is True) or keyword_literal(node, "mode") is True
        ):
            return "use_deterministic_algorithms(True)"
        if keyword_literal(node, "full_determinism") is True:
            return "full_determinism=True"
        if keyword_literal(node, "deterministic") is True and tree.dotted(node.func).endswith("Trainer"):
            return "deterministic=True"
    return ""
