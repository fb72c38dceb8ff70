"""A change reaches the new state or leaves the old one, whichever way it is made."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.change.apply import apply, create
from envdoctor.change.installers import find_uv
from envdoctor.change.strategy import preview
from envdoctor.change.undo import history, undo
from envdoctor.errors import Trouble
from tests.change.conftest import World, install, leftovers, make_world, quiet, run, snapshot
from tests.change.wheels import make_wheel

Verify = Callable[[Path], str | None]


@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.slow)])
def test_installs_the_pins_and_keeps_the_rest(world: World, healthy: Verify, installer: str) -> None:
    applied = apply(world.change(installer=installer), verify=healthy, progress=quiet)
    assert (world.version("alpha"), world.version("beta"), world.version("gamma")) == ("2.0", "2.0", "1.0")
    assert applied.kept == ("gamma 1.0",)
    assert applied.strategy.kind == "exchange"
    assert not list(world.environment.rglob("gone.py"))
    assert run(world.environment / "bin" / "alpha-tool") == "2.0"


def test_no_file_names_the_clone_and_every_record_holds(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)
    assert world.version("alpha") == "2.0"
    for path in world.environment.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 100_000 and path.suffix != ".pyc":
            assert b".envdoctor-" not in path.read_bytes(), path
    assert run(find_uv() or "", "pip", "check", "--quiet", "--python", str(world.environment / "bin" / "python")) == ""
    script = world.environment / "bin" / "alpha-tool"
    record = next(world.environment.rglob("alpha-2.0.dist-info/RECORD")).read_text()
    assert f",{script.stat().st_size}\n" in next(line + "\n" for line in record.splitlines() if "alpha-tool" in line)


def test_undo_restores_bit_for_bit_and_leads_back(world: World, healthy: Verify) -> None:
    before = snapshot(world.environment)
    apply(world.change(), verify=healthy, progress=quiet)
    after = snapshot(world.environment)
    undone = undo(world.environment)
    assert snapshot(world.environment) == before
    assert (undone.before.number, undone.now.number) == (1, 0)
    assert undo(world.environment, to=1).now.number == 1
    assert snapshot(world.environment) == after


def test_the_previous_state_shares_no_file_that_is_edited_in_place(world: World, healthy: Verify) -> None:
    applied = apply(world.change(), verify=healthy, progress=quiet)
    assert applied.previous is not None
    for name in ("pyvenv.cfg", "bin/activate", "bin/alpha-tool"):
        assert not os.path.samefile(world.environment / name, applied.previous / name)
    gamma = "lib/python{}.{}/site-packages/gamma/__init__.py".format(*sys.version_info)
    assert os.path.samefile(world.environment / gamma, applied.previous / gamma)


def test_unhealthy_clone_changes_nothing(world: World) -> None:
    before = snapshot(world.environment)
    seen = []

    def verify(clone: Path) -> str:
        seen.append(world.version("alpha", clone))
        return "import torch: SIGSEGV"

    with pytest.raises(Trouble, match="SIGSEGV"):
        apply(world.change(), verify=verify, progress=quiet)
    assert seen == ["2.0"]
    assert snapshot(world.environment) == before
    assert [name for name in leftovers(world.environment) if not name.endswith(".journal")] == []


def test_verify_that_raises_changes_nothing(world: World) -> None:
    before = snapshot(world.environment)

    def verify(clone: Path) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(world.change(), verify=verify, progress=quiet)
    assert snapshot(world.environment) == before
    assert [name for name in leftovers(world.environment) if not name.endswith(".journal")] == []


def test_wrong_hash_names_the_wheel(world: World, healthy: Verify) -> None:
    before = snapshot(world.environment)
    wrong = replace(world.new[1], sha256="0" * 64)
    with pytest.raises(Trouble) as caught:
        apply(world.change(install=(world.new[0], wrong)), verify=healthy, progress=quiet)
    assert "beta-2.0-py3-none-any.whl" in str(caught.value)
    assert caught.value.remedy
    assert snapshot(world.environment) == before


@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.slow)])
def test_truncated_wheel_names_it(world: World, healthy: Verify, installer: str) -> None:
    before = snapshot(world.environment)
    wheel = world.wheels / world.new[1].wheel
    wheel.write_bytes(wheel.read_bytes()[:-40])
    with pytest.raises(Trouble) as caught:
        apply(world.change(installer=installer), verify=healthy, progress=quiet)
    assert "beta-2.0-py3-none-any.whl" in str(caught.value)
    assert snapshot(world.environment) == before


def test_missing_wheel_names_it(world: World, healthy: Verify) -> None:
    (world.wheels / world.new[0].wheel).unlink()
    with pytest.raises(Trouble, match=r"alpha-2\.0-py3-none-any\.whl"):
        apply(world.change(), verify=healthy, progress=quiet)
    assert world.version("alpha") == "1.0"


def test_damaged_package_is_rebuilt_without_junk(world: World, healthy: Verify) -> None:
    site = next(world.environment.rglob("site-packages"))
    (site / "alpha" / "gone.py").unlink()
    (site / "alpha" / ".tmpAbc123").write_text("litter")
    (site / "alpha-1.0.dist-info" / "RECORD").unlink()
    (site / "~lpha").mkdir()
    (site / "alpha-0.9.dist-info").mkdir()
    (site / "alpha-0.9.dist-info" / "METADATA").write_text("")
    apply(world.change(install=(world.old[0],), wanted=world.old), verify=healthy, progress=quiet)
    assert sorted(path.name for path in (site / "alpha").iterdir() if path.name != "__pycache__") == [
        "__init__.py",
        "gone.py",
    ]
    assert sorted(path.name for path in site.iterdir() if "lpha" in path.name) == ["alpha", "alpha-1.0.dist-info"]
    assert world.version("alpha") == "1.0"


def test_healthy_equal_packages_are_not_touched(world: World, healthy: Verify) -> None:
    site = next(world.environment.rglob("site-packages"))
    before = (site / "beta" / "__init__.py").stat().st_ino
    apply(world.change(install=(world.new[0],)), verify=healthy, progress=quiet)
    assert (site / "beta" / "__init__.py").stat().st_ino == before
    assert world.version("beta") == "1.0"


def test_strict_removes_what_no_pin_asks_for(world: World, healthy: Verify) -> None:
    applied = apply(world.change(strict=True), verify=healthy, progress=quiet)
    assert applied.kept == ()
    assert not list(world.environment.rglob("gamma*"))


@pytest.mark.parametrize("name", ["my env", "quo'te", "new\nline", 'ünïcødé $x "y"', "a" * 150, "venv-1"])
def test_names_of_every_kind(tmp_path: Path, healthy: Verify, name: str) -> None:
    world = make_world(tmp_path / "some where", name)
    before = snapshot(world.environment)
    apply(world.change(), verify=healthy, progress=quiet)
    assert world.version("alpha") == "2.0"
    if "\n" not in name:  # neither a #! line nor the installers' replacement for it can hold one
        assert run(world.environment / "bin" / "alpha-tool") == "2.0"
    undo(world.environment)
    assert snapshot(world.environment) == before


def test_symbolic_link_to_the_environment(tmp_path: Path, healthy: Verify) -> None:
    world = make_world(tmp_path / "disk", "real")
    link = tmp_path / "project" / ".venv"
    link.parent.mkdir()
    link.symlink_to(world.environment)
    apply(world.change(environment=link), verify=healthy, progress=quiet)
    assert link.is_symlink()
    assert leftovers(link) == []
    assert world.version("alpha", link) == "2.0"
    assert (link / "bin" / "alpha-tool").read_text().startswith(f"#!{link}/bin/python")
    assert [state.number for state in history(link)] == [0, 1]


def test_links_of_the_environment_into_itself_follow_the_clone(world: World, healthy: Verify) -> None:
    python = world.environment / "bin" / "python"
    python.rename(world.environment / "bin" / "pythonX")
    python.symlink_to(world.environment / "bin" / "pythonX")
    prefixes = []

    def verify(clone: Path) -> None:
        prefixes.append(Path(run(clone / "bin" / "python", "-c", "import sys; print(sys.prefix)")) == clone)

    apply(world.change(), verify=verify, progress=quiet)
    assert prefixes == [True]


def test_changing_twice_keeps_the_last_two_states(world: World, healthy: Verify) -> None:
    for pins in (world.new, world.old, world.new, world.old):
        apply(world.change(install=pins[:2]), verify=healthy, progress=quiet)
    assert [state.number for state in history(world.environment)] == [2, 3, 4]
    assert undo(world.environment).now.number == 3
    assert world.version("alpha") == "2.0"
    assert undo(world.environment).now.number == 2
    assert world.version("alpha") == "1.0"
    with pytest.raises(Trouble, match="state 1 is not kept"):
        undo(world.environment)


def test_a_change_after_an_undo_is_undone_to_what_it_changed(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)
    undo(world.environment)
    apply(world.change(install=(world.new[0],)), verify=healthy, progress=quiet)
    assert undo(world.environment).now.number == 0
    assert world.version("alpha") == "1.0"


def test_what_was_undone_makes_room_before_what_undo_leads_to(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)  # 1, from 0
    undo(world.environment)
    apply(world.change(install=(world.new[0],)), verify=healthy, progress=quiet)  # 2, from 0
    apply(world.change(install=(world.old[0],)), verify=healthy, progress=quiet)  # 3, from 2
    assert [state.number for state in history(world.environment)] == [0, 2, 3]
    assert [undo(world.environment).now.number for _ in range(2)] == [2, 0]
    assert world.version("alpha") == "1.0"


def test_environment_that_was_deleted_comes_back(world: World, healthy: Verify) -> None:
    before = snapshot(world.environment)
    apply(world.change(), verify=healthy, progress=quiet)
    shutil.rmtree(world.environment)
    undo(world.environment)
    assert snapshot(world.environment) == before


def test_nothing_to_undo(world: World) -> None:
    with pytest.raises(Trouble, match="nothing to undo"):
        undo(world.environment)
    assert history(world.environment) == ()
    assert leftovers(world.environment) == []


def test_change_by_somebody_else_meanwhile_is_noticed(world: World) -> None:
    def verify(clone: Path) -> None:
        install(world.environment, world.wheels, world.new[0])

    with pytest.raises(Trouble, match="somebody else"):
        apply(world.change(), verify=verify, progress=quiet)
    assert (world.version("alpha"), world.version("beta")) == ("2.0", "1.0")


def test_creates_what_does_not_exist(tmp_path: Path, healthy: Verify) -> None:
    wheels = tmp_path / "wheels"
    pins = (make_wheel(wheels, "alpha", "2.0", scripts=()), make_wheel(wheels, "beta", "2.0"))
    world = World(environment=tmp_path / "deep" / "new env", wheels=wheels, old=(), new=pins)
    change = world.change(python=sys.executable)
    assert preview(change).kind == "create"
    applied = apply(change, verify=healthy, progress=quiet)
    assert applied.previous is None
    assert world.version("beta") == "2.0"
    activate = f". '{world.environment}/bin/activate' && python -c 'import alpha, sys; print(sys.prefix)'"
    assert run("/bin/sh", "-c", activate) == str(world.environment)
    assert b".envdoctor-" not in (world.environment / "bin" / "activate").read_bytes()
    with pytest.raises(Trouble, match="exists already"):
        create(change, verify=healthy, progress=quiet)


def test_a_new_environment_that_fails_leaves_nothing(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    pins = (make_wheel(wheels, "alpha", "2.0"),)
    world = World(environment=tmp_path / "new", wheels=wheels, old=(), new=pins)
    with pytest.raises(Trouble, match="no good"):
        create(world.change(python=sys.executable), verify=lambda clone: "no good", progress=quiet)
    assert not world.environment.exists()
    assert leftovers(world.environment) == []


def test_unknown_python_is_named(tmp_path: Path, healthy: Verify) -> None:
    world = World(environment=tmp_path / "new", wheels=tmp_path, old=(), new=())
    with pytest.raises(Trouble, match="no environment can be made"):
        create(world.change(python="/nowhere/python3"), verify=healthy, progress=quiet)


def test_preview_leaves_no_trace(world: World) -> None:
    strategy = preview(world.change())
    assert strategy.kind == "exchange"
    assert strategy.bytes_free is not None
    assert 0 < strategy.bytes_needed < strategy.bytes_free
    assert leftovers(world.environment) == []


def test_a_folder_that_is_no_environment_is_refused(tmp_path: Path, healthy: Verify) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "precious.txt").write_text("x")
    world = World(environment=tmp_path / "data", wheels=tmp_path, old=(), new=())
    assert preview(world.change()).kind == "refuse"
    with pytest.raises(Trouble, match="no bin/python"):
        apply(world.change(), verify=healthy, progress=quiet)


def test_a_program_that_runs_from_it_is_named_unless_forced(world: World, healthy: Verify) -> None:
    python = world.environment / "bin" / "python"
    process = subprocess.Popen([python, "-c", "print(1, flush=True); input()"], stdin=-1, stdout=-1)
    try:
        assert process.stdout is not None
        process.stdout.read(1)
        with pytest.raises(Trouble, match=rf"python \(process {process.pid}\)"):
            apply(world.change(), verify=healthy, progress=quiet)
        assert world.version("alpha") == "1.0"
        apply(world.change(force=True), verify=healthy, progress=quiet)
        assert world.version("alpha") == "2.0"
    finally:
        process.kill()
        process.communicate()


def test_damaged_journal_is_named(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)
    journal = next(world.environment.parent.glob(".envdoctor-*.journal")) / "journal.json"
    data = json.loads(journal.read_text())
    for text in ("", "[]", '{"schema": 9}', json.dumps(data | {"last": "x"}), json.dumps(data | {"states": [{}]})):
        journal.write_text(text)
        with pytest.raises(Trouble, match=r"journal\.json: is damaged"):
            undo(world.environment)


def test_bytecode_made_while_checking_serves_and_names_the_right_file(world: World) -> None:
    def verify(clone: Path) -> None:
        world.version("alpha", clone)

    apply(world.change(), verify=verify, progress=quiet)
    (compiled,) = world.environment.glob("lib/python3*/site-packages/alpha/__pycache__/__init__.*.pyc")
    time_made = compiled.stat().st_mtime_ns
    code = "import alpha; print(alpha.main.__code__.co_filename)"
    named = run(world.environment / "bin" / "python", "-c", code)
    assert named == str(compiled.parents[1] / "__init__.py")
    assert compiled.stat().st_mtime_ns == time_made


@pytest.mark.parametrize("installer", ["uv hardlink", "uv copy", pytest.param("pip", marks=pytest.mark.slow)])
def test_installers_never_write_through_a_hard_link(
    world: World, healthy: Verify, installer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that nobody owns lies where the new wheel puts one; the clone shares it with the old state."""
    name, _, mode = installer.partition(" ")
    if mode:
        monkeypatch.setenv("UV_LINK_MODE", mode)
    wheel = make_wheel(world.wheels, "delta", "1.0", {"delta.py": "version = '1.0'\n"})
    stray = next(world.environment.glob("lib/python3*/site-packages")) / "delta.py"
    stray.write_text("version = 'stray'\n")
    before = snapshot(world.environment)
    apply(world.change(install=(wheel,), installer=name), verify=healthy, progress=quiet)
    assert world.version("delta") == "1.0"
    undo(world.environment)
    assert snapshot(world.environment) == before
