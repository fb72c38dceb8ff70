"""Where a stranger types the first command: what comes of it, on seven kinds of machine, with real environments.

Only `test_run_by_uvx` needs a network (``-m install``); the others install small wheels from a folder or from an index
that is served here.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from envdoctor.system import process
from envdoctor.system.process import Outcome
from tests.change.conftest import World, make_world, write_target

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = Path("/usr/bin/python3")
SHOWN = ("CONDA_PREFIX", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL")
BARE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "COLUMNS": "80", "UV_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
root_only = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="plays several users")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="Linux is the platform")


class Typed(NamedTuple):
    """A command of a test, for the table that `python -m tests.minute` writes."""

    words: str
    code: int | None
    seconds: float
    said: str


TYPED: list[Typed] = []


@pytest.fixture(autouse=True)
def _typed(record_property: Callable[[str, object], None]) -> Iterator[None]:
    TYPED.clear()
    yield
    record_property("typed", json.dumps(TYPED))


def doctor(*words: str | Path, cwd: Path, before: str = "", **variables: str) -> Outcome:
    """The doctor as in a shell that knows nothing of any environment; ``before``: how it is started."""
    argv = [*before.split(), sys.executable, "-m", "envdoctor", *map(str, words)]
    home = {"HOME": str(cwd), "XDG_CACHE_HOME": str(cwd / "cache"), "PIP_CONFIG_FILE": os.devnull}
    outcome = process.run(argv, deadline=120, env={**BARE, **home, **variables}, cwd=cwd)
    named = {name: text for name, text in variables.items() if name in SHOWN}
    return typed(" ".join((before, *(f"{name}=..." for name in named), "envdoctor", *map(str, words))), outcome)


def typed(line: str, outcome: Outcome) -> Outcome:
    """This outcome, remembered."""
    TYPED.append(Typed(line.strip(), outcome.code, outcome.seconds, gist(outcome.err + outcome.out)))
    return outcome


def gist(text: str) -> str:
    """The line of an answer that says what came of it."""
    lines = [line.strip() for line in text.splitlines()]
    signs = ("✓", "envdoctor: ", "✗ Found", "? Not")
    return next((line for sign in signs for line in lines if line.startswith(sign)), "")


def select(target: Path, *words: str) -> tuple[str, ...]:
    return ("--target", str(target), "--select", "packages", "--ignore", "packages/no-pip", *words)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world", "env")


@pytest.fixture
def target(world: World, tmp_path: Path) -> Path:
    return write_target(world, tmp_path / "locks")


def has(environment: Path, version: str) -> bool:
    code = "import alpha; print(alpha.version)"
    outcome = process.run([environment / "bin" / "python", "-c", code], deadline=60)
    return outcome.out.strip() == version


@linux_only
@pytest.mark.skipif(not SYSTEM.exists(), reason="no Python of the system's")
def test_root_without_an_environment(tmp_path: Path, target: Path) -> None:
    """The system's Python is looked at and left alone: a fix makes ./.venv."""
    here = tmp_path / "here"
    here.mkdir()
    looked = doctor("check", "--no-torch", "--target", "cpu", cwd=here)
    assert looked.code == 1, looked.err
    assert "environment /usr: the python on PATH, for none is active" in looked.err
    before = set(os.listdir("/usr/bin"))
    mended = doctor("fix", "--yes", *select(target), cwd=here)
    assert mended.code == 0, mended.err
    assert "this one is left alone" in " ".join(mended.err.split())
    assert has(here / ".venv", "2.0")
    assert set(os.listdir("/usr/bin")) == before
    again = doctor(cwd=here)  # the next command finds it by itself
    assert "environment .venv: it lies here" in again.err


