"""The boundaries of the house, read from the source itself."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCTOR = sorted(p for p in (ROOT / "envdoctor").rglob("*.py") if "_bundle" not in p.parts)
TRAINER = sorted((ROOT / "trainer").rglob("*.py"))
RULES = sorted((ROOT / "envdoctor" / "rules").rglob("*/*.py"))
# Scripts run by path in another interpreter: probes, and what is injected into the user's own process.
FOREIGN = [p for p in DOCTOR if {"probe", "inject"} & set(p.relative_to(ROOT).parts)]
INSIDE = [p for p in DOCTOR if p not in FOREIGN]

HEAVY = {"torch", "transformers", "accelerate", "datasets", "peft", "trainer", "numpy"}


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in nodes(path):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(paths: Iterable[Path], forbidden: Collection[str]) -> list[tuple[str, str]]:
    """Module of ours, and what it imports although it may not."""
    return [(name(path), module) for path in paths for module in imports(path) if module.split(".")[0] in forbidden]


def called(paths: Iterable[Path], forbidden: Collection[str]) -> list[tuple[str, str]]:
    """Module of ours, and what it calls although it may not."""
    return [(name(path), call) for path in paths for call, _ in calls(path) if call in forbidden]


def test_trainer_never_imports_the_doctor() -> None:
    assert not imported(TRAINER, {"envdoctor"})


def test_doctor_never_imports_what_it_examines() -> None:
    assert not imported(INSIDE, HEAVY)


def test_one_module_starts_programs() -> None:
    others = [path for path in INSIDE if name(path) != "envdoctor/system/process.py"]
    assert not imported(others, {"subprocess", "multiprocessing", "pty"})
    assert not called(others, {"os.system", "os.popen", "os.fork", "os.posix_spawn"})


def test_every_child_has_a_deadline() -> None:
    starts = {"process.run", "process.run_attached", "process.Child", "Child"}
    assert not [
        f"{name(path)}:{node.lineno}"
        for path in INSIDE
        for call, node in calls(path)
        if call in starts and all(keyword.arg != "deadline" for keyword in node.keywords)
    ]


def test_rules_do_no_input_or_output() -> None:
    modules = {"os", "io", "pathlib", "socket", "shutil", "tempfile", "urllib", "http", "glob", "ctypes", "logging"}
    assert not imported(RULES, modules)
    assert not called(RULES, {"open", "print", "input", "exec", "eval", "__import__"})


def test_a_rule_takes_its_words_from_few_places() -> None:
    """What every rule needs comes from `rules.rule`, what many ask from `knowledge.questions`."""
    files = [path for path in RULES if path.stem[0] != "_"]
    lines = [
        node.end_lineno - node.lineno + 1
        for path in files
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, (ast.Import, ast.ImportFrom)) and node.end_lineno is not None
    ]
    assert len(lines) / len(files) <= 2
    assert max(lines) == 1, "a list of words longer than a line: take some of them from their own modules"


def test_a_finding_is_short() -> None:
    """The sentences stand below the judge, under names."""
    calls_ = [
        node.end_lineno - node.lineno + 1
        for path in RULES
        if path.stem[0] != "_"
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "finding"
        if node.end_lineno is not None
    ]
    assert sum(calls_) / len(calls_) <= 7


def test_only_commands_print_or_exit() -> None:
    others = [path for path in INSIDE if name(path) != "envdoctor/cli.py" and "commands" not in path.parts]
    # A child that was forked and is no other program yet leaves by `os._exit`.
    forks = [path for path in others if name(path) == "envdoctor/system/process.py"]
    assert len(forks) == 1
    assert not called(others, {"print", "sys.exit", "exit", "quit", "click.echo"})
    assert not called(set(others) - set(forks), {"os._exit"})


def test_no_module_is_over_400_lines() -> None:
    long = [name(path) for path in [*DOCTOR, *TRAINER] if len(path.read_text("utf-8").splitlines()) > 400]
    assert not long


def test_the_median_module_is_short() -> None:
    lengths = sorted(len(path.read_text("utf-8").splitlines()) for path in [*DOCTOR, *TRAINER])
    assert lengths[len(lengths) // 2] < 100


def test_names_say_what_a_thing_is() -> None:
    nothing_said = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
    assert not [name(path) for path in [*DOCTOR, *TRAINER] if path.stem in nothing_said]


ALLOWED: dict[str, str] = {
    # What everything stands on.
    "errors": "",
    "values": "errors",
    "system": "errors values",
    "bundle": "errors",
    "configuration": "errors values",
    # What is there: looked at, and known of it.
    "facts": "errors values system",
    "ranks": "errors values system facts",
    "sources": "errors values system facts",
    "knowledge": "errors values facts",
    "facts.pasted": "errors values facts knowledge",
    "locks": "errors values system bundle configuration facts knowledge",
    # What is wrong, and what is done about it.
    "rules": "errors values facts knowledge locks",
    "launch": "errors values system bundle facts locks",
    "change": "errors values system facts sources knowledge locks rules launch",
    "locks.writing": "errors values system facts sources knowledge locks change",
    # How fast it is.
    "speed": "errors values system bundle facts knowledge locks launch",
    # What a model needs.
    "models": "errors values bundle knowledge locks speed",
    # What is shown and asked.
    "render": "errors values facts knowledge locks rules change speed models",
    "doctor": "errors values system bundle facts facts.pasted knowledge locks rules launch change speed",
    "assistants": "errors values system facts render",
    "commands": "errors values system bundle configuration facts facts.pasted sources knowledge locks rules "
    "launch change locks.writing speed models render doctor ranks assistants",
    "cli": "errors system bundle configuration facts commands",
    # For programs.
    "api": "values facts change rules speed models render doctor",
}
"""Wing -> wings that it may import, bottom first: each names only wings that stand above it in this table."""


def modules() -> dict[str, Path]:
    """Dotted name of each module of both halves -> its file."""
    named = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in [*DOCTOR, *TRAINER]}
    return {module.removesuffix(".__init__"): path for module, path in named.items()}


MODULES = modules()


@functools.cache
def imported_modules(module: str) -> frozenset[str]:
    """Modules of our own that it imports, wherever in the file the import stands."""
    found: set[str] = set()
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    for node in nodes(MODULES[module]):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
            found.update(name if name in MODULES else base for name in names)
    return frozenset(name for name in found if name in MODULES and name != module)


def wing(module: str) -> str | None:
    """The wing a module stands in; None for the package itself, which holds the version only."""
    _, *parts = module.split(".")
    pair = ".".join(parts[:2])
    return pair if pair in ALLOWED else parts[0] if parts else None


def arrows() -> Iterator[tuple[str, str]]:
    for module in MODULES:
        if module.startswith("envdoctor.") and module != "envdoctor.__main__":
            yield from (
                (module, other) for other in imported_modules(module) if wing(other) not in (None, wing(module))
            )


def test_the_table_of_wings_points_one_way_and_names_them_all() -> None:
    order = list(ALLOWED)
    for name, below in ALLOWED.items():
        assert set(below.split()) <= set(order[: order.index(name)]), name
    assert {wing(module) for module in MODULES if module.startswith("envdoctor.")} - {
        "__main__",
        "snippets",
        "schemas",
    } == set(order)


def test_imports_between_wings_follow_the_table() -> None:
    against = {(one, other) for one, other in arrows() if wing(other) not in ALLOWED[str(wing(one))].split()}
    assert against == set(), "a wing may not import this one (see ALLOWED)"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports for types only count too."""
    assert list(circles()) == []


