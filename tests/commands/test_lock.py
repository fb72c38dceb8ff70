"""`lock` as a user calls it: what it says to a name that it does not know."""

from __future__ import annotations

import shutil
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
    assert "envdoctor lock --from FILE|environment --output mine" in adopted.err
