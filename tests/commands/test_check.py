"""`check`, `facts`, `rules`, `explain` and `targets` as a user runs them: real processes, real environments."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest

from envdoctor.system import process
from envdoctor.system.process import Outcome
from tests.render.test_formats import CHECK

MINE = Path(sys.prefix)


def envdoctor(*words: str | Path, cwd: Path | None = None, **variables: str) -> Outcome:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CUDA_"))}
    env["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    argv = [sys.executable, "-m", "envdoctor", *map(str, words)]
    return process.run(argv, deadline=120, env={**env, **variables}, cwd=cwd)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real environment with nothing in it."""
    path = tmp_path_factory.mktemp("environments") / "empty"
    assert process.run([sys.executable, "-m", "venv", "--without-pip", str(path)], deadline=60).ok
    return path


@pytest.fixture
def with_torch(tmp_path: Path) -> Path:
    """A real environment whose torch is a folder that a test fills."""
    path = tmp_path / "env"
    assert process.run([sys.executable, "-m", "venv", "--without-pip", str(path)], deadline=60).ok
    (next((path / "lib").iterdir()) / "site-packages" / "torch").mkdir()
    return path


def plant(environment: Path, code: str) -> None:
    (next((environment / "lib").iterdir()) / "site-packages" / "torch" / "__init__.py").write_text(code)


def report(outcome: Outcome) -> dict[str, object]:
    document: dict[str, object] = json.loads(outcome.out)
    jsonschema.validate(document, CHECK)
    return document


def test_an_empty_environment_lacks_what_the_lock_names(empty: Path) -> None:
    outcome = envdoctor("check", "--target", "cpu", "--env", empty, "--format", "json")
    found = report(outcome)
    assert outcome.code == 1, outcome.err
    assert found["outcome"] == "findings"
    missing = [f for f in found["findings"] if f["kind"] == "package-missing"]  # type: ignore[attr-defined]
    assert [f["severity"] for f in missing] == ["error", "note"]  # without torch the rest does not matter yet
    rows = {row["subject"] for row in missing[1]["rows"]}
    assert (missing[0]["subject"], {"transformers", "accelerate", "datasets"} <= rows) == ("torch", True)
    assert found["crashed"] == []


def test_check_is_the_default_command(empty: Path) -> None:
    outcome = envdoctor("--target", "cpu", "--env", empty, "--no-torch")
    assert outcome.code == 1
    assert "envdoctor fix --target cpu" in outcome.out


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os.abort()", "SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import time; time.sleep(60)", "no answer within"),
        ("raise OSError('libcudnn.so.9: cannot open shared object file')", "libcudnn.so.9"),
        ("import os; os._exit(0)", "torch"),
        ("print('x' * 2_000_000); raise SystemExit(3)", "torch"),
    ],
    ids=["abort", "segfault", "hang", "raises", "exits", "noise"],
)
def test_a_torch_that_cannot_be_imported_is_a_finding(with_torch: Path, code: str, said: str) -> None:
    plant(with_torch, code)
    words = ("check", "--target", "cpu", "--env", with_torch, "--torch-deadline", "3", "--select", "torch")
    outcome = envdoctor(*words)
    assert outcome.code == 1, outcome.err
    assert said in outcome.out
    assert "Traceback" not in outcome.out + outcome.err
    assert outcome.seconds < 30


def test_facts_can_be_judged_again_elsewhere(empty: Path, tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    assert envdoctor("facts", "--env", empty, "--no-torch", "--output", file).code == 0
    again = report(envdoctor("check", "--target", "cpu", "--facts", file, "--format", "json"))
    once = report(envdoctor("check", "--target", "cpu", "--env", empty, "--no-torch", "--format", "json"))
    kinds = {(f["rule"], f["subject"]) for f in once["findings"] if f["rule"].startswith("packages/")}  # type: ignore[union-attr,index]
    assert kinds
    assert kinds <= {(f["rule"], f["subject"]) for f in again["findings"]}  # type: ignore[union-attr,index]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1"),
        ('{"schema": 1, "facts": {"interpreter": {"version": 3}}}', "version"),
        ("[]", "facts"),
        ("", "line 1"),
    ],
    ids=["truncated", "wrong type", "not an object", "empty"],
)
def test_broken_facts_are_one_clear_error(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "facts.json"
    file.write_text(text)
    outcome = envdoctor("check", "--facts", file)
    assert outcome.code == 2
    assert str(file) in outcome.err
    assert said in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "--target", "h10"), "h100"),
        (("check", "--env", "/nowhere/at/all"), "/nowhere/at/all"),
        (("check", "--format", "yaml"), "yaml"),
        (("chek",), "chek"),
        (("explain", "precision/float32-matmull"), "precision/float32-matmul"),
        (("check", "--output", "nonsense"), "FORMAT=PATH"),
    ],
)
def test_wrong_usage_is_one_clear_error(words: tuple[str, ...], said: str, empty: Path) -> None:
    extra = ("--env", str(empty), "--no-torch") if words[:1] == ("check",) and "--env" not in words else ()
    outcome = envdoctor(*words, *extra)
    assert outcome.code == 2, outcome.err
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_several_formats_at_once(empty: Path, tmp_path: Path) -> None:
    words = ("check", "--target", "cpu", "--env", empty, "--no-torch", "--format", "json")
    outcome = envdoctor(*words, "--output", f"junit={tmp_path / 'j.xml'}", "--output", f"sarif={tmp_path / 's.json'}")
    assert outcome.code == 1
    report(outcome)
    assert (tmp_path / "j.xml").read_text().startswith("<?xml")
    assert json.loads((tmp_path / "s.json").read_text())["version"] == "2.1.0"


