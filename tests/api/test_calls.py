"""envdoctor for programs: typed values, lazily; nothing changes without a yes; the pytest plugin."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
import venv
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import envdoctor
from envdoctor import Trouble, check, fix
from envdoctor.api import answers
from envdoctor.system import process
from tests.commands.test_check import envdoctor as command

ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "tests" / "facts" / "machines"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "env"
    venv.create(path, with_pip=False)
    return path


def without_seconds(found: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in found.items() if name != "seconds"}


def test_a_report_has_what_the_json_has() -> None:
    facts = MACHINES / "cpu-virtual-machine.json"
    report = check(facts=facts, target="h100")
    printed = json.loads(command("check", "--facts", facts, "--target", "h100", "--format", "json").out)
    told = json.loads(json.dumps(dataclasses.asdict(report)))
    told["environment"] = {name: text for name, text in told["environment"].items() if name in printed["environment"]}
    assert without_seconds(told) == without_seconds(printed)
    assert report.findings
    assert report.findings[0].remedy.text


def test_values_are_frozen(empty: Path) -> None:
    report = check(empty, torch=False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.outcome = "healthy"  # type: ignore[misc]


def test_recorded_facts_are_judged_anywhere() -> None:
    report = check(facts=MACHINES / "nvidia-h200.json")
    assert report.environment.gpus == ("NVIDIA H200",)
    assert report.target.name == "h200"
    assert check(facts=MACHINES / "nvidia-h200.json", target="none", select=["gpu"]).target.name == "none"


def test_nothing_changes_without_a_yes(tmp_path: Path) -> None:
    steps: list[str] = []
    change = fix(tmp_path / "new", target="cpu", progress=steps.append)
    assert not (tmp_path / "new").exists()
    assert (change.changed, change.dry_run, change.target) == (False, True, "cpu")
    assert {"torch", "transformers"} <= {package.name for package in change.packages}
    assert steps


def test_expected_failures_are_troubles(tmp_path: Path) -> None:
    with pytest.raises(Trouble) as caught:
        check(tmp_path / "absent")
    assert caught.value.remedy
    with pytest.raises(Trouble):
        check(target="h1000")


def test_fields_of_a_newer_document_are_passed_over() -> None:
    document = {"schema": 1, "change": None, "speed": None, "new": 1}
    report = dataclasses.asdict(check(facts=MACHINES / "nvidia-h200.json"))
    report["findings"] = [{**found, "new": {"x": 1}} for found in report["findings"]]
    report["tool"]["new"] = 2
    gate = answers.value(answers.Gate, {**document, "check": json.loads(json.dumps(report))})
    assert gate.check.tool.name == "envdoctor"


def loaded_after(code: str) -> set[str]:
    begin, end = "before = set(sys.modules)", "print(' '.join(set(sys.modules) - before))"
    program = "\n".join(["import sys", f"sys.path.insert(0, {str(ROOT)!r})", begin, code, end])
    outcome = process.run([sys.executable, "-I", "-c", program], deadline=60)
    assert outcome.ok, outcome.err
    return set(outcome.out.split())


def test_importing_loads_next_to_nothing() -> None:
    assert loaded_after("import envdoctor") <= {"envdoctor", "__future__"}
    found = loaded_after("from envdoctor import check, fix, verify, Trouble")
    assert not {"click", "rich", "packaging", "json", "subprocess", "torch", "envdoctor.doctor"} & found


def test_what_is_exported_is_documented() -> None:
    for name in ("check", "fix", "verify"):
        function = getattr(envdoctor, name)
        assert "Raises" in function.__doc__
    assert set(envdoctor.__all__) <= set(dir(envdoctor))
    with pytest.raises(AttributeError):
        _ = envdoctor.chek  # type: ignore[attr-defined]


@pytest.mark.slow
def test_type_checkers_see_the_types(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from envdoctor import check, verify\n"
        "reveal_type(check('x').findings[0].remedy.commands)\n"
        "reveal_type(verify().ratio)\n"
        "check(1)\n"
    )
    outcome = process.run([sys.executable, "-m", "mypy", "--strict", program], deadline=300, cwd=ROOT)
    assert re.search(r'program.py:2: note: Revealed type is "(builtins.)?tuple\[(builtins.)?str, ...\]"', outcome.out)
    assert "float | None" in outcome.out or "Union[builtins.float, None]" in outcome.out
    assert 'program.py:4: error: Argument 1 to "check"' in outcome.out


# --- the pytest plugin ---

SUITE = """
import pytest

