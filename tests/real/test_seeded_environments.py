"""Rules about packages, variables, the host and the interpreter, found in environments that really have the fault.

Each row of `seeds.py` is planted into a clone of one environment, in a mount namespace of its own, under real limits,
and `envdoctor check --format json` is run as a user runs it. The rules that need other hardware are named in
`ELSEWHERE`, with the made or recorded facts that they are shown with instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.rules.catalog import load_rules
from envdoctor.system import process
from tests.change.wheels import make_wheel
from tests.real.environments import python, uv
from tests.real.seeds import ROOT, SEEDS, Seed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="mounts and cgroups need root")]

_CGROUPS = Path("/sys/fs/cgroup")

ELSEWHERE = {
    "host/busy": "it would load the machine; tests/rules/host/test_busy.py",
    "host/cpus-per-gpu": "needs a GPU; tests/rules/host/test_cpus_per_gpu.py",
    "host/network-storage": "needs a file server; tests/rules/host/test_network_storage.py",
    "host/numa": "needs two sockets; tests/rules/host/test_numa.py",
    "interpreter/architecture": "needs another processor; tests/rules/interpreter/test_architecture.py",
    "interpreter/debug-build": "needs a debug build of Python; tests/rules/interpreter/test_debug_build.py",
    "interpreter/free-threaded": "needs a free-threaded Python; tests/rules/interpreter/test_free_threaded.py",
    "interpreter/old-glibc": "needs an old C library; tests/rules/interpreter/test_old_glibc.py",
    "packages/extension-kernels": "reads error lines of a report; tests/reports.txt",
    "packages/import-mismatch": "reads error lines of a report; tests/reports.txt",
    "packages/known-symptoms": "reads error lines of a report; tests/reports.txt",
    "packages/reported-conflicts": "reads error lines of a report; tests/reports.txt",
}
FAMILIES = ("packages", "variables", "host", "interpreter")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One empty environment for each Python that a seed asks for."""
    folder = tmp_path_factory.mktemp("empty")
    made = {}
    for version in sorted({seed.python for seed in SEEDS}):
        if interpreter := python(version):
            made[version] = folder / version
            uv(folder, "venv", "--quiet", "--python", interpreter, made[version], folder=folder)
    return made


def _filled(text: str, places: dict[str, Path]) -> str:
    for name, path in places.items():
        text = text.replace(f"{{{name}}}", str(path))
    return text


def _install(seed: Seed, environment: Path, folder: Path) -> None:
    wheels = []
    for row in seed.wheels:
        pin, *requires = (part.strip() for part in row.split(";"))
        name, _, version = pin.partition("==")
        locked = make_wheel(folder / "wheels", name, version, requires=tuple(requires))
        wheels.append(str(folder / "wheels" / locked.wheel))
    if wheels:
        uv(
            environment,
            "pip",
            "install",
            "-q",
            "--offline",
            "--no-deps",
            "--python",
            environment,
            *wheels,
            folder=folder,
        )


@contextlib.contextmanager
def _groups(seed: Seed, name: str) -> Iterator[list[str]]:
    """Control groups of version 1 with the seed's limits; the lines with which a shell enters them."""
    made = []
    for path, value in seed.cgroup.items():
        controller, _, file = path.partition("/")
        group = _CGROUPS / controller / name
        if not (_CGROUPS / controller / "tasks").exists():
            pytest.skip(f"there is no writable {controller} control group of version 1 here")
        if group not in made:
            group.mkdir()
            made.append(group)
        (group / file).write_text(value)
    try:
        yield [f"echo $$ > {group}/tasks" for group in made]
    finally:
        for group in made:
            group.rmdir()


def _check(seed: Seed, empty: dict[str, Path], tmp: Path) -> dict[str, object]:
    if seed.python not in empty:
        pytest.skip(f"there is no Python {seed.python} here")
    places = {"env": tmp / "env", "tmp": tmp, "cwd": tmp / "cwd"}
    shutil.copytree(empty[seed.python], places["env"], symlinks=True)
    places["cwd"].mkdir()
    _install(seed, places["env"], tmp)
    for path, text in seed.files.items():
        file = Path(_filled(path, places))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_filled(text, places))
    variables = {name: _filled(value, places) for name, value in seed.variables.items()}
    keep = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TERM")}
    path = os.pathsep.join(filter(None, (variables.pop("PYTHONPATH", ""), str(ROOT))))
    environment = seed.environment or str(places["env"])
    words = [sys.executable, "-P", "-m", "envdoctor", "check", "--env", environment, "--target", seed.target]
    words += ["--format", "json"]
    start = "exec env " + " ".join(f"'{name}={value}'" for name, value in {**variables, "PYTHONPATH": path}.items())
    through = "setarch --uname-2.6 " if "--uname-2.6" in seed.words else ""
    with _groups(seed, f"envdoctor-{tmp.name}") as entering:
        setup = [*entering, _filled(seed.shell, places)] if seed.shell else entering
        script = " && ".join([*setup, f"{start} {through}" + " ".join(f"'{word}'" for word in words)])
        outcome = process.run(["unshare", "--mount", "bash", "-c", script], deadline=120, env=keep, cwd=places["cwd"])
    assert outcome.out.startswith("{"), outcome.err[-2000:] or outcome.out[-2000:]
    document: dict[str, object] = json.loads(outcome.out)
    return document


def _name(seed: Seed) -> str:
    same = [other for other in SEEDS if other.rule == seed.rule]
    return seed.rule + (f" {same.index(seed) + 1}" if len(same) > 1 else "")


@pytest.mark.parametrize("seed", SEEDS, ids=_name)
def test_the_planted_fault_is_found_by_name(seed: Seed, empty: dict[str, Path], tmp_path: Path) -> None:
    document = _check(seed, empty, tmp_path)
    rows = document["findings"]
    assert isinstance(rows, list)
    assert document["crashed"] == []
    assert seed.rule in {row["rule"] for row in rows}, [f"{row['rule']}: {row['message']}" for row in rows]


def test_every_rule_is_planted_or_shown_elsewhere() -> None:
    planted = {seed.rule for seed in SEEDS}
    rules = {rule.name for rule in load_rules() if rule.family in FAMILIES}
    assert rules - planted - set(ELSEWHERE) == set()
    assert set(ELSEWHERE) & planted == set()
    for reason in ELSEWHERE.values():
        match = re.search(r"tests/\S+", reason)
        assert match
        assert (ROOT / match[0]).exists(), reason
