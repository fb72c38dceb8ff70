"""The user's pip and uv configuration becomes one set of sources, for either installer."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.change.apply import apply
from envdoctor.errors import Trouble
from envdoctor.sources import sources
from envdoctor.sources.sources import Sources
from tests.change.conftest import World, quiet
from tests.change.wheels import make_wheel


def read(folder: Path, **variables: str) -> Sources:
    return sources.read(folder / ".venv", variables={"HOME": str(folder), **variables}, folder=folder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_without_configuration_nothing_is_said(home: Path) -> None:
    found = read(home)
    assert {key: value for key, value in found.uv.items() if key.startswith("UV_")} == {
        "UV_NO_CONFIG": "1",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }
    assert found.pip["PIP_CONFIG_FILE"] == os.devnull


def test_pip_files_and_variables_in_pip_s_order(home: Path) -> None:
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".config" / "pip" / "pip.conf").write_text(
        "[global]\nindex-url = https://global/simple\nfind_links = /a\ntimeout = 7.6\ncert = /ca.pem\n"
        "[install]\nindex-url = https://install/simple\nextra-index-url =\n    https://one/simple\n    file:///two\n"
    )
    (home / ".venv").mkdir()
    (home / ".venv" / "pip.conf").write_text(
        "[global]\nindex-url = https://site/simple\nproxy = user:pw1234@proxy:3128\n"
    )
    found = read(home, PIP_FIND_LINKS="/b /c", PIP_TRUSTED_HOST="inner", PIP_NO_REQUIRE_HASHES="1", PIP_TARGET="/x")
    assert found.index == "https://install/simple"
    assert found.uv["UV_DEFAULT_INDEX"] == "https://install/simple"
    assert found.uv["UV_INDEX"] == "https://one/simple file:///two"
    assert found.uv["UV_FIND_LINKS"] == "/b,/c"
    assert found.uv["UV_INSECURE_HOST"] == "inner"
    assert found.uv["UV_HTTP_TIMEOUT"] == "8"
    assert found.uv["SSL_CERT_FILE"] == "/ca.pem"
    assert found.uv["HTTPS_PROXY"] == "http://user:pw1234@proxy:3128"
    assert found.pip["PIP_EXTRA_INDEX_URL"] == "https://one/simple file:///two"
    assert found.pip["PIP_FIND_LINKS"] == "/b /c"
    assert not {"PIP_NO_REQUIRE_HASHES", "PIP_TARGET"} & (found.pip.keys() | found.uv.keys())
    assert (
        found.redact("connect to http://user:pw1234@proxy failed for pw1234")
        == "connect to http://***@proxy failed for ***"
    )


def test_uv_files_and_variables(home: Path) -> None:
    project = home / "project" / "deep"
    project.mkdir(parents=True)
    (home / "project" / "pyproject.toml").write_text(
        '[tool.uv]\nfind-links = ["wheels"]\nno-build-isolation = true\n'
        '[[tool.uv.index]]\nname = "inner"\nurl = "https://inner/simple"\n'
        '[[tool.uv.index]]\nurl = "https://mirror/simple"\ndefault = true\n'
        '[tool.uv.pip]\nextra-index-url = ["https://more/simple"]\nrequire-hashes = false\n'
    )
    (home / ".config" / "uv").mkdir(parents=True)
    (home / ".config" / "uv" / "uv.toml").write_text(
        'index-url = "https://loses/simple"\nsystem-certs = true\nkeyring-provider = "subprocess"\nlink-mode = "copy"\n'
    )
    variables = {"UV_INDEX_INNER_PASSWORD": "s3cret-word", "UV_NO_VERIFY_HASHES": "1", "UV_LINK_MODE": "symlink"}
    found = sources.read(home / ".venv", variables={"HOME": str(home), **variables}, folder=project)
    assert found.uv["UV_DEFAULT_INDEX"] == "https://mirror/simple"
    assert found.uv["UV_INDEX"] == "inner=https://inner/simple https://more/simple"
    assert found.uv["UV_FIND_LINKS"] == str(home / "project" / "wheels")
    assert found.uv["UV_SYSTEM_CERTS"] == "1"
    assert found.uv["UV_KEYRING_PROVIDER"] == "subprocess"
    assert found.uv["UV_LINK_MODE"] == "symlink"
    assert found.uv["UV_INDEX_INNER_PASSWORD"] == "s3cret-word"
    assert "UV_NO_VERIFY_HASHES" not in found.uv
    assert "UV_INDEX_INNER_PASSWORD" not in found.pip
    assert found.redact("401 for s3cret-word") == "401 for ***"


def test_variables_of_the_shell_that_would_disturb_are_left_out(home: Path) -> None:
    found = read(
        home, PYTHONPATH="/evil", PYTHONHOME="/x", VIRTUAL_ENV="/y", LD_LIBRARY_PATH="/cuda", HTTP_PROXY="http://p"
    )
    assert not {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"} & (found.uv.keys() | found.pip.keys())
    assert (found.uv["LD_LIBRARY_PATH"], found.uv["HTTP_PROXY"]) == ("/cuda", "http://p")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (".config/pip/pip.conf", "index-url = x", "not a pip configuration"),
        (".config/pip/pip.conf", "\xff\xfe", "not a pip configuration"),
        (".config/uv/uv.toml", "a = ", "not valid TOML"),
        (".config/uv/uv.toml", "index = 3", "not a uv configuration"),
        (".config/uv/uv.toml", "[[index]]\nname = 'x'", "not a uv configuration"),
    ],
)
def test_a_broken_file_is_named(home: Path, name: str, text: str, problem: str) -> None:
    (home / name).parent.mkdir(parents=True)
    (home / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(Trouble, match=problem) as caught:
        read(home)
    assert caught.value.file == str(home / name)


def _serve(folder: Path, *wheels: Path) -> str:
    """A simple index on disk, as pip and uv read it."""
    for wheel in wheels:
        project = folder / wheel.name.partition("-")[0]
        project.mkdir(parents=True, exist_ok=True)
        (project / wheel.name).write_bytes(wheel.read_bytes())
        (project / "index.html").write_text(
            f'<!DOCTYPE html><html><body><a href="{wheel.name}">{wheel.name}</a></body></html>'
        )
    return folder.as_uri()


@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.slow)])
def test_the_locked_file_is_found_behind_another_index_with_the_same_version(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installer: str
) -> None:
    """Dependency confusion turned round: the first index has a file of that version too, but not the locked one."""
    other = tmp_path / "other"
    make_wheel(other, "alpha", "2.0", {"alpha/__init__.py": "version = 'evil'\n"})
    first = _serve(tmp_path / "first", other / world.new[0].wheel, world.wheels / world.new[1].wheel)
    second = _serve(tmp_path / "second", world.wheels / world.new[0].wheel)
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.delenv("PIP_CONFIG_FILE")
    monkeypatch.setenv("PIP_INDEX_URL", first)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{first} {second}")
    apply(world.change(wheels=None, installer=installer), verify=lambda clone: None, progress=quiet)
    assert (world.version("alpha"), world.version("beta")) == ("2.0", "2.0")


@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.slow)])
def test_a_whole_folder_of_wheels_is_asked_alone(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installer: str
) -> None:
    """Another source has another wheel of the same release, which an installer likes better and the lock knows too."""
    tag = f"py3{sys.version_info.minor}-none-any"
    other = make_wheel(tmp_path / "other", "alpha", "2.0", {"alpha/__init__.py": "version = 'other'\n"}, tag=tag)
    alpha, beta = (replace(pin, also=(other.sha256,) if pin.name == "alpha" else ()) for pin in world.new)
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")  # nobody answers
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "other"))
    apply(
        world.change(wanted=(alpha, beta), install=(alpha, beta), installer=installer),
        verify=lambda clone: None,
        progress=quiet,
    )
    assert (world.version("alpha"), world.version("beta")) == ("2.0", "2.0")


def test_only_evil_files_change_nothing(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    make_wheel(other, "alpha", "2.0", {"alpha/__init__.py": "version = 'evil'\n"})
    index = _serve(tmp_path / "first", other / world.new[0].wheel)
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.setenv("UV_DEFAULT_INDEX", index)
    with pytest.raises(Trouble, match=r"alpha-2\.0.*sha256 is not the locked one"):
        apply(world.change(wheels=None, install=world.new[:1]), verify=lambda clone: None, progress=quiet)
    assert world.version("alpha") == "1.0"


def test_no_password_reaches_progress_log_or_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://someone:hunter2secret@localhost:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    lines: list[str] = []
    with pytest.raises(Trouble) as caught:
        apply(world.change(wheels=None), verify=lambda clone: None, progress=lines.append)
    log = next(tmp_path.glob(".envdoctor-*.journal/*.log")).read_text()
    said = [str(caught.value), caught.value.remedy, log, *lines]
    assert not any("hunter2secret" in text for text in said)
    assert "network" in str(caught.value)


def test_missing_torch_build_is_asked_for_at_uv_s_backend(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No network here: what is checked is that uv is asked for the build's own backend, and the error stays clear."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    torch = replace(world.new[0], name="torch", version="9.9+cu128", wheel="torch-9.9+cu128-py3-none-any.whl")
    with pytest.raises(Trouble, match=r"torch-9\.9\+cu128"):
        apply(world.change(install=(torch,)), verify=lambda clone: None, progress=quiet)
    log = next(tmp_path.glob(".envdoctor-*.journal/*.log")).read_text()
    assert "--torch-backend cu128" in log


def test_no_index_means_none_for_uv_too(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv has no variable for it: an index that is configured beside ``no-index`` must not be asked."""
    index = _serve(tmp_path / "index", *(world.wheels / pin.wheel for pin in world.new))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_DEFAULT_INDEX", index)
    with pytest.raises(Trouble):
        apply(world.change(wheels=None), verify=lambda clone: None, progress=quiet)
    assert world.version("alpha") == "1.0"