@pytest.mark.usefixtures("healthy_gpu")
def test_on_gpu():
    pass

def test_elsewhere():
    pass
"""
CONFTEST = """
import pytest, envdoctor

@pytest.fixture(scope="session")
def envdoctor_report():
    return envdoctor.check(facts={facts!r}, target="none")
"""


def suite(folder: Path, facts: Path | None, *words: str, ini: str = "") -> str:
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    if facts is not None:
        (folder / "conftest.py").write_text(CONFTEST.format(facts=str(facts)))
    installed = any(point.name == "envdoctor" for point in metadata.entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "envdoctor.api.pytest_plugin"]
    argv = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist", *plugin, *words]
    return process.run([*argv, str(folder)], deadline=120, cwd=folder).out


def sick_machine(folder: Path) -> Path:
    data = json.loads((MACHINES / "nvidia-h200.json").read_text())
    data["facts"]["gpus"]["devices"][0].update(rows_failed=True, ecc_uncorrected=12, xid=[79])
    path = folder / "sick.json"
    path.write_text(json.dumps(data))
    return path


def test_gpu_tests_run_on_a_healthy_machine(tmp_path: Path) -> None:
    assert "2 passed" in suite(tmp_path, MACHINES / "nvidia-h200.json")


def test_gpu_tests_are_skipped_on_a_sick_machine(tmp_path: Path) -> None:
    out = suite(tmp_path, sick_machine(tmp_path))
    assert "1 passed, 1 skipped" in out
    assert "envdoctor: " in out


@pytest.mark.parametrize(("words", "ini"), [(["--envdoctor-sick", "fail"], ""), ([], "envdoctor_sick = fail")])
def test_or_fail_where_that_is_asked_for(words: list[str], ini: str, tmp_path: Path) -> None:
    out = suite(tmp_path, sick_machine(tmp_path), *words, ini=ini)
    assert "1 passed, 1 error" in out


def test_a_machine_without_gpu_skips_whatever_is_asked_for(tmp_path: Path) -> None:
    out = suite(tmp_path, MACHINES / "cpu-virtual-machine.json", "--envdoctor-sick", "fail")
    assert "there is no NVIDIA GPU here" in out


def test_a_wrong_setting_is_an_error(tmp_path: Path) -> None:
    assert "is 'ignore', not skip or fail" in suite(tmp_path, sick_machine(tmp_path), ini="envdoctor_sick = ignore")


def test_the_plugin_is_installed_with_the_package() -> None:
    assert (
        '[project.entry-points.pytest11]\nenvdoctor = "envdoctor.api.pytest_plugin"'
        in (ROOT / "pyproject.toml").read_text()
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_documented_and_works(shell: str) -> None:
    assert "_ENVDOCTOR_COMPLETE=bash_source" in command("--help").out
    outcome = process.run(
        [Path(sys.executable).parent / "envdoctor"],
        deadline=30,
        env={"_ENVDOCTOR_COMPLETE": f"{shell}_source", "PATH": "/usr/bin:/bin"},
    )
    assert outcome.ok
    assert "_envdoctor_completion" in outcome.out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("envdoctor pre", ["preflight"]),
        ("envdoctor check --no-t", ["--no-torch"]),
        ("envdoctor fix --target h1", ["h100"]),
        ("envdoctor verify -t a1", ["a100"]),
        ("envdoctor explain precision/fl", ["precision/float32-matmul"]),
        ("envdoctor check --ignore pack", ["packages", "packages/"]),
        ("envdoctor ci gith", ["github"]),
    ],
)
def test_what_a_shell_is_offered(typed: str, offered: list[str]) -> None:
    words = typed.split()
    variables = {"COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1), "PATH": "/usr/bin:/bin"}
    outcome = process.run(
        [Path(sys.executable).parent / "envdoctor"],
        deadline=30,
        env={"_ENVDOCTOR_COMPLETE": "bash_complete", **variables},
    )
    assert outcome.ok, outcome.err
    found = [line.removeprefix("plain,") for line in outcome.out.splitlines()]
    if offered[-1].endswith("/"):
        assert found[0] == offered[0]
        assert len(found) > 5
        assert all(name.startswith(offered[-1]) for name in found[1:])
    else:
        assert found == offered
