from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._datasets import collate_of, dataset_of, heavy_call, loaders, method, workers
from envdoctor.rules.script._reading import finding_at, trees


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
            if workers(tree, loader) != 0:
                continue
            dataset = dataset_of(tree, loader)
            item = (method(dataset, "__getitem__") or method(dataset, "__iter__")) if dataset else None
            heavy = heavy_call(tree, item) or heavy_call(tree, collate_of(tree, loader))
            if heavy is None:
                continue
            yield finding_at(
                tree,
                loader,
                message=f"no loader workers, and line {heavy.lineno} prepares each example: the GPU waits for it.",
                fix="Prepare the examples once before training (datasets.map), or give the loader workers.",
                run="DataLoader(..., num_workers=4, persistent_workers=True, pin_memory=True)",
            )
