from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.change.installers import find_uv
from envdoctor.errors import Trouble
from envdoctor.facts.model import Distribution, Packages
from envdoctor.locks import stack, target
from envdoctor.locks.library import load_targets
from envdoctor.locks.lint import lint
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.target import no_target
from envdoctor.locks.writing.adopt import adopt_environment, adopt_file
from envdoctor.locks.writing.new_target import write_target
from envdoctor.sources.sources import Sources
from envdoctor.system.process import run
from envdoctor.values.document import read_toml
from tests.locks.writing.conftest import build_wheel, lock, package, sha256, write_lock

HERE = interpreter("3.12", "x86_64")


@pytest.fixture
def stocked(shelf: Path) -> Path:
    build_wheel(shelf, "alpha", "1.0", requires=("beta",))
    build_wheel(shelf, "beta", "1.0")
    build_wheel(shelf, "beta", "2.0")
    return shelf


def versions(path: Path) -> dict[str, str]:
    assert lint(path) == ()
    return {package["name"]: package["version"] for package in read_toml(path)["packages"]}


def test_a_requirements_file(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("alpha\nbeta<2\n")
    adopted = adopt_file(tmp_path / "requirements.txt", "own", folder=tmp_path, interpreter=HERE, sources=shelved)
    assert versions(adopted.written.stack.path) == {"alpha": "1.0", "beta": "1.0"}
    assert str(adopted.written.stack.lock.requires_python) == "<3.13,>=3.12"


def test_a_lock_of_uv_with_addresses(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    """What uv wrote is taken as it is: its hashes, its choice of versions, no new resolution."""
    uv = find_uv()
    assert uv is not None
    (tmp_path / "in.txt").write_text("alpha\nbeta<2\n")
    words = ["pip", "compile", "in.txt", "--no-index", "--universal", "--format", "pylock.toml", "-o", "pylock.uv.toml"]
    outcome = run([uv, *words], deadline=60, cwd=tmp_path, env=dict(shelved.uv))
    assert outcome.ok, outcome.err
    assert "file://" in (tmp_path / "pylock.uv.toml").read_text()
    adopted = adopt_file(tmp_path / "pylock.uv.toml", "own", folder=tmp_path / "new", interpreter=HERE, sources=shelved)
    assert adopted.written.problems == ()
    assert versions(adopted.written.stack.path) == {"alpha": "1.0", "beta": "1.0"}
    assert "://" not in adopted.written.stack.path.read_text()
    pins = stack.select(adopted.written.stack, HERE)
    assert isinstance(pins, tuple)
    assert [pin.sha256 for pin in pins] == [sha256(stocked / pin.wheel) for pin in pins]


def test_groups_and_extras_of_a_lock_are_those_installed_by_default(
    stocked: Path, shelved: Sources, tmp_path: Path
) -> None:
    build_wheel(stocked, "gamma", "1.0")
    chosen = {"extras": ["gpu"], "dependency-groups": ["dev", "docs"], "default-groups": ["dev"]}
    packages = [
        package("alpha", marker="'dev' in dependency_groups"),
        package("beta", marker="'docs' in dependency_groups"),
        package("gamma", marker="'gpu' in extras"),
    ]
    path = write_lock(tmp_path, lock(*packages, **chosen, **{"requires-python": ">=3.12,<3.13"}))
    with pytest.raises(Trouble, match="nothing in it"):
        adopt_file(
            write_lock(tmp_path, lock(*packages[1:], **chosen), "none"),
            "own",
            folder=tmp_path / "none",
            interpreter=HERE,
            sources=shelved,
        )
    adopted = adopt_file(path, "own", folder=tmp_path, interpreter=HERE, sources=shelved)
    assert versions(adopted.written.stack.path) == {"alpha": "1.0"}


def test_a_lock_with_its_wheels_beside_it(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    place = tmp_path / "theirs"
    file = build_wheel(place / "wheels", "delta", "1.0")
    entry = {"path": f"wheels/{file.name}", "size": file.stat().st_size, "hashes": {"sha256": sha256(file)}}
    path = write_lock(place, lock(package("delta", wheels=[entry])), "theirs")
    adopted = adopt_file(path, "own", folder=tmp_path, interpreter=HERE, sources=shelved)
    assert versions(adopted.written.stack.path) == {"delta": "1.0"}


def test_a_lock_without_addresses_as_ours_are(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    data = lock(
        package("alpha"), package("beta", marker="python_version < '3.12'"), **{"requires-python": ">=3.11,<3.13"}
    )
    adopted = adopt_file(write_lock(tmp_path, data), "own", folder=tmp_path, interpreter=HERE, sources=shelved)
    assert versions(adopted.written.stack.path) == {"alpha": "1.0", "beta": "1.0"}
    assert sorted(adopted.written.problems) == [
        f"alpha needs beta on Python 3.12 {machine}, and the lock holds none" for machine in ("aarch64", "x86_64")
    ]
    pins = stack.select(adopted.written.stack, HERE)
    assert isinstance(pins, tuple)
    assert [pin.name for pin in pins] == ["alpha"]


def test_a_uv_lock(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    uv = find_uv()
    assert uv is not None
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[project]\nname = "own"\nversion = "0"\nrequires-python = ">=3.11,<3.13"\ndependencies = ["alpha"]\n'
        '[dependency-groups]\ndev = ["beta<2"]\n'
    )
    outcome = run([uv, "lock", "--no-index"], deadline=60, cwd=project, env=dict(shelved.uv))
    assert outcome.ok, outcome.err
    adopted = adopt_file(project / "uv.lock", "own", folder=tmp_path, interpreter=HERE, sources=shelved)
    assert versions(adopted.written.stack.path) == {"alpha": "1.0", "beta": "1.0"}
    (project / "pyproject.toml").unlink()
    with pytest.raises(Trouble, match=r"its pyproject\.toml is not beside it"):
        adopt_file(project / "uv.lock", "own", folder=tmp_path, interpreter=HERE, sources=shelved)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lock(package("alpha", wheels=None, directory={"path": "."})), "alpha has no wheel in it"),
        (
            lock(package("alpha", wheels=None, sdist={"path": "alpha-1.0.tar.gz", "hashes": {"sha256": "a" * 64}})),
            "alpha has no wheel in it",
        ),
        (lock(**{"requires-python": ">=4"}), "serves no CPython"),
        (lock(**{"lock-version": "2.0"}), "not supported"),
        (lock(package("alpha", marker="sys_platform == 'win32'")), "there is nothing in it"),
    ],
)
def test_locks_that_cannot_be_taken(stocked: Path, shelved: Sources, tmp_path: Path, data: dict, words: str) -> None:  # type: ignore[type-arg]
    path = write_lock(tmp_path, data)
    with pytest.raises(Trouble, match=words):
        adopt_file(path, "own", folder=tmp_path / "new", interpreter=HERE, sources=shelved)


def test_a_lock_by_another_name_is_not_read_as_requirements(shelved: Sources, tmp_path: Path) -> None:
    path = write_lock(tmp_path, lock(package("alpha"))).rename(tmp_path / "mine.toml")
    with pytest.raises(Trouble, match="is neither a requirements file, nor named as a lock is"):
        adopt_file(path, "own", folder=tmp_path / "new", interpreter=HERE, sources=shelved)


def test_an_environment(stocked: Path, shelved: Sources, tmp_path: Path) -> None:
    found = Packages(
        distributions=(
            Distribution(name="beta", version="1.0"),
            Distribution(name="alpha", version="1.0"),
            Distribution(name="mine", version="0.1", editable=True),
            Distribution(name="forked", version="2.0", source="vcs"),
        )
    )
    adopted = adopt_environment(found, HERE, "own", folder=tmp_path, sources=shelved)
    assert versions(adopted.written.stack.path) == {"alpha": "1.0", "beta": "1.0"}
    assert adopted.left_out == (
        "forked 2.0: not from an index (vcs)",
        "mine 0.1: an editable install",
    )


def test_an_empty_environment(shelved: Sources, tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="nothing that can be locked"):
        adopt_environment(Packages(), HERE, "own", folder=tmp_path, sources=shelved)


@pytest.mark.parametrize("other", [interpreter("3.9", "x86_64"), interpreter("3.12", "ppc64le")])
def test_other_platforms_are_told(stocked: Path, shelved: Sources, tmp_path: Path, other: object) -> None:
    found = Packages(distributions=(Distribution(name="beta", version="1.0"),))
    with pytest.raises(Trouble, match=r"stacks are for CPython 3\.10 to 3\.14"):
        adopt_environment(found, other, "own", folder=tmp_path, sources=shelved)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(load_targets()))
