"""What the table of the house counts, apart from the walks."""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.house.source import FUNCTIONS, Module, Source, decorators

# Of the irregular ones those that are no commands, too ("read", "set").
PARTICIPLES = frozenset(
    """
    begun built chosen done drawn found given gone heard held kept known left lost made meant said seen sent shown spent
    taken thrown told torn won worn written
    """.split()
)
NOUNS = ("speed", "need")
# The public API's own values mirror those inside, under the same names.
MIRROR = "envdoctor.api."


def lines_of(root: Path, folder: str) -> list[int]:
    """Lines of each Python file below a folder."""
    files = (path for path in sorted((root / folder).rglob("*.py")) if "_bundle" not in path.parts)
    return [len(path.read_text("utf-8").splitlines()) for path in files]


def words(source: Source, half: str, word: str) -> int:
    """How often a word stands in a half's modules, import lines left out."""
    texts = (module.path.read_text("utf-8") for name, module in source.modules.items() if name.startswith(half))
    return sum(len(re.findall(word, re.sub(r"^(?:from|import) .*$", "", text, flags=re.M))) for text in texts)


def classes_twice(source: Source) -> dict[str, list[str]]:
    """Names of classes at the top of more than one module -> the modules."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for module in source.modules.values():
        for name, node in module.defined.items():
            if isinstance(node, ast.ClassDef):
                found[name].append(module.name)
    return {name: places for name, places in found.items() if len(places) > 1}


def beside_the_mirror(twice: dict[str, list[str]]) -> dict[str, list[str]]:
    """Those that are twice inside, too."""
    inside = {name: [place for place in places if not place.startswith(MIRROR)] for name, places in twice.items()}
    return {name: places for name, places in inside.items() if len(places) > 1}


def bare_participles(source: Source) -> list[str]:
    """Functions at the top of a module whose name is a lone participle; a rule is named by its file."""
    return [
        f"{module.name}:{name}"
        for module in source.modules.values()
        for name, node in module.defined.items()
        if isinstance(node, FUNCTIONS) and "rule" not in decorators(node) and _is_participle(name.strip("_"))
    ]


def _is_participle(name: str) -> bool:
    return name in PARTICIPLES or ("_" not in name and name.endswith("ed") and not name.endswith(NOUNS))


def rules(source: Source) -> Iterator[Module]:
    """The modules that hold a rule."""
    for module in source.modules.values():
        if any("rule" in decorators(node) for node in module.defined.values() if isinstance(node, FUNCTIONS)):
            yield module


def import_lines(module: Module) -> int:
    """Lines of import statements at the top of a module."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in module.tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
    )


def finding_lines(module: Module) -> list[int]:
    """Lines of each call that makes a finding."""
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("finding", "Finding")
    ]


def only_passing_through(source: Source) -> list[str]:
    """Private functions of one statement that hand their own parameters on, all of them and nothing else."""
    found = []
    for module, node in source.functions():
        body = node.body[1:] if ast.get_docstring(node) else node.body
        if len(body) != 1 or not isinstance(body[0], (ast.Return, ast.Expr)) or node.decorator_list:
            continue
        call, own = body[0].value, [argument.arg for argument in node.args.args if argument.arg != "self"]
        if isinstance(call, ast.Call) and own and node.name.startswith("_") and not call.keywords:
            given = [one.id if isinstance(one, ast.Name) else "" for one in call.args]
            if given == own:
                found.append(f"{module.name}:{node.name}")
    return found
