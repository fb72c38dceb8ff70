"""`lock` as a user calls it: what it says to a name that it does not know."""

from __future__ import annotations

import shutil
import venv
from pathlib import Path

from envdoctor import bundle
from tests.commands.test_check import envdoctor


def test_a_name_without_inputs_is_told_which_there_are(tmp_path: Path) -> None:
    unknown = envdoctor("lock", "nosuch", "--check")
    assert unknown.code == 2
    assert "there is no stack 'nosuch'" in unknown.err
    assert "cu130" in unknown.err
    shutil.copy(bundle.lockfiles() / "pylock.cpu.toml", tmp_path / "pylock.mine.toml")
    adopted = envdoctor("lock", "mine", "--check", "--folder", tmp_path)
    assert adopted.code == 2
    assert "envdoctor lock mine --from FILE|environment" in adopted.err


def test_a_lock_of_ones_own_is_found_by_its_name_and_shared_by_its_hash(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    (folder / "targets").mkdir(parents=True)
    shutil.copy(bundle.lockfiles() / "pylock.cpu.toml", folder / "pylock.team.toml")
    (folder / "targets" / "team.toml").write_text('schema = 1\ntitle = "team"\nstacks = ["team"]\n')
    listed = envdoctor("targets", cwd=tmp_path)
    assert listed.out.splitlines()[1].split()[:2] == ["team", "team"]
    told = envdoctor("lock", "team", "--share", cwd=tmp_path)
    assert told.code == 0, told.err
    address, from_git = told.out.split()
    assert address.startswith("https://HOST/locks/targets/team.toml#sha256=")
    assert from_git.endswith(address.partition("#sha256=")[2])
    checked = envdoctor("check", "--target", "team", "--no-torch", "--format", "json", cwd=tmp_path)
    assert '"name": "team"' in checked.out


def test_a_broken_environment_is_not_locked(tmp_path: Path) -> None:
    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    site = next((environment / "lib").iterdir()) / "site-packages"
    info = site / "numpy-2.3.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 2.3.0\n")
    (info / "RECORD").write_text(f"numpy/__init__.py,,100\n{info.name}/METADATA,,\n{info.name}/RECORD,,\n")
    refused = envdoctor("lock", "team", "--from", "environment", "--env", environment, cwd=tmp_path)
    assert refused.code == 1, refused.err
    assert "this environment is broken" in refused.err
    assert "numpy" in refused.err
    assert "--force" in refused.err
    assert not (tmp_path / "locks").exists()
