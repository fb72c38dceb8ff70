"""Datasets and loaders of a script: which class feeds which ``DataLoader``, and what they do for each example."""

import ast
from collections.abc import Iterator

from envdoctor.rules.rule import Pattern
from envdoctor.rules.script._tree import Tree, assignments, constant, has_unpacked, inside, keyword

LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader", "DataLoader", "StatefulDataLoader",
           "torchdata.stateful_dataloader.StatefulDataLoader")  # fmt: skip
_HEAVY_CALLS = Pattern(
    r"(?i)(?:^|\.)(?:\w*tokenizer\w*|\w*processor\w*|encode|encode_plus|batch_encode_plus|apply_chat_template|tokenize)$"
    r"|^PIL\.Image\.open$|^Image\.open$|^cv2\.imread$|^torchaudio\.load$|^librosa\.load$|^torchvision\.io\.\w+$"
    r"|^soundfile\.read$|^decord\.\w+$|^numpy\.load$|^imageio\.\w+$|^pandas\.read_\w+$",
)
_CHANGES = frozenset("append extend add pop remove insert discard clear popleft appendleft".split())
_ASKS = ("torch.utils.data.get_worker_info", "get_worker_info", "torch.utils.data._utils.worker.get_worker_info")


def loaders(tree: Tree) -> Iterator[ast.Call]:
    for node in tree.nodes:
        if isinstance(node, ast.Call) and tree.dotted(node.func) in LOADERS:
            yield node


def classes(tree: Tree) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in tree.nodes if isinstance(node, ast.ClassDef)}


def method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def dataset_of(tree: Tree, loader: ast.Call) -> ast.ClassDef | None:
    """The class, defined in this script, whose instance the loader reads."""
    argument = loader.args[0] if loader.args else keyword(loader, "dataset")
    known = classes(tree)
    if isinstance(argument, ast.Call):
        return known.get(tree.dotted(argument.func))
    if isinstance(argument, (ast.Name, ast.Attribute)):
        wanted = ast.unparse(argument)
        for to, value in tree.assignments():
            if ast.unparse(to) == wanted and isinstance(value, ast.Call) and tree.dotted(value.func) in known:
                return known[tree.dotted(value.func)]
    return None


def _collate_of(tree: Tree, loader: ast.Call) -> ast.AST | None:
    """The function, lambda or class behind ``collate_fn=``, when it is defined here."""
    given = keyword(loader, "collate_fn")
    if isinstance(given, ast.Lambda):
        return given
    if isinstance(given, ast.Name):
        for node in tree.nodes:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == given.id:
                return node
            for to, value in assignments(node):
                if isinstance(to, ast.Name) and to.id == given.id and isinstance(value, ast.Call):
                    return classes(tree).get(tree.dotted(value.func))
    if isinstance(given, ast.Call):
        return classes(tree).get(tree.dotted(given.func))
    return None


def batch_size(loader: ast.Call) -> object:
    """batch_size as a literal; 1 when it is not given; None when it is computed or arguments are unpacked."""
    value = loader.args[1] if len(loader.args) > 1 else keyword(loader, "batch_size")
    if value is None and not has_unpacked(loader) and not keyword(loader, "batch_sampler"):
        return 1
    return constant(value)


def workers(tree: Tree, loader: ast.Call) -> int | None:
    """num_workers as a literal; 0 when it is not given; None when it is computed or arguments are unpacked."""
    value = keyword(loader, "num_workers")
    if value is None:
        if len(loader.args) > 5:
            value = loader.args[5]
        else:
            return None if has_unpacked(loader) else 0
    if isinstance(value, ast.Name):
        name = value.id
        settings = [v for to, v in tree.assignments() if isinstance(to, ast.Name) and to.id == name]
        value = settings[0] if len(settings) == 1 else None
    number = constant(value)
    return number if isinstance(number, int) else None


def heavy_call(tree: Tree, loader: ast.Call) -> ast.Call | None:
    """A call that costs milliseconds, by which the dataset or the collate function prepares each example."""
    dataset = dataset_of(tree, loader)
    item = (method(dataset, "__getitem__") or method(dataset, "__iter__")) if dataset else None
    return _heavy_call_in(tree, item) or _heavy_call_in(tree, _collate_of(tree, loader))


def _heavy_call_in(tree: Tree, node: ast.AST | None) -> ast.Call | None:
    """A call in the body that costs milliseconds per example: tokenising, decoding, reading a file."""
    if node is None:
        return None
    nodes = ast.walk(node) if isinstance(node, (ast.Lambda, ast.ClassDef)) else inside(node)
    for inner in nodes:
        if isinstance(inner, ast.Call):
            name = tree.dotted(inner.func) or (inner.func.attr if isinstance(inner.func, ast.Attribute) else "")
            if _HEAVY_CALLS.search(name) and not name.endswith((".pad", ".decode", ".batch_decode")):
                return inner
    return None


def change_of_self(dataset: ast.ClassDef) -> ast.AST | None:
    """What of ``__getitem__`` first changes ``self``, less lazy opening (``if self.file is None: self.file = ...``)."""
    function = method(dataset, "__getitem__")
    if function is None:
        return None
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
        method_of = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        if method_of is not None and method_of.attr in _CHANGES and _of_self(method_of.value):
            return node
    return None


def _of_self(node: ast.AST) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"


def is_repeated(tree: Tree, dataset: ast.ClassDef) -> bool:
    """Does it iterate without asking which worker it is, so that each worker yields every example?"""
    if method(dataset, "__getitem__") or not method(dataset, "__iter__"):
        return False
    methods = [node for node in dataset.body if isinstance(node, ast.FunctionDef)]
    asks = any(isinstance(node, ast.Call) and tree.dotted(node.func) in _ASKS for node in ast.walk(dataset))
    return not asks and not any("worker" in ast.unparse(node).lower() for node in methods)
