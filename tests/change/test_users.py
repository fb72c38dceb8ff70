"""Programs that run from an environment are found, however they were started."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import packaging
import pytest

import envdoctor
from envdoctor.change.places import places
from envdoctor.change.users import _of_envdoctor, refuse_users, users
from envdoctor.errors import Trouble
from envdoctor.facts.collect import PROBES
from tests.change.conftest import World

WAIT = "print(1, flush=True); input()"


@contextmanager
def running(*argv: str | Path, **options: object) -> Iterator[int]:
    process = subprocess.Popen(argv, stdin=-1, stdout=-1, **options)  # type: ignore[call-overload]
    try:
        assert process.stdout.read(1)
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def found(environment: Path) -> list[int]:
    return [user.process for user in users(environment)]


def test_started_by_path_relative_path_and_along_the_path_variable(world: World) -> None:
    binaries = world.environment / "bin"
    with running(binaries / "python", "-c", WAIT) as process:
        assert found(world.environment) == [process]
    with running("./python", "-c", WAIT, cwd=binaries) as process:
        assert found(world.environment) == [process]
    with running("python", "-c", WAIT, env=os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}"}) as process:
        assert found(world.environment) == [process]


def test_through_a_link(world: World, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(world.environment)
    with running(link / "bin" / "python", "-c", WAIT) as process:
        assert found(link) == [process]
        where = places(link)
        with pytest.raises(Trouble, match=f"process {process}"):
            refuse_users(where)


def test_a_mapped_library_tells(world: World) -> None:
    """Started by the base Python, with the environment's packages on its path: only the mapping shows it."""
    library = next(world.environment.glob("lib/python3*/site-packages")) / "blob.so"
    library.write_bytes(b"\0" * 8192)
    code = f"import mmap; f = open({str(library)!r}, 'rb'); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); {WAIT}"
    base = os.path.realpath(world.environment / "bin" / "python")
    with running(base, "-c", code) as process:
        (user,) = users(world.environment)
        assert (user.process, user.because) == (process, str(library))


def test_another_environment_whose_name_begins_alike_is_not_this_one(world: World) -> None:
    with running(world.environment / "bin" / "python", "-c", WAIT):
        assert found(world.environment.with_name(".ven")) == []
        assert found(world.environment.with_name(".venv2")) == []


def test_arguments_are_never_shown(world: World, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(WAIT)
    with running(world.environment / "bin" / "python", script, "--token", "hf_secret"):
        (user,) = users(world.environment)
        assert user.name == "python train.py"


def test_we_and_our_parents_do_not_count(world: World) -> None:
    """envdoctor may run from the very environment that it changes, started by a tool of that environment."""
    script = world.environment.parent / "outer.py"
    script.write_text(
        "import subprocess, sys\n"
        f"code = {_inner(world)!r}\n"
        "sys.exit(subprocess.run([sys.executable, '-c', code]).returncode)\n"
    )
    done = subprocess.run([world.environment / "bin" / "python", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_probes_of_another_envdoctor_do_not_count(world: World, tmp_path: Path) -> None:
    """Else two at once would name each other's probes, which nobody can stop, instead of the lock."""
    probes = tmp_path / "elsewhere" / PROBES.relative_to(Path(envdoctor.__file__).parents[1])
    probes.mkdir(parents=True)
    for folder, expected in ((probes, 0), (tmp_path, 1)):
        (folder / "torch_state.py").write_text(WAIT)
        with running(world.environment / "bin" / "python", "-E", "-B", folder / "torch_state.py", "answers.json"):
            assert len(found(world.environment)) == expected


def test_what_has_ended_is_nobody(world: World) -> None:
    """A process whose words can no longer be read loads nothing more: it may have been another envdoctor's probe."""
    ended = subprocess.Popen([world.environment / "bin" / "python", "-c", ""])
    process = Path(f"/proc/{ended.pid}")
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # ended, and still there
    try:
        assert (process / "cmdline").read_bytes() == b""
        assert _of_envdoctor(process)
    finally:
        ended.wait()


def _inner(world: World) -> str:
    paths = [str(Path(__file__).parents[2]), str(Path(packaging.__file__).parents[1])]
    return (
        f"import sys; sys.path[:0] = {paths!r}; from envdoctor.change.users import users; from pathlib import Path; "
        f"sys.exit(len(users(Path({str(world.environment)!r}))))"
    )


def test_through_a_link_that_nobody_told_of(world: World, tmp_path: Path) -> None:
    link = tmp_path / "other name"
    link.symlink_to(world.environment)
    with running(link / "bin" / "python", "-c", WAIT) as process:
        assert found(world.environment) == [process]


def test_another_python_with_its_packages_on_the_path(world: World) -> None:
    base = os.path.realpath(world.environment / "bin" / "python")
    library = next(world.environment.glob("lib/python3*/site-packages"))
    with running(base, "-c", WAIT, env=os.environ | {"PYTHONPATH": f"/nowhere:{library}"}) as process:
        (user,) = users(world.environment)
        assert (user.process, user.because) == (process, f"PYTHONPATH={library}")


def test_an_active_environment_alone_makes_no_user(world: World) -> None:
    """Every program that is started from an activated shell inherits VIRTUAL_ENV, other environments' Pythons too."""
    base = os.path.realpath(world.environment / "bin" / "python")
    with running(base, "-c", WAIT, env=os.environ | {"VIRTUAL_ENV": str(world.environment)}):
        assert found(world.environment) == []
