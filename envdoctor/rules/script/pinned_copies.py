import ast

from envdoctor.rules.rule import NOTE, Facts, Findings, rule
from envdoctor.rules.script._datasets import loaders
from envdoctor.rules.script._reading import finding_at, keyword_literal, trees
from envdoctor.rules.script._steps import each_step


@rule(NOTE, kind="no-effect")
def pinned_copies(facts: Facts) -> Findings:
    """Pinned memory and non-blocking copies are used without each other.

    Why: a copy to the GPU overlaps with computing only when its source is pinned and the copy does not block. One
    without the other changes nothing.
    Fix: DataLoader(pin_memory=True) together with .to(device, non_blocking=True).
    Source: https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    """
    for tree in trees(facts):
        calls = list(loaders(tree))
        if not calls or any(word.arg is None for call in calls for word in call.keywords):
            continue
        pinned = [call for call in calls if keyword_literal(call, "pin_memory") is True]
        unpinned = [
            call for call in calls if call not in pinned and keyword_literal(call, "pin_memory") in (None, False)
        ]
        copies = [node for node in each_step(tree) if isinstance(node, ast.Call) and _to_device(node)]
        free = [copy for copy in copies if keyword_literal(copy, "non_blocking") is True]
        if pinned and copies and not free:
            yield finding_at(
                tree,
                copies[0],
                expected="non_blocking=True",
                message="the loader pins its batches, but this copy blocks all the same.",
                fix="Copy with non_blocking=True, so that the pinned batch is sent while the GPU computes.",
                run="batch.to(device, non_blocking=True)",
            )
        elif free and not pinned and unpinned == calls:
            yield finding_at(
                tree,
                free[0],
                expected="DataLoader(pin_memory=True)",
                message="non_blocking=True does nothing here: the loader's batches are not pinned.",
                fix="Let the loader pin its batches.",
                run="DataLoader(..., pin_memory=True)",
            )


def _to_device(call: ast.Call) -> bool:
    """``x.to(device)``, ``x.cuda()``: not ``x.to(torch.bfloat16)`` nor a copy to the CPU."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "cuda":
        return True
    if call.func.attr != "to" or not call.args:
        return False
    where = ast.unparse(call.args[0])
    return "device" in where or "cuda" in where or "rank" in where
