"""Locks written for real: uv resolves against a folder of wheels made on the spot."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.facts.model import Unavailable
from envdoctor.locks import stack
from envdoctor.locks.lint import lint
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.lock import path_of, write_stack
from envdoctor.locks.writing.resolver import _partial_release, labels
from envdoctor.sources.sources import Sources
from envdoctor.sources.sources import read as read_sources
from envdoctor.values.document import read_toml
from tests.locks.writing.conftest import build_wheel, index_of, sha256, sources_of


def inputs(*requirements: str, **fields: object) -> Inputs:
    given = {"requirements": requirements, "pythons": ("3.11", "3.12"), "machines": ("x86_64",), **fields}
    return Inputs(**given)  # type: ignore[arg-type]


def pins(path: Path, python: str = "3.11", machine: str = "x86_64") -> dict[str, str]:
    chosen = stack.select(stack.load(path), interpreter(python, machine))
    assert isinstance(chosen, tuple), chosen
    return {pin.name: pin.version for pin in chosen}


@pytest.fixture
def stocked(shelf: Path) -> Path:
    """alpha needs beta everywhere, and gamma on old Pythons only; numbers has one line for each of them."""
    build_wheel(
        shelf, "alpha", "1.0", requires=("beta>=1", 'gamma ; python_version < "3.12"', 'winonly ; os_name == "nt"')
    )
    build_wheel(shelf, "beta", "1.0")
    build_wheel(shelf, "beta", "1.1")
    build_wheel(shelf, "gamma", "1.0")
    build_wheel(shelf, "winonly", "1.0")
    for python in ("cp311", "cp312"):
        build_wheel(shelf, "numbers", "2.0", tag=f"{python}-{python}-manylinux_2_17_x86_64")
        build_wheel(shelf, "numbers", "2.0", tag=f"{python}-{python}-win_amd64")
    return shelf


def test_what_is_written(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    written = write_stack("mine", inputs("alpha", "numbers"), folder=tmp_path / "new", sources=shelved)
    path = tmp_path / "new" / "pylock.mine.toml"
    assert (written.stack.path, written.changed) == (path, True)
    assert written.changes == ("+ alpha 1.0", "+ beta 1.1", "+ gamma 1.0", "+ numbers 2.0")
    assert written.origins == {"files on this machine": 5}
    assert lint(path) == ()
    data = read_toml(path)
    assert data["requires-python"] == ">=3.11,<3.13"
    assert [package["name"] for package in data["packages"]] == ["alpha", "beta", "gamma", "numbers"]
    alpha, beta, gamma, numbers = data["packages"]
    assert alpha["dependencies"] == [{"name": "beta"}, {"name": "gamma"}]
    assert gamma["marker"] == "python_version < '3.12'"
    assert [wheel["path"] for wheel in numbers["wheels"]] == [
        "wheels/numbers-2.0-cp311-cp311-manylinux_2_17_x86_64.whl",
        "wheels/numbers-2.0-cp312-cp312-manylinux_2_17_x86_64.whl",
    ]
    file = stocked / "beta-1.1-py3-none-any.whl"
    assert beta["wheels"] == [
        {"path": f"wheels/{file.name}", "size": file.stat().st_size, "hashes": {"sha256": sha256(file)}}
    ]
    assert pins(path) == {"alpha": "1.0", "beta": "1.1", "gamma": "1.0", "numbers": "2.0"}
    assert pins(path, "3.12") == {"alpha": "1.0", "beta": "1.1", "numbers": "2.0"}


def test_several_systems_in_one_lock(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    build_wheel(stocked, "numbers", "2.0", tag="cp311-cp311-macosx_14_0_arm64")
    wanted = inputs("alpha", "numbers", pythons=("3.11",), machines=("x86_64", "arm64", "AMD64"))
    path = write_stack("mine", wanted, folder=tmp_path, sources=shelved).stack.path
    assert lint(path) == ()
    assert pins(path, "3.11", "AMD64") == {**pins(path), "winonly": "1.0"}
    assert pins(path, "3.11", "arm64") == pins(path)
    assert pins(path) == {"alpha": "1.0", "beta": "1.1", "gamma": "1.0", "numbers": "2.0"}
    (numbers,) = (package for package in read_toml(path)["packages"] if package["name"] == "numbers")
    assert [wheel["path"].rpartition("-")[2] for wheel in numbers["wheels"]] == [
        *("macosx_14_0_arm64.whl", "manylinux_2_17_x86_64.whl", "win_amd64.whl")
    ]
    assert isinstance(stack.select(stack.load(path), interpreter("3.11", "aarch64")), Unavailable)


def test_no_address_and_no_path_of_this_machine(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    path = write_stack("mine", inputs("alpha"), folder=tmp_path, sources=shelved).stack.path
    text = path.read_text("utf-8")
    assert "://" not in text
    assert str(stocked) not in text


def test_the_same_answer_gives_the_same_bytes(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    first = write_stack("mine", inputs("alpha", "numbers"), folder=tmp_path, sources=shelved)
    before = (first.stack.path.read_bytes(), first.stack.path.stat().st_mtime_ns)
    again = write_stack("mine", inputs("numbers", "alpha"), folder=tmp_path, sources=shelved)
    assert (again.changed, again.changes) == (False, ())
    assert (first.stack.path.read_bytes(), first.stack.path.stat().st_mtime_ns) == before


def test_the_day_of_a_lock_is_the_day_it_became_what_it_is(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    path = write_stack("mine", inputs("alpha"), folder=tmp_path, sources=shelved).stack.path
    today = read_toml(path)["tool"]["envdoctor"]["resolved"]
    assert abs(date.fromisoformat(today) - datetime.now(tz=timezone.utc).date()) <= timedelta(days=1)
    path.write_text(path.read_text("utf-8").replace(today, "2026-01-31"), "utf-8")
    assert not write_stack("mine", inputs("alpha"), folder=tmp_path, sources=shelved).changed
    assert 'resolved = "2026-01-31"' in path.read_text("utf-8")
    build_wheel(stocked, "beta", "1.2")
    assert write_stack("mine", inputs("alpha"), folder=tmp_path, sources=shelved).changes == ("beta 1.1 -> 1.2",)
    assert read_toml(path)["tool"]["envdoctor"]["resolved"] == today


def test_newer_releases_are_taken_or_left(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    write_stack("mine", inputs("alpha"), folder=tmp_path, sources=shelved)
    build_wheel(stocked, "beta", "1.2")
    build_wheel(stocked, "delta", "1.0", requires=("beta",))
    kept = write_stack("mine", inputs("alpha", "delta"), folder=tmp_path, sources=shelved, upgrade=False)
    assert kept.changes == ("+ delta 1.0",)
    taken = write_stack("mine", inputs("alpha", "delta"), folder=tmp_path, sources=shelved)
    assert taken.changes == ("beta 1.1 -> 1.2",)
    dropped = write_stack("mine", inputs("alpha"), folder=tmp_path, sources=shelved)
    assert dropped.changes == ("- delta 1.0",)


def test_constraints_hold(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    written = write_stack("mine", inputs("alpha", constraints=("beta<1.1",)), folder=tmp_path, sources=shelved)
    assert pins(written.stack.path)["beta"] == "1.0"


def test_the_newest_build_is_locked_as_installers_take_it(shelf: Path, shelved: Sources, tmp_path: Path) -> None:
    for build in ("", "2", "10"):
        build_wheel(shelf, "alpha", "1.0", build=build)
    (package,) = write_stack("mine", inputs("alpha"), folder=tmp_path, sources=shelved).stack.lock.packages
    assert [wheel.path for wheel in package.wheels or ()] == ["wheels/alpha-1.0-10-py3-none-any.whl"]


def test_extras_are_followed(shelf: Path, shelved: Sources, tmp_path: Path) -> None:
    build_wheel(shelf, "toolkit", "13.0", extras=("cublas",), requires=('cublas==13.1 ; extra == "cublas"',))
    build_wheel(shelf, "cublas", "13.1")
    path = write_stack("mine", inputs("toolkit[cublas]"), folder=tmp_path, sources=shelved).stack.path
    assert pins(path) == {"cublas": "13.1", "toolkit": "13.0"}


@pytest.mark.parametrize(
    ("requirements", "words"),
    [
        (("alpha", "missing-thing"), "missing-thing"),
        (("alpha", "beta>2"), "beta"),
        (("sourceonly",), "sourceonly"),
    ],
)
def test_what_cannot_be_resolved_is_told_in_uvs_words(
    stocked: Path, shelved: Sources, tmp_path: Path, requirements: tuple[str, ...], words: str
) -> None:
    (stocked / "sourceonly-1.0.tar.gz").write_bytes(b"not even an archive")
    with pytest.raises(Trouble, match=words) as caught:
        write_stack("mine", inputs(*requirements), folder=tmp_path, sources=shelved)
    assert "uv found no set of wheels" in caught.value.problem
    assert caught.value.exit_code == 3
    assert not (tmp_path / "pylock.mine.toml").exists()


def test_a_dead_network_is_not_the_requirements_fault(shelved: Sources, tmp_path: Path) -> None:
    """Nobody listens on the port: as without any network."""
    dead = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}
    reach = replace(shelved, uv={k: v for k, v in shelved.uv.items() if k != "UV_NO_INDEX"} | dead)
    with pytest.raises(Trouble, match="the network fails") as caught:
        write_stack("mine", inputs("nowhere-to-be-found"), folder=tmp_path, sources=reach)
    assert caught.value.remedy == "Check connection, proxy and index."
    assert caught.value.exit_code == 3


def test_a_folder_that_is_a_file(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Trouble, match="file: File exists"):
        write_stack("mine", inputs("alpha"), folder=tmp_path / "file", sources=shelved)


def test_a_python_without_wheel_is_named_and_nothing_is_written(
    stocked: Path, shelved: Sources, tmp_path: Path
) -> None:
    before = write_stack("mine", inputs("alpha"), folder=tmp_path, sources=shelved).stack.path.read_bytes()
    with pytest.raises(Trouble, match=r"numbers 2\.0 has no wheel for Python 3\.13 on x86_64"):
        write_stack("mine", inputs("numbers", pythons=("3.12", "3.13")), folder=tmp_path, sources=shelved)
    assert (tmp_path / "pylock.mine.toml").read_bytes() == before
    assert [path.name for path in tmp_path.glob(".lock-*")] == []


def test_a_broken_lock_is_not_overwritten_unseen(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    path = tmp_path / "pylock.mine.toml"
    path.write_text("[[packages")
    with pytest.raises(Trouble, match="not valid TOML"):
        write_stack("mine", inputs("alpha"), folder=tmp_path, sources=shelved)
    assert path.read_text() == "[[packages"


@pytest.mark.parametrize("name", ["", "a.b", "../a", "a/b", ".", "a\nb", "a\x1b[31m"])
def test_names_that_cannot_be_file_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="cannot be the name of a stack"):
        path_of(name, tmp_path)


def test_an_inconsistent_environment_is_locked_as_it_is(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    build_wheel(stocked, "needy", "1.0", requires=("beta>=2", "absent"))
    exact = inputs("needy==1.0", "beta==1.0", pythons=("3.11",), exact=True)
    written = write_stack("mine", exact, folder=tmp_path, sources=shelved)
    assert pins(written.stack.path) == {"beta": "1.0", "needy": "1.0"}
    assert set(written.problems) == {
        "needy needs beta>=2, and the lock holds 1.0",
        "needy needs absent on Python 3.11 x86_64, and the lock holds none",
    }


def test_nobody_elses_configuration_takes_part(stocked: Path, home: Path, tmp_path: Path) -> None:
    """A uv.toml of the user that asks for old versions must not change what everybody gets."""
    (home / ".config" / "uv").mkdir(parents=True)
    (home / ".config" / "uv" / "uv.toml").write_text('[pip]\nresolution = "lowest"\n')
    sources = sources_of(stocked, home)
    path = write_stack("mine", inputs("alpha"), folder=tmp_path, sources=sources).stack.path
    assert pins(path)["beta"] == "1.1"


def test_passwords_are_struck_out_of_what_uv_says(shelf: Path, home: Path, tmp_path: Path) -> None:
    sources = sources_of(
        shelf, home, UV_NO_INDEX="", UV_HTTP_RETRIES="0", UV_DEFAULT_INDEX="http://me:s3cretword@127.0.0.1:9/simple"
    )
    with pytest.raises(Trouble) as caught:
        write_stack("mine", inputs("alpha"), folder=tmp_path, sources=sources)
    assert "s3cretword" not in str(caught.value)


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        (["torch==2.13.0+cpu"], ["cpu"]),
        (["torch==2.11.0+cu130", "torchvision==0.26.0+cu130"], ["cu130"]),
        (["torch==2.11.0", "alpha==1.0+local", "beta~=1.0", "gamma==1.*"], []),
    ],
)
def test_labels_of_torch_builds(requirements: list[str], expected: list[str]) -> None:
    assert labels(requirements) == expected


def partial_mirror(tmp_path: Path, home: Path, *, whole: bool) -> Sources:
    """A main index, and pip's extra one that has the same release for one machine only."""
    for tag in ("cp311-cp311-manylinux_2_17_x86_64", *(["cp311-cp311-manylinux_2_17_aarch64"] if whole else [])):
        build_wheel(tmp_path / "main", "numbers", "2.0", tag=tag)
    build_wheel(tmp_path / "mirror", "numbers", "2.0", tag="cp311-cp311-manylinux_2_17_x86_64")
    named = {"PIP_INDEX_URL": index_of(tmp_path / "main"), "PIP_EXTRA_INDEX_URL": index_of(tmp_path / "mirror")}
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "PIP_CONFIG_FILE": os.devnull, **named}
    return read_sources(Path(sys.prefix), variables=variables, folder=home)


