"""What rules of scripts take: the tree of each script, what runs in every step, its loaders, its mixed precision."""

from typing import Literal

from envdoctor.rules.rule import Finding, Kind, Severity, finding
from envdoctor.rules.script._datasets import (
    batch_size,
    change_of_self,
    dataset_of,
    heavy_call,
    is_repeated,
    loaders,
    workers,
)
from envdoctor.rules.script._evaluating import forward_with_graph
from envdoctor.rules.script._model import billions, has_dropout
from envdoctor.rules.script._precision import autocasts, scalers
from envdoctor.rules.script._steps import calls_each_step, collection, copies_to_gpu, each_step, loops, losses, steps
from envdoctor.rules.script._tree import (
    Call,
    Node,
    Tree,
    assignments,
    called_on,
    code,
    constant,
    has_unpacked,
    inside,
    keyword,
    keyword_literal,
    method_name,
    trees,
)
from envdoctor.rules.script._waits import wait_at

__all__ = [
    "Call", "Node", "Tree", "assignments", "autocasts", "batch_size", "billions", "called_on", "calls_each_step",
    "change_of_self", "code", "collection", "constant", "copies_to_gpu", "dataset_of", "each_step", "finding_at",
    "forward_with_graph", "has_dropout", "has_unpacked", "heavy_call", "inside", "is_repeated", "keyword",
    "keyword_literal", "loaders", "loops", "losses", "method_name", "scalers", "steps", "trees", "wait_at",
    "workers",
]  # fmt: skip


def finding_at(
    tree: Tree,
    node: Node,
    *,
    message: str,
    fix: str,
    run: str = "",
    kind: Kind | Literal[""] = "",
    expected: str = "",
    severity: Severity | None = None,
) -> Finding:
    """A finding at a line of the script; ``run`` is what should stand there instead."""
    actual = tree.line(node)
    return finding(
        subject=tree.place(node),
        actual=actual if len(actual) <= 160 else actual[:157] + "...",
        expected=expected,
        kind=kind,
        severity=severity,
        message=f"{tree.place(node)}: {message}",
        fix=fix,
        run=run or (),
    )
