"""The rooms of the trainer, read from its own source: each wing knows only those below it, and no file its own user."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import trainer

ROOT = Path(trainer.__file__).parent
# From below; a wing may import what stands before it.
ORDER = (
    "errors", "flags", "options", "report", "data", "compute", "model", "measure", "state", "checkpoints",
    "validation", "tasks", "loop", "run", "terminal", "__main__",
)  # fmt: skip


def name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {name(path): path for path in sorted(ROOT.rglob("*.py")) if name(path)}


def imported(path: Path) -> Iterator[str]:
    """Modules of the trainer that a file imports anywhere, also late or for its annotations only."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "trainer":
            inside = (node.module or "").partition(".")[2]
            for alias in node.names:
                full = f"{inside}.{alias.name}".lstrip(".")
                yield full if full in MODULES else inside


ARROWS = {module: {to for to in imported(path) if to and to != module} for module, path in MODULES.items()}


def test_every_wing_knows_only_the_wings_below_it() -> None:
    wings = {module.partition(".")[0] for module in MODULES}
    assert wings == set(ORDER)
    upwards = [
        f"{module} -> {to}"
        for module, targets in ARROWS.items()
        for to in targets
        if ORDER.index(to.partition(".")[0]) > ORDER.index(module.partition(".")[0])
    ]
    assert upwards == []


def test_no_file_is_its_own_users_user() -> None:
    left = {module: set(targets) for module, targets in ARROWS.items()}
    while free := [module for module, targets in left.items() if not targets & left.keys()]:
        for module in free:
            del left[module]
    assert left == {}


def test_few_files_lie_flat() -> None:
    assert len(list(ROOT.glob("[a-z]*.py"))) <= 8
