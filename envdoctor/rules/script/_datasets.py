"""Datasets and loaders of a script: which class feeds which ``DataLoader``, and what they do for each example."""

import ast
from collections.abc import Iterator

from envdoctor.rules.rule import Pattern
from envdoctor.rules.script._reading import Tree, assignments, constant, inside, keyword

LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader", "DataLoader", "StatefulDataLoader",
           "torchdata.stateful_dataloader.StatefulDataLoader")  # fmt: skip
_HEAVY_CALLS = Pattern(
    r"(?i)(?:^|\.)(?:\w*tokenizer\w*|\w*processor\w*|encode|encode_plus|batch_encode_plus|apply_chat_template|tokenize)$"
    r"|^PIL\.Image\.open$|^Image\.open$|^cv2\.imread$|^torchaudio\.load$|^librosa\.load$|^torchvision\.io\.\w+$"
    r"|^soundfile\.read$|^decord\.\w+$|^numpy\.load$|^imageio\.\w+$|^pandas\.read_\w+$",
)


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
        for node in tree.nodes:
            for to, value in assignments(node):
                if ast.unparse(to) == wanted and isinstance(value, ast.Call) and tree.dotted(value.func) in known:
                    return known[tree.dotted(value.func)]
    return None


def collate_of(tree: Tree, loader: ast.Call) -> ast.AST | None:
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


def workers(tree: Tree, loader: ast.Call) -> int | None:
    """num_workers as a literal; 0 when it is not given; None when it is computed or arguments are unpacked."""
    value = keyword(loader, "num_workers")
    if value is None:
        if len(loader.args) > 5:
            value = loader.args[5]
        else:
            return None if any(word.arg is None for word in loader.keywords) else 0
    if isinstance(value, ast.Name):
        name = value.id
        settings = [
            v for node in tree.nodes for to, v in assignments(node) if isinstance(to, ast.Name) and to.id == name
        ]
        value = settings[0] if len(settings) == 1 else None
    number = constant(value)
    return number if isinstance(number, int) else None


def heavy_call(tree: Tree, node: ast.AST | None) -> ast.Call | None:
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
