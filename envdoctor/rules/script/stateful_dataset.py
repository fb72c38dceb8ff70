from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import change_of_self, dataset_of, finding_at, is_repeated, loaders, trees, workers


@rule(WARNING, kind="script-wrong")
def stateful_dataset(facts: Facts) -> Findings:
    """Loader workers each change their own copy of the dataset.

    Why: a worker is another process with a copy of the dataset. A counter or list that __getitem__ changes grows apart
    in each copy and never reaches the training process; an iterable dataset that does not ask which worker it is
    yields every example once per worker.
    Fix: derive the state from the index, split by get_worker_info(), or use no workers.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset
    """
    for tree in trees(facts):
        for loader in loaders(tree):
            count = workers(tree, loader)
            dataset = dataset_of(tree, loader)
            if dataset is None or not count:
                continue
            if change := change_of_self(dataset):
                yield finding_at(
                    tree,
                    change,
                    expected="a dataset that does not change itself",
                    message=f"__getitem__ changes the dataset, and each of {count} workers changes only its own copy.",
                    fix="Compute what is needed from the index (or a seed and the epoch), or set num_workers=0.",
                )
            if is_repeated(tree, dataset):
                yield finding_at(
                    tree,
                    loader,
                    expected="examples divided among the workers",
                    message=f"{dataset.name} does not ask which worker it is: every example comes {count} times.",
                    fix="Divide the examples by torch.utils.data.get_worker_info(), or set num_workers=0.",
                    run="info = torch.utils.data.get_worker_info()    # index % info.num_workers == info.id",
                )
