"""A file is written whole, through no link that somebody laid, and drafts of the killed go with the next writing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from envdoctor.values.document import write_whole

KILLED = """
import os, signal, sys
from pathlib import Path
from envdoctor.values import document
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
document.write_whole(Path(sys.argv[1]), "draft")
"""
HELD = """
import sys
from pathlib import Path
from envdoctor.values import document
def wait(self, to):
    print("ready", flush=True)
    sys.stdin.read()
    return replace(self, to)
replace, Path.replace = Path.replace, wait
document.write_whole(Path(sys.argv[1]), "slow")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="drafts are removed where files can be locked")
def test_the_draft_of_a_killed_writer_goes_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "cards.json"
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)]).returncode == -signal.SIGKILL
    (draft,) = os.listdir(tmp_path)
    assert draft != path.name
    (tmp_path / ".cards.json.theirs.partial").write_text("not ours")
    (tmp_path / ".other.json.0123456789abcdef.partial").write_text("of another file")
    write_whole(path, "new")
    left = {".cards.json.theirs.partial", ".other.json.0123456789abcdef.partial", "cards.json"}
    assert set(os.listdir(tmp_path)) == left
    assert path.read_text() == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="drafts are removed where files can be locked")
def test_the_draft_of_a_living_writer_stays(tmp_path: Path) -> None:
    path = tmp_path / "cards.json"
    words = [sys.executable, "-c", HELD, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as slow:
        assert slow.stdout is not None
        assert slow.stdout.readline() == "ready\n"
        write_whole(path, "quick")
        assert path.read_text() == "quick"
        slow.communicate("")
    assert slow.returncode == 0
    assert path.read_text() == "slow"
    assert os.listdir(tmp_path) == ["cards.json"]


def test_a_link_is_written_through_or_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("real")
    write_whole(link, "through")
    assert link.is_symlink()
    assert (tmp_path / "real").read_text() == "through"
    write_whole(link, "in its place", through=False, mode=0o600)
    assert not link.is_symlink()
    assert (tmp_path / "real").read_text() == "through"
    assert link.stat().st_mode & 0o777 == 0o600
