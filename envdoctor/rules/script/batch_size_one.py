import ast

from envdoctor.rules.rule import NOTE, Facts, Finding, Findings, rule
from envdoctor.rules.script._datasets import loaders
from envdoctor.rules.script._reading import Tree, constant, finding_at, keyword, keyword_literal, trees
from envdoctor.rules.script._steps import steps


@rule(NOTE, kind="script-slow", expected="a batch that fills the GPU")
def batch_size_one(facts: Facts) -> Findings:
    """One example at a time is trained.

    Why: a GPU computes several short examples in nearly the time of one. Accumulating gradients over batches of one
    keeps the batch's statistics and gives away its speed.
    Fix: raise the batch size until memory is used, and lower the accumulation steps by the same factor.
    Source: https://huggingface.co/docs/transformers/perf_train_gpu_one#batch-size
    """
    for tree in trees(facts):
        for node in tree.nodes:
            if isinstance(node, ast.Call) and keyword_literal(node, "per_device_train_batch_size") == 1:
                accumulation = keyword_literal(node, "gradient_accumulation_steps")
                yield _finding(tree, node, accumulation if isinstance(accumulation, int) else 1)
        if not steps(tree):
            continue
        for loader in loaders(tree):
            size = loader.args[1] if len(loader.args) > 1 else keyword(loader, "batch_size")
            unpacked = any(word.arg is None for word in loader.keywords)
            if constant(size) == 1 or (size is None and not unpacked and not keyword(loader, "batch_sampler")):
                yield _finding(tree, loader, 1)


def _finding(tree: Tree, node: ast.AST, accumulation: int) -> Finding:
    better = min(accumulation, 8) if accumulation > 1 else 8
    return finding_at(
        tree,
        node,
        message="one example at a time"
        + (f", accumulated over {accumulation} steps" if accumulation > 1 else "")
        + " leaves most of the GPU idle when examples are short.",
        fix="Raise the batch size until memory is used"
        + (" and lower gradient_accumulation_steps by the same factor." if accumulation > 1 else "."),
        run=f"batch_size={better}",
    )
