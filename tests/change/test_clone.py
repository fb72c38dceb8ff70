"""A clone has every entry with its mode and times; what is edited in place is a file of its own."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from pathlib import Path

import pytest

from envdoctor.change import paths
from envdoctor.change.clone import clone, copy_file, delete_tree


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "env"
    (root / "lib" / "pkg").mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "lib" / "pkg" / "code.py").write_text("x")
    (root / "lib" / "pkg" / "big.so").write_bytes(b"\0" * 500_000)
    (root / "lib" / "site.pth").write_text("../src")
    (root / "bin" / "tool").write_text("#!/x")
    (root / "bin" / "tool").chmod(0o755)
    (root / "bin" / "program").write_bytes(b"\x7fELF" + b"\0" * 400_000)
    (root / "pyvenv.cfg").write_text("home = /usr/bin")
    (root / "lib64").symlink_to("lib")
    (root / "bin" / "absolute").symlink_to(root / "bin" / "tool")
    (root / "bin" / "outside").symlink_to("/usr/bin/env")
    (root / "bin" / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    (root / "lib" / "pkg").chmod(0o750)
    os.utime(root / "lib" / "pkg", (1, 1_000_000))
    return root


def test_links_and_copies(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "clone"
    done = clone(source, target, leave_out=lambda name: name == "pyvenv.cfg")
    same = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and not path.is_symlink() and (target / path.relative_to(source)).exists()
        and os.path.samefile(path, target / path.relative_to(source))
    }  # fmt: skip
    assert same == {"lib/pkg/code.py", "lib/pkg/big.so", "bin/program"}
    assert done.left_out == ["pipe"]
    assert not (target / "pyvenv.cfg").exists()
    assert set(done.copies) == {"lib/site.pth", "bin/tool"}
    assert (target / "bin" / "tool").stat().st_mode == (source / "bin" / "tool").stat().st_mode
    assert stat.S_IMODE((target / "lib" / "pkg").stat().st_mode) == 0o750
    assert (target / "lib" / "pkg").stat().st_mtime == 1_000_000


def test_symbolic_links(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "clone"
    clone(source, target)
    goals = {name: os.readlink(target / "bin" / name) for name in ("absolute", "outside", "dangling")}
    assert goals == {"absolute": "tool", "outside": "/usr/bin/env", "dangling": "nowhere"}
    assert os.readlink(target / "lib64") == "lib"


def test_everything_copied_where_links_are_not_wanted(source: Path, tmp_path: Path) -> None:
    done = clone(source, tmp_path / "clone", links=False)
    assert done.linked == 0
    assert (tmp_path / "clone" / "lib" / "pkg" / "big.so").read_bytes() == b"\0" * 500_000


def test_deleting_a_clone_leaves_the_source(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "clone"
    clone(source, target)
    (target / "lib" / "pkg").chmod(0)
    delete_tree(target)
    assert not target.exists()
    assert (source / "lib" / "pkg" / "code.py").read_text() == "x"
    assert stat.S_IMODE((source / "lib" / "pkg").stat().st_mode) == 0o750
    delete_tree(target)


def test_a_copy_never_replaces(source: Path, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        copy_file(source / "bin" / "tool", source / "pyvenv.cfg")


def test_new_text_never_goes_through_a_hard_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o555)
    os.link(tmp_path / "a", tmp_path / "b")
    paths.replace_bytes(tmp_path / "a", b"new")
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("new", "old")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o555


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("env", "#!{clone}/bin/python", "#!{final}/bin/python"),
        ("env", "#!/bin/sh\n'''exec' '{clone}/bin/python' \"$0\"", "#!/bin/sh\n'''exec' '{final}/bin/python' \"$0\""),
        ("env", "VIRTUAL_ENV='{clone}'\n", "VIRTUAL_ENV='{final}'\n"),
        ("env", "command = python -m venv {clone}", "command = python -m venv {final}"),
        ("env", "{clone}0/bin", "{clone}0/bin"),
        ("env", "{clone}-old/bin", "{clone}-old/bin"),
        ("it's", "'{parent}/.envdoctor-it'\"'\"'s-3/bin'", "'{parent}/it'\"'\"'s/bin'"),
        ("a b", r"{parent}/.envdoctor-a\ b-3/bin", r"{parent}/a\ b/bin"),
        ("env-3", "{clone}/bin", "{final}/bin"),
    ],
)
def test_the_clone_s_path_becomes_the_final_one(tmp_path: Path, name: str, text: str, expected: str) -> None:
    clone_path, final = tmp_path / f".envdoctor-{name}-3", tmp_path / name
    (clone_path / "bin").mkdir(parents=True)
    words = {"clone": clone_path, "final": final, "parent": tmp_path}
    script = clone_path / "bin" / "script"
    script.write_text(text.format(**words))
    paths.correct(clone_path, final, [])
    assert script.read_text() == expected.format(**words)


def test_the_record_of_a_corrected_file_is_corrected(tmp_path: Path) -> None:
    clone_path, library = tmp_path / ".envdoctor-env-3", tmp_path / ".envdoctor-env-3" / "lib"
    record = library / "tool-1.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    (clone_path / "bin").mkdir()
    for file in (library / "__editable__.tool.pth", clone_path / "bin" / "tool"):
        file.write_text(f"{clone_path}/bin/python")
    rows = '"same,one.py",sha256=a,1\r\n__editable__.tool.pth,sha256=b,2\n../bin/tool,sha256=c,3\ntool.pyc,,\n'
    record.write_text(rows, newline="")
    paths.correct(clone_path, tmp_path / "env", [library])
    text = f"{tmp_path / 'env'}/bin/python"
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    assert (library / "__editable__.tool.pth").read_text() == (clone_path / "bin" / "tool").read_text() == text
    now = f"sha256={digest},{len(text)}"
    expected = f'"same,one.py",sha256=a,1\n__editable__.tool.pth,{now}\n../bin/tool,{now}\ntool.pyc,,\n'
    assert record.read_text() == expected