@linux_only
@root_only
@pytest.mark.skipif(not SYSTEM.exists(), reason="no Python of the system's")
def test_a_user_who_may_not_write(target: Path, world: World) -> None:
    """Somebody else's environment: it is examined, and a change says who may make it."""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" not in os.path.realpath(SYSTEM):
        pytest.skip("another user can run the system's Python only, and ours has other packages")
    with tempfile.TemporaryDirectory(prefix="envdoctor-box-") as name:
        place = Path(name)
        place.chmod(0o755)
        theirs, locks, home = place / "env", place / "locks", place / "home"
        process.run([*uv(), "venv", "-q", "--no-config", "--python", SYSTEM, theirs], deadline=60)
        shutil.copytree(target.parent.parent, locks)
        home.mkdir()
        os.chown(home, 65534, 65534)
        process.run([*uv(), "venv", "-q", "--no-config", "--python", SYSTEM, place / "doctor"], deadline=60)
        ours = next(Path(sys.prefix, "lib").glob("python3*/site-packages"))
        site = next((place / "doctor" / "lib").glob("python3*/site-packages"))
        (site / "doctor.pth").write_text(f"{ROOT}\n{ours}\n")
        argv: list[str | Path] = [place / "doctor" / "bin" / "python", "-m", "envdoctor"]
        env = {**BARE, "HOME": str(home), "PYTHONPATH": "", "PIP_CONFIG_FILE": os.devnull}

        def as_nobody(*words: str | Path) -> subprocess.CompletedProcess[str]:
            began = time.monotonic()
            done = subprocess.run(
                [*argv, *words], user=65534, group=65534, extra_groups=[], env=env, cwd=home,
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
            line = " ".join(("(as nobody) envdoctor", *map(str, words)))
            seconds = time.monotonic() - began
            TYPED.append(Typed(line, done.returncode, seconds, gist(done.stderr + done.stdout)))
            return done

        if as_nobody("--version").returncode != 0:
            pytest.skip("the checkout cannot be read by another user")
        goal = locks / "targets" / "small.toml"
        looked = as_nobody("check", "--env", theirs, "--target", "cpu", "--no-torch", "--format", "json")
        assert looked.returncode == 1, looked.stderr
        found = json.loads(looked.stdout)["findings"]
        assert "interpreter/not-writable" in {row["rule"] for row in found}
        mended = as_nobody("fix", "--yes", "--env", theirs, *select(goal))
        assert mended.returncode == 3, mended.stderr
        assert "may not" in mended.stderr or "permission" in mended.stderr.lower() or "writ" in mended.stderr
        assert "internal error" not in mended.stderr
        made = as_nobody("fix", "--yes", "--env", home / "mine", *select(goal))
        assert made.returncode == 0, made.stderr  # what is the user's own can be made
        assert has(home / "mine", "2.0")


def uv() -> tuple[str, ...]:
    from envdoctor.change.installers import find_uv

    return (find_uv() or "uv",)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A Python of its own with its standard library, as conda and python.org lay it out: no pyvenv.cfg."""
    base = Path(sys.base_prefix).resolve()
    if base in (Path("/usr"), Path("/usr/local")):
        pytest.skip("this Python does not lie in a folder of its own")
    prefix = tmp_path / "miniconda3"
    short = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    left = shutil.ignore_patterns("site-packages", "test", "tests", "__pycache__", "idlelib", "*.a", "config-*")
    shutil.copytree(base / "lib" / short, prefix / "lib" / short, ignore=left, symlinks=True)
    for library in base.glob("lib/libpython*.so*"):
        shutil.copy2(library, prefix / "lib", follow_symlinks=False)
    (prefix / "bin").mkdir()
    shutil.copy2(base / "bin" / short, prefix / "bin" / "python")
    (prefix / "lib" / short / "site-packages").mkdir()
    return prefix


@linux_only
def test_a_conda_base(whole: Path, target: Path, tmp_path: Path) -> None:
    """By its layout: named by CONDA_PREFIX, with conda's own list of what it installed."""
    meta = whole / "conda-meta"
    meta.mkdir()
    (meta / "history").write_text("")
    (meta / "python-3.11.7-h955ad1f_0.json").write_text("{}")
    here = tmp_path / "here"
    here.mkdir()
    looked = doctor("check", "--no-torch", "--target", "cpu", "--format", "json", cwd=here, CONDA_PREFIX=str(whole))
    assert looked.code == 1, looked.err
    document = json.loads(looked.out)
    assert document["environment"]["path"] == str(whole)
    mended = doctor("fix", "--yes", *select(target), cwd=here, CONDA_PREFIX=str(whole))
    assert mended.code == 0, mended.err
    where = here / ".venv" if (here / ".venv").exists() else whole
    assert has(where, "2.0"), mended.err


@linux_only
def test_an_externally_managed_python(whole: Path, target: Path, tmp_path: Path) -> None:
    short = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (whole / "lib" / short / "EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=Use a venv.\n")
    here = tmp_path / "here"
    here.mkdir()
    before = sorted(path.name for path in (whole / "lib" / short / "site-packages").iterdir())
    mended = doctor("fix", "--yes", "--env", whole / "bin" / "python", *select(target), cwd=here)
    assert mended.code == 0, mended.err
    assert has(here / ".venv", "2.0")
    assert sorted(path.name for path in (whole / "lib" / short / "site-packages").iterdir()) == before


@linux_only
@root_only
@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_no_network_and_a_folder_of_wheels(world: World, target: Path, tmp_path: Path, installer: str) -> None:
    """In a network namespace without even a loopback; the wheels lie beside the lock, as `fetch` leaves them."""
    before = "unshare --net"
    if installer == "pip" and not process.run([sys.executable, "-m", "pip", "--version"], deadline=60).ok:
        pytest.skip("no pip here")
    words: tuple[str | Path, ...] = (
        "fix",
        "--yes",
        "--env",
        world.environment,
        "--installer",
        installer,
        *select(target),
    )
    mended = doctor(*words, cwd=tmp_path, before=before)
    if "Operation not permitted" in mended.err:
        pytest.skip("no namespaces here")
    assert mended.code == 0, mended.err
    assert has(world.environment, "2.0")


@linux_only
@root_only
def test_what_was_fetched_is_installed_by_the_line_that_it_prints(world: World, target: Path, tmp_path: Path) -> None:
    links = {"UV_FIND_LINKS": str(world.wheels), "UV_NO_INDEX": "1"}
    fetched = doctor("fetch", "--target", target, "--folder", "wheel house", cwd=tmp_path, **links)
    assert fetched.code == 0, fetched.err
    line = fetched.err.splitlines()[-1].partition(": ")[2]
    words = [world.environment if word == "./env" else word for word in shlex.split(line)[1:]]
    mended = doctor(*words, *select(target)[2:], "--yes", cwd=tmp_path, before="unshare --net")
    if "Operation not permitted" in mended.err:
        pytest.skip("no namespaces here")
    assert mended.code == 0, mended.err
    assert has(world.environment, "2.0")


@linux_only
@root_only
def test_no_network_and_no_wheels(tmp_path: Path) -> None:
    """One attempt says it. Each index by itself for each of fifty wheels would take minutes: past the deadline."""
    extra = f"file://{tmp_path / 'no-index'}"
    words = ("fetch", "--target", "cpu", "--folder", "wheelhouse")
    variables = {"UV_OFFLINE": "0", "PIP_EXTRA_INDEX_URL": extra}
    outcome = doctor(*words, cwd=tmp_path, before="unshare --net", **variables)
    if "Operation not permitted" in outcome.err:
        pytest.skip("no namespaces here")
    assert outcome.code == 3, outcome.err
    assert "the network fails" in outcome.err
    assert not (tmp_path / "wheelhouse").exists(), "what was made for nothing goes again"


class Quiet(http.server.SimpleHTTPRequestHandler):
    asked: list[str]

    def log_message(self, *_: object) -> None:
        self.asked.append(self.path)


@pytest.fixture
def mirror(world: World, tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """A package index as PEP 503 has it, on the loopback: its address, and what was asked of it."""
    simple = tmp_path / "served" / "simple"
    for wheel in world.wheels.glob("*.whl"):
        page = simple / wheel.name.split("-")[0]
        page.mkdir(parents=True, exist_ok=True)
        shutil.copy2(wheel, page)
        links = "".join(f'<a href="{path.name}">{path.name}</a>\n' for path in sorted(page.glob("*.whl")))
        (page / "index.html").write_text(f"<!doctype html>\n{links}")
    asked: list[str] = []
    handler = type("Handler", (Quiet,), {"asked": asked})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(simple.parent)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/simple", asked
    server.shutdown()
    server.server_close()


@linux_only
@pytest.mark.parametrize("way", ["pip.conf", "PIP_INDEX_URL", "UV_DEFAULT_INDEX"])
def test_behind_a_mirror(world: World, target: Path, tmp_path: Path, mirror: tuple[str, list[str]], way: str) -> None:
    """Nothing but a mirror answers: whichever way the user's own tools learn of it, so does the doctor."""
    address, asked = mirror
    (target.parent.parent / "wheels").unlink()
    variables = {"UV_OFFLINE": "0", "http_proxy": "", "HTTP_PROXY": "", "NO_PROXY": "127.0.0.1"}
    if way == "pip.conf":
        (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {address}\n")
        variables["PIP_CONFIG_FILE"] = str(tmp_path / "pip.conf")
    else:
        variables[way] = address
    mended = doctor("fix", "--yes", "--env", world.environment, *select(target), cwd=tmp_path, **variables)
    assert mended.code == 0, mended.err
    assert has(world.environment, "2.0")
    assert any("alpha" in path for path in asked), asked


@pytest.mark.install
@linux_only
def test_run_by_uvx(world: World, target: Path, tmp_path: Path) -> None:
    """`uvx --from .`: the doctor in an environment of its own that lasts no longer than the command."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    words = ["tool", "run", "--from", str(ROOT), "envdoctor"]
    looked = process.run([*uv(), *words, "check", "--target", "cpu", "--no-torch", "--env", world.environment],
                         deadline=300, env=env, cwd=tmp_path)  # fmt: skip
    typed("uvx --from CLONE envdoctor check --target cpu --no-torch --env ENV", looked)
    assert looked.code == 1, looked.err
    mended = process.run([*uv(), *words, "fix", "--yes", "--env", world.environment, *select(target)],
                         deadline=300, env=env, cwd=tmp_path)  # fmt: skip
    typed("uvx --from CLONE envdoctor fix --yes --env ENV", mended)
    assert mended.code == 0, mended.err
    assert has(world.environment, "2.0")
    alone = process.run([*uv(), *words], deadline=300, env={**env, "PATH": "/usr/bin:/bin"}, cwd=tmp_path)
    typed("uvx --from CLONE envdoctor", alone)
    assert "uv/archive" not in alone.err.replace(os.sep, "/") or "own environment" in alone.err
