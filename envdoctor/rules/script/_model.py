"""The model of a script, as far as its text tells: how large it is, and whether it has dropout."""

import ast

from envdoctor.rules.rule import Pattern
from envdoctor.rules.script._tree import Tree, assignments, constant, keyword_literal

_SMALL = {
    "gpt2": 0.124, "distilgpt2": 0.082, "gpt2-medium": 0.355, "bert-base": 0.110, "distilbert": 0.066,
    "roberta-base": 0.125, "t5-small": 0.060, "t5-base": 0.223, "electra-small": 0.014,
}  # fmt: skip
_MODEL = Pattern(r"[\w./-]+")
_SIZE = Pattern(r"(?<![\w.])(\d{1,4}(?:\.\d{1,2})?)([MmBb])(?![a-zA-Z0-9])")
_DROPOUT = Pattern(r"(?i)dropout|^drop$|drop_path|pdrop|_drop$")
_LAYER = Pattern(r"(?:^|\.)(?:\w*Dropout\w*|dropout\d?d?|DropPath)$")


def billions(tree: Tree) -> float | None:
    """Size of the one model that the script loads, from its name: "Qwen2.5-0.5B", "SmolLM2-135M"."""
    sizes = set()
    for node in tree.nodes:
        text = constant(node)
        if isinstance(text, str) and 3 < len(text) < 120 and _MODEL.fullmatch(text):
            if found := _SIZE.search(text):
                sizes.add(float(found[1]) / (1000 if found[2] in "Mm" else 1))
            elif name := max(
                (name for name in _SMALL if text.rpartition("/")[2].startswith(name)), key=len, default=""
            ):
                sizes.add(_SMALL[name])
    return sizes.pop() if len(sizes) == 1 else None


def has_dropout(tree: Tree) -> bool | None:
    """True when the script names a dropout above 0, False when it sets every one to 0, None when it names none."""
    zero = False
    for node in tree.nodes:
        rate: object = None
        if isinstance(node, ast.Call) and _LAYER.search(tree.dotted(node.func)):
            rate = constant(node.args[0]) if node.args else keyword_literal(node, "p")
            if rate is None:
                return True
        elif isinstance(node, ast.keyword) and _DROPOUT.search(node.arg or ""):
            rate = constant(node.value)
        else:
            named = ((ast.unparse(to).rpartition(".")[2], value) for to, value in assignments(node))
            rate = next((constant(value) for name, value in named if _DROPOUT.search(name)), None)
        if isinstance(rate, (int, float)) and not isinstance(rate, bool):
            if rate > 0:
                return True
            zero = True
    return False if zero else None
