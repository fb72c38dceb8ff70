import ast

from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._datasets import dataset_of, loaders, method, workers
from envdoctor.rules.script._reading import Tree, finding_at, inside, trees

_MUTATE = frozenset(("append", "extend", "add", "pop", "remove", "insert", "discard", "clear", "popleft", "appendleft"))
_SPLITS = ("torch.utils.data.get_worker_info", "get_worker_info", "torch.utils.data._utils.worker.get_worker_info")


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
            if (getitem := method(dataset, "__getitem__")) and (change := _change(getitem)):
                yield finding_at(
                    tree,
                    change,
                    expected="a dataset that does not change itself",
                    message=f"__getitem__ changes the dataset, and each of {count} workers changes only its own copy.",
                    fix="Compute what is needed from the index (or a seed and the epoch), or set num_workers=0.",
                )
            iterator = method(dataset, "__iter__")
            if iterator and not getitem and not _splits(tree, dataset):
                yield finding_at(
                    tree,
                    loader,
                    expected="examples divided among the workers",
                    message=f"{dataset.name} does not ask which worker it is: every example comes {count} times.",
                    fix="Divide the examples by torch.utils.data.get_worker_info(), or set num_workers=0.",
                    run="info = torch.utils.data.get_worker_info()    # index % info.num_workers == info.id",
                )


def _change(function: ast.FunctionDef) -> ast.AST | None:
    """The first statement that changes ``self``, less lazy opening (``if self.file is None: self.file = ...``)."""
    lazy = {
        inner
        for node in inside(function)
        if isinstance(node, ast.If) and "self." in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in inside(function):
        if node in lazy:
            continue
        if isinstance(node, ast.AugAssign) and _of_self(node.target):
            return node
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Attribute) and _of_self(t) for t in node.targets):
            return node
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _MUTATE
            and _of_self(node.func.value)
        ):
            return node
    return None


def _of_self(node: ast.AST) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"


def _splits(tree: Tree, dataset: ast.ClassDef) -> bool:
    return any(isinstance(node, ast.Call) and tree.dotted(node.func) in _SPLITS for node in ast.walk(dataset)) or any(
        "worker" in ast.unparse(node).lower() for node in dataset.body if isinstance(node, ast.FunctionDef)
    )
