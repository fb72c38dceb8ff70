"""What a change installs is what the lock's hashes stand for, and it takes nobody else's place."""

from __future__ import annotations

import hashlib
import shutil
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.change import layout
from envdoctor.change.apply import apply, create
from envdoctor.change.distributions import forget_records
from envdoctor.change.genuine import altered_packages
from envdoctor.errors import Trouble
from envdoctor.launch import hook
from envdoctor.locks import target
from tests.change.conftest import World, install, quiet, snapshot
from tests.change.wheels import make_wheel, pin
from tests.commands.test_check import envdoctor

Verify = Callable[[Path], str | None]
SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests damage it."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))


def warm(world: World) -> Path:
    """Another environment with the new packages, as a change makes one: its files are hard links into the cache."""
    other = world.environment.parent / "other"
    change = world.change(environment=other, python=sys.executable)
    create(change, verify=lambda clone: None, progress=quiet)
    return other


def edit_in_place(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert len(old) == len(new)
    assert old in text
    with path.open("r+") as file:
        file.write(text.replace(old, new))


def test_a_cache_that_was_edited_in_place_is_passed_by(world: World, healthy: Verify) -> None:
    module = warm(world) / SITE / "alpha" / "__init__.py"
    assert module.stat().st_nlink > 1
    edit_in_place(module, "2.0", "6.6")
    said: list[str] = []
    apply(world.change(), verify=healthy, progress=said.append)
    assert (world.version("alpha"), world.version("beta")) == ("2.0", "2.0")
    assert any("uv's cache is not as it came (alpha)" in line for line in said)
    assert (
        envdoctor("check", "--deep", "--no-torch", "--select", "packages/damaged", "--env", world.environment).code == 0
    )


def test_a_cache_whose_record_was_edited_as_well_is_found_by_the_wheel(world: World, healthy: Verify) -> None:
    warm(world)
    (package,) = (world.environment.parent / "cache").rglob("alpha-2.0.dist-info")
    module = package.parent / "alpha" / "__init__.py"
    before = module.read_bytes()
    edit_in_place(module, "2.0", "6.6")
    edit_in_place(package / "RECORD", _digest(before), _digest(module.read_bytes()))
    apply(world.change(), verify=healthy, progress=quiet)
    assert world.version("alpha") == "2.0"


def _digest(data: bytes) -> str:
    import base64

    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def test_another_wheel_that_the_lock_has_for_this_release_is_none_that_was_altered(world: World) -> None:
    """A mirror has the wheel for an older Python alone; the folder beside the lock has the best one, or both."""
    tag = f"py3{sys.version_info.minor}-none-any"
    best = make_wheel(world.wheels, "alpha", "2.0", {"alpha/__init__.py": "version = 'best'\n"}, tag=tag)
    other = world.new[0]
    (world.wheels.parent / "mirror").mkdir()
    shutil.copy2(world.wheels / other.wheel, world.wheels.parent / "mirror")
    install(world.environment, world.wheels.parent / "mirror", other)
    inside = layout.ask(world.environment)
    either = (replace(best, also=(other.sha256,)),)
    alone = world.wheels.parent / "alone"
    alone.mkdir()
    shutil.copy2(world.wheels / best.wheel, alone)

    def altered(folder: Path) -> dict[str, str]:
        return altered_packages(either, inside.libraries, [folder])

    assert altered(alone) == altered(world.wheels) == {}
    (record,) = inside.purelib.glob("alpha-2.0.dist-info/RECORD")
    module = inside.purelib / "alpha" / "__init__.py"
    before = module.read_bytes()
    module.write_text("version = 'evil'\n")
    record.write_text(record.read_text().replace(_digest(before), _digest(module.read_bytes())))
    forget_records()
    assert altered(world.wheels) == {"alpha": "its RECORD has another alpha/__init__.py than the wheel"}


def test_what_was_planted_in_the_cache_is_not_installed(world: World, healthy: Verify) -> None:
    warm(world)
    (package,) = (world.environment.parent / "cache").rglob("alpha-2.0.dist-info")
    (package.parent / "planted.pth").write_text("import os; os.environ['PLANTED'] = '1'\n")
    (package.parent / "alpha" / "planted.py").write_text("version = 'planted'\n")
    apply(world.change(), verify=healthy, progress=quiet)
    assert world.version("alpha") == "2.0"
    assert not list(world.environment.rglob("planted*"))


def test_a_damaged_cache_and_no_source_change_nothing(world: World, healthy: Verify) -> None:
    edit_in_place(warm(world) / SITE / "alpha" / "__init__.py", "2.0", "6.6")
    before = snapshot(world.environment)

    def gone(line: str) -> None:
        if "past it" in line:
            (world.wheels / world.new[0].wheel).unlink()

    with pytest.raises(Trouble, match="cache is damaged or was tampered with \\(alpha\\)"):
        apply(world.change(), verify=healthy, progress=gone)
    assert snapshot(world.environment) == before


def test_a_wheel_whose_record_lies_is_installed_as_it_was_hashed(world: World, healthy: Verify) -> None:
    """Its sha256 is the locked one: the file is what was locked, whatever its own list says."""
    wheel = world.wheels / world.new[0].wheel
    with zipfile.ZipFile(wheel) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["alpha/fresh.py"] = b"text = 'Alpha2.0'\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    apply(world.change(install=(pin(wheel),)), verify=healthy, progress=quiet)
    assert (world.environment / SITE / "alpha" / "fresh.py").read_text() == "text = 'Alpha2.0'\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"gamma/__init__.py": "version = 'taken'\n"}, rf"would overwrite {SITE}/gamma/__init__\.py of gamma"),
        ({"omega-1.0.data/data/pyvenv.cfg": "home = /elsewhere\n"}, r"its own pyvenv\.cfg"),
        ({"omega-1.0.data/data/bin/activate": "exit\n"}, r"its own bin/activate"),
        ({"omega-1.0.data/data/.envdoctor": "0\n"}, r"its own \.envdoctor"),
        ({hook.PTH: "import os\n"}, rf"its own {SITE}/{hook.PTH}"),
    ],
)
@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.slow)])
def test_what_takes_the_place_of_others_is_refused(
    world: World, healthy: Verify, files: dict[str, str], said: str, installer: str
) -> None:
    omega = make_wheel(world.wheels, "omega", "1.0", {"omega.py": "version = '1.0'\n", **files})
    before = snapshot(world.environment)
    with pytest.raises(Trouble, match=said) as caught:
        apply(world.change(install=(omega,), installer=installer), verify=healthy, progress=quiet)
    assert caught.value.exit_code == 3
    assert snapshot(world.environment) == before
    assert world.version("gamma") == "1.0"


