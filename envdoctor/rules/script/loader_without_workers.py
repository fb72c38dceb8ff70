from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import finding_at, heavy_call, loaders, trees, workers


@rule(WARNING, kind="script-slow", expected="num_workers above 0, or data prepared beforehand")
def loader_without_workers(facts: Facts) -> Findings:
    """The training process itself tokenises or decodes every batch.

    Why: without workers the GPU waits while the main process tokenises in __getitem__ or in the collate function; a
    GPU that is idle 80 % of the time is the usual result.
    Fix: tokenise once before training, or let workers do it.
    Source: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading
    """
    for tree in trees(facts):
        for loader in loaders(tree):
            heavy = heavy_call(tree, loader) if workers(tree, loader) == 0 else None
            if heavy is None:
                continue
            yield finding_at(
                tree,
                loader,
                message=f"no loader workers, and line {heavy.lineno} prepares each example: the GPU waits for it.",
                fix="Prepare the examples once before training (datasets.map), or give the loader workers.",
                run="DataLoader(..., num_workers=4, persistent_workers=True, pin_memory=True)",
            )