def test_a_target_like_a_bundled_one(name: str, tmp_path: Path) -> None:
    like = load_targets()[name]
    made = target.load(write_target("own", folder=tmp_path, like=like, origin="requirements.txt"))
    assert made.path == tmp_path / "targets" / "own.toml"
    assert (made.name, made.stacks, made.baselines) == ("own", ("own",), ())
    for field in ("title", "gpu_names", "capability", "flags", "variables", "conditions", "sources"):
        assert getattr(made, field) == getattr(like, field)


def test_a_target_of_an_unknown_machine(tmp_path: Path) -> None:
    made = target.load(write_target("own", folder=tmp_path, like=no_target(), origin="the environment"))
    assert made.is_cpu
    assert made.stacks == ("own",)


def test_a_target_that_is_there_is_kept(tmp_path: Path) -> None:
    path = write_target("own", folder=tmp_path, like=no_target(), origin="the environment")
    path.write_text(path.read_text() + "# measured by hand\n")
    write_target("own", folder=tmp_path, like=load_targets()["h100"], origin="the environment")
    assert path.read_text().endswith("# measured by hand\n")


def test_an_environment_that_contradicts_itself_needs_force(shelf: Path, shelved: Sources, tmp_path: Path) -> None:
    build_wheel(shelf, "alpha", "1.0", requires=["beta>=2"])
    build_wheel(shelf, "beta", "1.0")
    found = Packages(
        distributions=(Distribution(name="alpha", version="1.0"), Distribution(name="beta", version="1.0"))
    )
    with pytest.raises(Trouble, match="contradicts itself: alpha needs beta"):
        adopt_environment(found, HERE, "own", folder=tmp_path, sources=shelved)
    assert not list(tmp_path.glob("pylock.*"))
    adopted = adopt_environment(found, HERE, "own", folder=tmp_path, sources=shelved, force=True)
    assert adopted.written.problems