def test_under_github_actions_annotations_and_summary_come_by_themselves(empty: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    words = ("check", "--target", "cpu", "--env", empty, "--no-torch")
    outcome = envdoctor(*words, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    assert outcome.out.startswith("::")
    assert summary.read_text().startswith("### envdoctor")


@pytest.mark.parametrize("words", ["rules | head -n 1", "explain precision | true", "check --env {empty} | true"])
def test_a_closed_pipe_is_no_error(empty: Path, words: str) -> None:
    line = f"{sys.executable} -m envdoctor {words.format(empty=empty)}; exit ${{PIPESTATUS[0]}}"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    outcome = process.run(["bash", "-c", line], deadline=60, env=env)
    assert outcome.err == ""
    assert outcome.code in (0, 141) if "head" in words else outcome.code == 141


def test_the_configuration_of_a_project_is_used(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "envdoctor.toml").write_text('target = "cpu"\nselect = ["interpreter"]\n')
    outcome = envdoctor("check", "--env", empty, "--no-torch", "--format", "json", cwd=tmp_path)
    found = report(outcome)
    assert found["target"]["name"] == "cpu"  # type: ignore[index]
    assert all(f["rule"].startswith("interpreter/") for f in found["findings"])  # type: ignore[union-attr,index]


def test_rules_targets_and_explain_answer() -> None:
    rules = json.loads(envdoctor("rules", "--format", "json").out)["rules"]
    assert len(rules) >= 80
    targets = json.loads(envdoctor("targets", "--format", "json").out)["targets"]
    assert {"cpu", "h100", "h200", "phase1c"} <= {target["name"] for target in targets}
    explained = envdoctor("explain", "precision/float32-matmul").out
    assert all(head in explained for head in ("Why", "Fix", "Source"))


def test_help_has_examples_and_groups() -> None:
    text = envdoctor("--help").out
    assert [text.index(group) for group in ("Every day", "Speed", "Lockfiles", "Sharing")] == sorted(
        text.index(group) for group in ("Every day", "Speed", "Lockfiles", "Sharing")
    )
    for command in ("check", "fix", "undo", "preflight", "verify", "lock", "diagnose"):
        assert "Example" in envdoctor(command, "--help").out, command


ELSEWHERE = """
import sys
from envdoctor.cli import run
try:
    run(["check", "--env", sys.argv[1], "--target", "cpu", "--no-torch", "--format", "json"])
except SystemExit:
    pass
print("loaded", *sorted(name for name in sys.modules if name.startswith("envdoctor.")))
"""


def test_a_check_loads_nothing_of_where_else_people_meet_it(empty: Path) -> None:
    """Assistants, image files, models and notebooks are loaded by those who ask for them."""
    outcome = process.run([sys.executable, "-c", ELSEWHERE, str(empty)], deadline=120)
    words = outcome.out.splitlines()[-1].split()
    assert words[0] == "loaded", outcome.err
    loaded = [name.removeprefix("envdoctor.") for name in words[1:]]
    assert "rules.diagnose" in loaded
    wings = ("assistants", "models", "facts.images", "rules.image", "api", "ranks", "snippets")
    assert [name for name in loaded if f"{name}.".startswith(tuple(f"{wing}." for wing in wings))] == []
    assert not {"knowledge.base_images", "knowledge.with_extensions", "commands.fit", "commands.mcp"} & set(loaded)
