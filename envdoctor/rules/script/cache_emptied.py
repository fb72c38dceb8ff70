from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import calls_each_step, finding_at, keyword_literal, trees

_EMPTIES = ("torch.cuda.empty_cache", "gc.collect", "torch.mps.empty_cache", "accelerate.utils.release_memory")


@rule(WARNING, kind="script-slow")
def cache_emptied(facts: Facts) -> Findings:
    """Memory is handed back and fetched again in every step.

    Why: torch.cuda.empty_cache() gives all cached blocks back to the driver; the next step must allocate them anew,
    and cudaFree waits for the GPU. gc.collect() walks every Python object. Neither makes more memory usable.
    Fix: remove them from the loop. Against fragmentation set PYTORCH_ALLOC_CONF=expandable_segments:True.
    Source: https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
    """
    for tree in trees(facts):
        for call in calls_each_step(tree, *_EMPTIES, ".zero_grad"):
            if tree.is_call(call, *_EMPTIES):
                name = tree.dotted(call.func)
                yield finding_at(
                    tree,
                    call,
                    expected="not in the step",
                    message=f"{name}() in every step throws away memory that the next step fetches again.",
                    fix="Remove it from the loop. Against fragmentation use the allocator's expandable segments.",
                    run="export PYTORCH_ALLOC_CONF=expandable_segments:True",
                )
            elif keyword_literal(call, "set_to_none") is False:
                yield finding_at(
                    tree,
                    call,
                    expected="zero_grad()",
                    severity=NOTE,
                    message="set_to_none=False writes zeros over all gradients in every step.",
                    fix="Leave set_to_none at its default, True.",
                    run="optimizer.zero_grad()",
                )