def test_two_packages_may_share_what_is_the_same(world: World, healthy: Verify) -> None:
    same = {"omega.py": "version = '1.0'\n", "gamma/__init__.py": "version = '1.0'\n"}
    omega = make_wheel(world.wheels, "omega", "1.0", {**same, "tests/__init__.py": "a = 1\n"})
    sigma = make_wheel(world.wheels, "sigma", "1.0", {"sigma.py": "", "tests/__init__.py": "b = 1\n"})
    apply(world.change(install=(omega, sigma)), verify=healthy, progress=quiet)
    assert world.version("omega") == "1.0"


def test_a_deep_check_names_what_was_overwritten(world: World) -> None:
    taker = make_wheel(world.wheels, "omega", "1.0", {"omega.py": "", "gamma/__init__.py": "version = 'taken'\n"})
    install(world.environment, world.wheels, taker)
    words = ("--no-torch", "--select", "packages/damaged", "--env", world.environment)
    assert envdoctor("check", *words).code == 0
    deep = envdoctor("check", "--deep", *words)
    assert deep.code == 1
    said = " ".join(deep.out.split())
    assert "gamma 1.0 is damaged" in said
    assert "overwritten by omega" in said


@pytest.mark.parametrize(
    "name",
    "PATH LD_PRELOAD HTTPS_PROXY no_proxy SSL_CERT_FILE REQUESTS_CA_BUNDLE PIP_INDEX_URL UV_INDEX MY_INDEX_URL"
    " PYTHONPATH PYTHONSTARTUP HF_ENDPOINT BASH_ENV GIT_SSL_CAINFO HOME".split(),
)
def test_a_target_may_not_say_what_is_run_or_who_is_trusted(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'schema = 1\ntitle = "mine"\n[env]\nOMP_NUM_THREADS = "4"\n{name} = "/tmp/x"\n')
    with pytest.raises(Trouble, match=f"a target may not set {name}") as caught:
        target.load(path)
    assert "line 5" in caught.value.where
