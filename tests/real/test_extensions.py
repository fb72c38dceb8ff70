"""`fix --with` for real, on a CPU: three extensions installed, undone, installed again; torch stays what it was."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from envdoctor.system import process
from tests.commands.test_check import envdoctor

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.install

NAMES = ("liger-kernel", "bitsandbytes", "torchao", "einops")
TRY = """
import importlib, importlib.metadata as metadata, sys
for name in sys.argv[1:]:
    found = importlib.import_module(name.replace("-", "_"))
    print(name, metadata.version(name), found.__file__)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real environment with torch for the CPU, and nothing else."""
    path = tmp_path_factory.mktemp("extended") / "env"
    assert process.run([sys.executable, "-m", "venv", str(path)], deadline=120).ok
    made = process.run([str(path / "bin" / "python"), "-m", "pip", "install", "-q", "torch==2.13.0"], deadline=500)
    assert made.ok, made.err
    return path


def tried(environment: Path) -> process.Outcome:
    return process.run([str(environment / "bin" / "python"), "-c", TRY, "torch", *NAMES], deadline=120)


def versions(environment: Path) -> dict[str, str]:
    """What is imported from this environment, by name; the version is that of the distribution."""
    outcome = tried(environment)
    assert outcome.ok, outcome.err
    rows = [line.split() for line in outcome.out.splitlines() if f" {environment}/" in line]
    return {name: version for name, version, _ in rows}


def planned(text: str) -> dict[str, str]:
    """The plan's releases of the extensions: "torchao   missing → 0.18.0"."""
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: row[3] for row in rows if len(row) == 4 and row[0] in NAMES and row[1:3] == ["missing", "→"]}


def fix(environment: Path, *words: str) -> process.Outcome:
    """Minutes on a busy machine: packages are installed, imported and judged."""
    argv = [sys.executable, "-m", "envdoctor", "fix", "--env", str(environment), "--target", "cpu", "--yes", *words]
    return process.run(argv, deadline=500, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_three_extensions_installed_undone_and_installed_again(environment: Path) -> None:
    words = ("--with", "liger-kernel,bitsandbytes,torchao", "--with", "einops")
    first = fix(environment, *words)
    assert first.code in (0, 1), first.err
    for name in NAMES:
        assert f"importing {name.replace('-', '_')} in the new environment" in first.err
    wanted = planned(first.err)
    assert set(wanted) == set(NAMES)
    there = versions(environment)
    assert there.pop("torch").startswith("2.13.0")
    assert there == wanted
    assert envdoctor("undo", "--env", environment, "--yes").code == 0
    assert "No module named 'liger_kernel'" in tried(environment).err
    assert fix(environment, *words).code in (0, 1)
    assert versions(environment) == {"torch": "2.13.0+cpu", **wanted}
    again = fix(environment, *words)
    assert "Nothing to change" in again.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("flash-attn", "about two hours without ninja"),
        ("vllm", "it pins torch exactly"),
        ("apex", "the registry's `apex` is another project"),
        ("deepspeed", "--no-build-isolation"),
    ],
)
def test_without_a_fitting_wheel_it_is_said_what_to_do_and_nothing_changes(
    environment: Path, name: str, said: str
) -> None:
    before = sorted(str(path) for path in environment.rglob("*.dist-info"))
    outcome = fix(environment, "--with", f"einops,{name}")
    assert outcome.code == 3
    assert said in " ".join(outcome.err.split())
    assert f"Leave out {name}; nothing was changed" in " ".join(outcome.err.split())
    assert sorted(str(path) for path in environment.rglob("*.dist-info")) == before


def test_an_extension_that_cannot_be_imported_changes_nothing(environment: Path, tmp_path: Path) -> None:
    """The clone is tried, not believed: here einops is hidden by a broken module of its name in a `.pth` folder."""
    (tmp_path / "einops.py").write_text("raise ImportError('broken on purpose')\n")
    library = next((environment / "lib").glob("python*/site-packages"))
    first = library / "aaa_first.pth"
    first.write_text(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n")
    try:
        present = "einops" in tried(environment).err
        outcome = fix(environment, "--with", "einops,cut-cross-entropy")
        assert present or outcome.code == 3
        assert "broken on purpose" in outcome.err
    finally:
        first.unlink()


def test_a_stack_takes_extensions_as_extras_and_keeps_its_torch(tmp_path: Path) -> None:
    outcome = envdoctor("lock", "cpu", "--with", "einops", "--as", "mine", cwd=tmp_path)
    assert outcome.code == 0, outcome.err
    text = (tmp_path / "locks" / "pylock.mine.toml").read_text()
    assert 'extras = ["einops"]' in text
    assert text.count("in extras") == 1
    assert 'name = "einops"' in text
    before = (ROOT / "lockfiles" / "pylock.cpu.toml").read_text()
    torch = r'name = "torch"\nversion = .*'
    (kept,) = re.findall(torch, text)  # the one for this Python: the bundled lock has others for others
    assert kept in re.findall(torch, before)
    assert "https://" not in text
    assert envdoctor("targets", cwd=tmp_path).code == 0