BOTH = {"pythons": ("3.11",), "machines": ("x86_64", "aarch64")}


def test_a_mirror_that_has_some_wheels_of_a_release_is_asked_last(tmp_path: Path, home: Path) -> None:
    sources = partial_mirror(tmp_path, home, whole=True)
    written = write_stack("mine", inputs("numbers", **BOTH), folder=tmp_path / "new", sources=sources)
    path = written.stack.path
    assert pins(path, machine="aarch64") == pins(path) == {"numbers": "2.0"}


def test_where_no_index_has_them_all_the_mirror_and_what_to_do_are_named(tmp_path: Path, home: Path) -> None:
    sources = partial_mirror(tmp_path, home, whole=False)
    with pytest.raises(Trouble) as caught:
        write_stack("mine", inputs("numbers", **BOTH), folder=tmp_path / "new", sources=sources)
    assert "no index has numbers==2.0 for every machine" in caught.value.problem
    assert (tmp_path / "mirror").as_uri() in caught.value.remedy
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("before", "release"),
    [
        ("Because numbers==2.0 ", "numbers==2.0"),
        ("Because torch{python_full_version < '3.11'}==2.14.1 ", "torch==2.14.1"),
        ("Because torch{sys_platform == 'win32'} ", "torch"),
        ("", "a release"),
    ],
)
def test_the_release_that_has_only_some_wheels_is_named_without_its_marker(before: str, release: str) -> None:
    assert _partial_release(before) == release
