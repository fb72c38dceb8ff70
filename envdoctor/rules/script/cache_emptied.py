from __future__ import annotations

import ast
from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Severity, rule
from envdoctor.rules.script._reading import found, given, trees
from envdoctor.rules.script._steps import each_step
from envdoctor.target import Target


@rule(Severity.WARNING)
def cache_emptied(facts: Facts, target: Target) -> Iterator[Finding]:
    """Memory is handed back and fetched again in every step.

    Why: torch.cuda.empty_cache() gives all cached blocks back to the driver; the next step must allocate them anew,
    and cudaFree waits for the GPU. gc.collect() walks every Python object. Neither makes more memory usable.
    Fix: remove them from the loop. Against fragmentation set PYTORCH_ALLOC_CONF=expandable_segments:True.
    Source: https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
    """
    for tree in trees(facts):
        for node in each_step(tree):
            if not isinstance(node, ast.Call):
                continue
            if tree.is_call(
                node, "torch.cuda.empty_cache", "gc.collect", "torch.mps.empty_cache", "accelerate.utils.release_memory"
            ):
                name = tree.dotted(node.func)
                yield found(
                    tree,
                    node,
                    kind="script-slow",
                    expected="not in the step",
                    message=f"{name}() in every step throws away memory that the next step fetches again.",
                    text="Remove it from the loop. Against fragmentation use the allocator's expandable segments.",
                    line="export PYTORCH_ALLOC_CONF=expandable_segments:True",
                )
            elif tree.is_call(node, ".zero_grad") and given(node, "set_to_none") is False:
                yield found(
                    tree,
                    node,
                    kind="script-slow",
                    expected="zero_grad()",
                    message="set_to_none=False writes zeros over all gradients in every step.",
                    text="Leave set_to_none at its default, True.",
                    line="optimizer.zero_grad()",
                    severity=Severity.NOTE,
                )
