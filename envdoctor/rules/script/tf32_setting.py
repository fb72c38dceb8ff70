from envdoctor.rules.rule import WARNING, Facts, Finding, Findings, Kind, rule
from envdoctor.rules.script._reading import Node, Tree, assignments, constant, finding_at, keyword_literal, loops, trees

_OLD = ("torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32")
_NEW = (
    "torch.backends.fp32_precision", "torch.backends.cuda.matmul.fp32_precision",
    "torch.backends.cudnn.fp32_precision", "torch.backends.cudnn.conv.fp32_precision",
    "torch.backends.cudnn.rnn.fp32_precision",
)  # fmt: skip
_CALL = "torch.set_float32_matmul_precision"


@rule(WARNING, expected='torch.set_float32_matmul_precision("high") before the model is built')
def tf32_setting(facts: Facts) -> Findings:
    """TF32 is set in a way that fails later or comes too late.

    Why: torch 2.9 and later refuse to read the old attributes once the new fp32_precision ones were written, and the
    other way round: libraries that read them then raise. A setting after the training loop changes nothing.
    Fix: call torch.set_float32_matmul_precision("high") once, before the model is built.
    Source: https://docs.pytorch.org/docs/stable/notes/cuda.html#tf32-on-ampere
    https://github.com/pytorch/pytorch/issues/166387
    """
    for tree in trees(facts):
        old, new = _assignments_to(tree, _OLD), _assignments_to(tree, _NEW)
        options = [call for call in tree.calls() if keyword_literal(call, "tf32") is True]
        if new and (old or options):
            yield _finding(tree, new[0], "tf32-api-mixed", _MIXED)
        elif new and not any(tree.calls(_CALL)):
            yield _finding(tree, new[0], "tf32-api-mixed", _ONLY_NEW)
        for node in [*old, *tree.calls(_CALL)]:
            if _is_late(tree, node):
                yield _finding(tree, node, "script-slow", "TF32 is switched on only after training.")


_MIXED = "old and new TF32 settings are mixed: reading either raises in torch 2.9."
_ONLY_NEW = "only the new TF32 attribute is set: a library that reads the old one then raises in torch 2.9."


def _assignments_to(tree: Tree, names: tuple[str, ...]) -> list[Node]:
    return [node for node in tree.nodes for to, _ in assignments(node) if tree.dotted(to) in names]


def _is_late(tree: Tree, node: Node) -> bool:
    """Does it stand behind the training loop, or a ``.train()`` of a trainer, of the same block?"""
    if any(constant(value) is False for _, value in assignments(node)):
        return False
    scope, trains = tree.scope(node), tree.calls("trainer.train", "trainer.fit")
    ends = [part.end_lineno or 0 for part in (*loops(tree), *trains) if tree.scope(part) is scope]
    return bool(ends) and getattr(node, "lineno", 0) > min(ends)


def _finding(tree: Tree, node: Node, kind: Kind, message: str) -> Finding:
    return finding_at(
        tree,
        node,
        kind=kind,
        message=message,
        fix='Set it once, at the top of the script, by torch.set_float32_matmul_precision("high"), and nowhere else.',
        run='torch.set_float32_matmul_precision("high")',
    )