def circles() -> Iterator[set[str]]:
    """Groups of modules each of which leads back to the others."""
    reachable = {module: _reached(module) for module in MODULES}
    seen: set[str] = set()
    for module in MODULES:
        circle = {other for other in reachable[module] if module in reachable[other]}
        if circle and module not in seen:
            seen |= circle
            yield circle


def _reached(module: str) -> frozenset[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for other in imported_modules(waiting.pop()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return frozenset(found)


def test_the_stack_of_the_doctor_starts_without_torch() -> None:
    from envdoctor.system import process

    code = f"import sys, envdoctor.cli, envdoctor.commands.check; print(sorted(set(sys.modules) & {HEAVY}))"
    outcome = process.run([sys.executable, "-c", code], deadline=30)
    assert outcome.out.strip() == "[]", outcome.err


def test_every_dependency_is_imported() -> None:
    """What is installed with the doctor earns its place; modules are named as their distributions but for these."""
    modules = {"nvidia-ml-py": "pynvml", "pyyaml": "yaml", "tomli-w": "tomli_w"}
    table = re.search(r"^dependencies = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text("utf-8"), re.M | re.S)
    assert table is not None
    asked = re.findall(r'^ +"([\w-]+)', table[1], re.M)
    imported = {module.partition(".")[0] for path in DOCTOR for module in imports(path)}
    assert len(asked) > 5
    assert not [name for name in asked if modules.get(name, name) not in imported]
