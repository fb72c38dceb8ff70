"""Unknown is never healthy: whatever is missing, dead, hanging or lying, no exit code says that all is well."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor import doctor
from envdoctor.commands.check import exit_code
from envdoctor.facts import assembly, torch_section
from envdoctor.facts.environment import Environment
from envdoctor.facts.model import Distribution, Facts, Interpreter, Origin, Packages, Torch, Unavailable, Why
from envdoctor.facts.pasted import report
from envdoctor.locks.target import no_target
from envdoctor.rules.checkup import CheckOptions
from envdoctor.rules.finding import FAIL_ON
from envdoctor.rules.unseen import missing_sections
from envdoctor.system.process import Outcome
from envdoctor.values.document import read_toml
from tests.change.conftest import World, cache, make_world, offline, snapshot, write_target  # noqa: F401 - fixtures
from tests.commands.test_check import envdoctor

SEEN = Facts(
    origin=Origin(environment="~/env"),
    interpreter=Interpreter(version="3.11.7", markers={"python_version": "3.11"}, platform="linux-x86_64"),
    packages=Packages(distributions=(Distribution(name="tomli", version="2.0"),), damage_checked="sizes"),
    variables={},
    torch=Unavailable(reason="torch was not asked (--no-torch)", why="not-asked"),
)
QUESTION = CheckOptions(target="none")

missing = st.builds(Unavailable, reason=st.text(max_size=20), why=st.sampled_from(get_args(Why)))


def code(facts: Facts, fail_on: str = "warning") -> int:
    return exit_code(doctor.judge(facts, QUESTION), fail_on)


def test_what_was_seen_whole_is_healthy() -> None:
    assert code(SEEN) == 0
    assert code(replace(SEEN, torch=Torch(version="2.13.0"))) in (0, 1)


SECTIONS = ("interpreter", "packages", "torch", "host", "driver", "gpus", "network", "launcher", "variables")


@settings(max_examples=300)
@given(
    gone=st.dictionaries(st.sampled_from(SECTIONS), missing, min_size=1),
    kind=st.sampled_from(("probe", "recorded")),
    fail_on=st.sampled_from(sorted(FAIL_ON)),
)
def test_no_set_of_missing_sections_is_healthy(gone: dict[str, Any], kind: Any, fail_on: str) -> None:
    facts = replace(SEEN, origin=Origin(kind=kind), **gone)
    torch = gone.get("torch")
    known_absent = torch is not None and torch.why == "absent" and "packages" not in gone
    essential = {"interpreter", "packages"} & set(gone)
    if essential:
        assert code(facts, fail_on) == 3
    elif torch is not None and torch.why != "not-asked" and not known_absent:
        assert code(facts, fail_on) in (1, 3)


def test_a_torch_that_is_listed_but_not_found_is_not_seen() -> None:
    listed = Packages(distributions=(Distribution(name="torch", version="2.13.0"),))
    absent = Unavailable(reason="torch is not installed in this environment", why="absent")
    assert [one.section for one in missing_sections(replace(SEEN, packages=listed, torch=absent), no_target())] == [
        "torch"
    ]
    assert missing_sections(replace(SEEN, torch=absent), no_target()) == ()


@pytest.mark.parametrize(
    "packages",
    [Unavailable(reason="the report does not say", why="not-reported"), Packages(complete=False)],
    ids=["none", "empty"],
)
def test_a_report_without_packages_is_never_healthy(packages: Any) -> None:
    pasted = Facts(origin=Origin(kind="pasted"), packages=packages)
    assert code(pasted) == 3


@pytest.mark.parametrize("text", ["torch 2.6.0+cpu\n", "I use torch==2.9.1 and transformers==4.57.1\n"])
def test_a_few_names_are_no_environment(text: str) -> None:
    assert code(report.read(text)) == 3


def test_what_a_report_shows_is_an_answer_all_the_same() -> None:
    """A report may leave out its packages; what it shows to be wrong is still found."""
    messages = ("RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA versions",)
    pasted = Facts(origin=Origin(kind="pasted"), messages=messages)
    checkup = doctor.judge(pasted, QUESTION)
    assert checkup.diagnosis.unseen
    assert exit_code(checkup, "warning") == (1 if checkup.diagnosis.findings else 3)


value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(
    ("version", "markers", "distributions", "name", "requires", "problems", "files", "settings", "cuda", "count")
)
lie = st.fixed_dictionaries(
    {},
    optional={
        "section": st.sampled_from(("interpreter", "packages", "damage", "extensions", "host", "driver", "storage")),
        "result": st.sampled_from(("success", "error")),
        "value": st.dictionaries(fields, value, max_size=4) | value,
        "error": value,
        "seconds": value,
        "stage": value,
        "fields": st.dictionaries(fields, value, max_size=4) | value,
        "environ": value,
        "absent": value,
        "gpu": value,
        "lost": value,
        "count": value,
        "topology": value,
        "fabric": value,
        "driver": value,
    },
)
endings = st.sampled_from((0, 1, 3, -signal.SIGSEGV, -signal.SIGKILL, None))


@settings(max_examples=400)
@given(
    inside=st.lists(lie, max_size=4), machine=st.lists(lie, max_size=4), torch=st.lists(lie, max_size=4), end=endings
)
def test_no_lie_of_a_probe_is_healthy(inside: list[Any], machine: list[Any], torch: list[Any], end: int | None) -> None:
    ended = Outcome(argv=("python",), code=end, out="", err="", seconds=1.0, timed_out=end is None)
    facts = assembly.quick(
        Environment(path=Path("/nowhere"), python=Path("/nowhere/bin/python")),
        {"environment": ended, "machine": ended, "gpu": ended, "cuinit": ended},
        {"environment": inside, "machine": machine, "gpu": torch, "cuinit": machine},
    )
    facts = torch_section.add_torch(facts, ended, torch)
    answered = isinstance(facts.interpreter, Interpreter) and isinstance(facts.packages, Packages)
    if not (answered and isinstance(facts.torch, Torch)):
        assert code(facts) != 0


# From here on, real processes.

SICK = {
    "exits 3": "exit 3",
    "exits 0 without a word": "exit 0",
    "segfaults": "kill -SEGV $$",
    "is killed": "kill -KILL $$",
    "prints what is no answer": 'echo \'{"section": "interpreter"}\'; exit 0',
    "writes an empty answer": 'for f in "$@"; do :; done; echo {} > "$f"; exit 0',
}


@pytest.fixture
def target(tmp_path: Path) -> tuple[World, Path]:
    world = make_world(tmp_path / "world", "env")
    return world, write_target(world, tmp_path / "locks")


def sicken(environment: Path, script: str) -> Path:
    """Put a shell script in the place of the environment's Python; answers where the real one is."""
    python = environment / "bin" / "python"
    real = python.resolve()
    for name in ("python", "python3", f"python3.{sys.version_info[1]}"):
        (environment / "bin" / name).unlink(missing_ok=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return real


@pytest.mark.parametrize("how", SICK)
@pytest.mark.parametrize("asked", [("--no-torch",), ()], ids=["without torch", "with torch"])
def test_a_python_that_does_not_answer_is_not_healthy(
    target: tuple[World, Path], how: str, asked: tuple[str, ...]
) -> None:
    world, _ = target
    sicken(world.environment, SICK[how])
    outcome = envdoctor("check", "--env", world.environment, *asked, "--format", "json")
    assert outcome.code == 3, outcome.out
    document = json.loads(outcome.out)
    assert document["outcome"] == "unknown"
    assert {"interpreter", "packages"} <= {one["section"] for one in document["unseen"]}
    shown = envdoctor("check", "--env", world.environment, *asked)
    assert (shown.code, "Healthy" in shown.out, "Traceback" in shown.out + shown.err) == (3, False, False)
    assert "interpreter and packages" in shown.out


@pytest.mark.parametrize("how", ["exits 3", "exits 0 without a word", "is killed"])
def test_fix_changes_nothing_that_it_could_not_see(target: tuple[World, Path], how: str) -> None:
    world, path = target
    sicken(world.environment, SICK[how])
    before = snapshot(world.environment)
    outcome = envdoctor("fix", "--target", path, "--env", world.environment, "--yes")
    assert outcome.code == 3, outcome.err
    assert "holds what the lock asks for" not in outcome.err
    assert "could not be seen" in outcome.err
    assert snapshot(world.environment) == before


@pytest.mark.slow
def test_a_python_that_hangs_is_not_healthy(target: tuple[World, Path]) -> None:
    world, _ = target
    sicken(world.environment, "exec sleep 300")
    outcome = envdoctor("check", "--no-torch", "--env", world.environment)
    assert outcome.code == 3, outcome.out
    assert "no answer within" in outcome.out


@pytest.mark.parametrize("command", ["check", "fix"])
def test_a_probe_killed_from_outside_is_not_healthy(target: tuple[World, Path], command: str) -> None:
    """What the kernel does where memory ends: SIGKILL to the probe of the environment, and to nothing else."""
    world, path = target
    real = sicken(world.environment, "")
    python = world.environment / "bin" / "python"
    python.write_text(f'#!/bin/sh\ncase "$*" in *environment.json*) exec sleep 60;; esac\nexec {real} "$@"\n')
    words = {"check": ("--no-torch",), "fix": ("--target", str(path), "--yes")}[command]
    argv = [sys.executable, "-m", "envdoctor", command, "--env", str(world.environment), *words]
    root = str(Path(__file__).resolve().parents[1])
    doctor_ = subprocess.Popen(
        argv, env={**os.environ, "PYTHONPATH": root}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        os.kill(probe_of(doctor_.pid), signal.SIGKILL)
        out, err = doctor_.communicate(timeout=60)
    finally:
        doctor_.kill()
    assert doctor_.returncode == 3, out + err
    assert "SIGKILL" in out + err
    assert "Healthy" not in out
    assert "holds what the lock asks for" not in err
    assert next(world.environment.glob("lib/*/site-packages/alpha-1.0.dist-info"))


def probe_of(parent: int) -> int:
    """The process that became `sleep 60` below ``parent``, once it is there."""
    for _ in range(600):
        for child in _below(parent):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[:2] == [b"sleep", b"60"]:
                    return child
        time.sleep(0.05)
    raise AssertionError("the probe was never started")


def _below(parent: int) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                    yield int(folder.name)


def alter(path: Path, **changes: Any) -> dict[str, Any]:
    """Write the target's lock again, changed."""
    lock = path.parent.parent / "pylock.small.toml"
    data = read_toml(lock) | changes
    lock.write_text(tomli_w.dumps(data))
    return data


def test_a_target_of_which_no_stack_fits_is_an_error_and_fix_says_why(target: tuple[World, Path]) -> None:
    world, path = target
    other = 10 if sys.version_info[1] != 10 else 11
    alter(path, **{"requires-python": f">=3.{other},<3.{other + 1}"})
    words = ("--target", path, "--env", world.environment)
    checked = envdoctor("check", *words, "--no-torch", "--format", "json")
    assert checked.code == 1, checked.err
    (found,) = [f for f in json.loads(checked.out)["findings"] if f["rule"] == "packages/no-stack"]
    assert (found["severity"], found["subject"]) == ("error", "small")
    assert f">=3.{other}" in found["message"].replace("<", ">=") or f"3.{other}" in found["message"]
    before = snapshot(world.environment)
    for more in ((), ("--select", "interpreter"), ("--dry-run",)):
        fixed = envdoctor("fix", *words, "--yes", *more)
        assert fixed.code == 3, fixed.err
        assert "nothing was compared with target small" in fixed.err
        assert "holds what" not in fixed.err
    assert snapshot(world.environment) == before


def test_what_was_not_asked_for_is_not_said_to_agree(target: tuple[World, Path]) -> None:
    world, path = target
    fixed = envdoctor("fix", "--target", path, "--env", world.environment, "--yes", "--select", "interpreter")
    assert "holds what the lock asks for" not in fixed.err
    assert "2 packages of the lock differ" in " ".join(fixed.err.split())


@pytest.mark.parametrize("flaw", ["twice", "no Python"])
@pytest.mark.parametrize("command", ["check", "fix", "preflight", "fetch", "verify"])
def test_a_lock_that_lint_refuses_is_refused_everywhere(target: tuple[World, Path], command: str, flaw: str) -> None:
    world, path = target
    if flaw == "twice":
        packages = read_toml(path.parent.parent / "pylock.small.toml")["packages"]
        alter(path, packages=[*packages, packages[0] | {"wheels": packages[1]["wheels"]}])
    else:
        alter(path, **{"requires-python": ">=9.9.9"})
    assert envdoctor("lock", "small", "--lint", "--folder", path.parent.parent).code == 1
    more = {"fix": ("--yes",), "fetch": ("--folder", path.parent / "wheelhouse")}.get(command, ())
    place = () if command == "fetch" else ("--env", world.environment)
    before = snapshot(world.environment)
    outcome = envdoctor(command, "--target", path, *place, *more)
    assert outcome.code == 2, outcome.out + outcome.err
    assert "pylock.small.toml" in outcome.err
    assert "Traceback" not in outcome.err
    assert snapshot(world.environment) == before
