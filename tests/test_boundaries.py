"""The boundaries of the house, read from the source itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCTOR = sorted(p for p in (ROOT / "envdoctor").rglob("*.py") if "_bundle" not in p.parts)
TRAINER = sorted((ROOT / "trainer").rglob("*.py"))
RULES = [p for p in DOCTOR if "rules" in p.relative_to(ROOT).parts]
# Scripts run by path in another interpreter: probes, and what is injected into the user's own process.
FOREIGN = [p for p in DOCTOR if {"probe", "inject"} & set(p.relative_to(ROOT).parts)]
INSIDE = [p for p in DOCTOR if p not in FOREIGN]

HEAVY = {"torch", "transformers", "accelerate", "datasets", "peft", "trainer", "numpy"}
STARTS_PROGRAMS = {"subprocess", "multiprocessing", "pty"}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", TRAINER, ids=name)
def test_trainer_never_imports_the_doctor(path: Path) -> None:
    assert not [module for module in imports(path) if module.split(".")[0] == "envdoctor"]


@pytest.mark.parametrize("path", INSIDE, ids=name)
def test_doctor_never_imports_what_it_examines(path: Path) -> None:
    assert not [module for module in imports(path) if module.split(".")[0] in HEAVY]


@pytest.mark.parametrize("path", INSIDE, ids=name)
def test_one_module_starts_programs(path: Path) -> None:
    if name(path) == "envdoctor/process.py":
        return
    assert not [module for module in imports(path) if module.split(".")[0] in STARTS_PROGRAMS]
    assert not [call for call, _ in calls(path) if call in ("os.system", "os.popen", "os.fork", "os.posix_spawn")]


@pytest.mark.parametrize("path", INSIDE, ids=name)
def test_every_child_has_a_deadline(path: Path) -> None:
    for call, node in calls(path):
        if call in ("process.run", "process.attached", "process.Child", "Child"):
            assert any(keyword.arg == "deadline" for keyword in node.keywords), f"{name(path)}:{node.lineno}"


@pytest.mark.parametrize("path", RULES, ids=name)
def test_rules_do_no_input_or_output(path: Path) -> None:
    forbidden = {"os", "io", "pathlib", "socket", "shutil", "tempfile", "urllib", "http", "glob", "ctypes", "logging"}
    assert not [module for module in imports(path) if module.split(".")[0] in forbidden]
    assert not [call for call, _ in calls(path) if call in ("open", "print", "input", "exec", "eval", "__import__")]


@pytest.mark.parametrize("path", INSIDE, ids=name)
def test_only_commands_print_or_exit(path: Path) -> None:
    if name(path) == "envdoctor/cli.py" or "commands" in path.parts:
        return
    found = [call for call, _ in calls(path) if call in ("print", "sys.exit", "exit", "quit", "os._exit", "click.echo")]
    assert not found


@pytest.mark.parametrize("path", [*DOCTOR, *TRAINER], ids=name)
def test_no_module_is_over_400_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 400


def test_the_median_module_is_short() -> None:
    lengths = sorted(len(path.read_text("utf-8").splitlines()) for path in [*DOCTOR, *TRAINER])
    assert lengths[len(lengths) // 2] < 100


@pytest.mark.parametrize("path", [*DOCTOR, *TRAINER], ids=name)
def test_names_say_what_a_thing_is(path: Path) -> None:
    assert path.stem not in {"utils", "util", "common", "helpers", "helper", "manager", "misc"}


def test_the_stack_of_the_doctor_starts_without_torch() -> None:
    from envdoctor import process

    code = f"import sys, envdoctor.cli, envdoctor.commands.check; print(sorted(set(sys.modules) & {HEAVY}))"
    outcome = process.run([sys.executable, "-c", code], deadline=30)
    assert outcome.out.strip() == "[]", outcome.err
