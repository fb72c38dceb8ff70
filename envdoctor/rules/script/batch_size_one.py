from envdoctor.rules.rule import NOTE, Facts, Finding, Findings, rule
from envdoctor.rules.script._reading import Call, Tree, batch_size, finding_at, keyword_literal, loaders, steps, trees


@rule(NOTE, kind="script-slow", expected="a batch that fills the GPU")
def batch_size_one(facts: Facts) -> Findings:
    """One example at a time is trained.

    Why: a GPU computes several short examples in nearly the time of one. Accumulating gradients over batches of one
    keeps the batch's statistics and gives away its speed.
    Fix: raise the batch size until memory is used, and lower the accumulation steps by the same factor.
    Source: https://huggingface.co/docs/transformers/perf_train_gpu_one#batch-size
    """
    for tree in trees(facts):
        for call in tree.calls():
            if keyword_literal(call, "per_device_train_batch_size") == 1:
                accumulation = keyword_literal(call, "gradient_accumulation_steps")
                yield _finding(tree, call, accumulation if isinstance(accumulation, int) else 1)
        if not steps(tree):
            continue
        for loader in loaders(tree):
            if batch_size(loader) == 1:
                yield _finding(tree, loader, 1)


def _finding(tree: Tree, call: Call, accumulated: int) -> Finding:
    several = accumulated > 1
    over = f", accumulated over {accumulated} steps" if several else ""
    lower = " and lower gradient_accumulation_steps by the same factor" if several else ""
    return finding_at(
        tree,
        call,
        message=f"one example at a time{over} leaves most of the GPU idle when examples are short.",
        fix=f"Raise the batch size until memory is used{lower}.",
        run=f"batch_size={min(accumulated, 8) if several else 8}",
    )
