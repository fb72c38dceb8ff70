"""Facts in files: what was written is what is read, and hostile files are named."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from envdoctor.errors import Trouble
from envdoctor.facts import collect
from envdoctor.facts.model import SCHEMA, Facts, Gpus, Packages

RECORDED = sorted((Path(__file__).parent / "machines").glob("*.json"))


def test_facts_survive_the_file(ours: Facts, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    collect.write(ours, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    read = collect.read(path)
    assert read.origin.kind == "recorded"
    collect.write(read, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text().replace(
        '"tool": "envdoctor', '"kind": "recorded",\n   "tool": "envdoctor'
    )
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_written_facts_name_nobody(ours: Facts, tmp_path: Path) -> None:
    collect.write(ours, tmp_path / "facts.json")
    text = (tmp_path / "facts.json").read_text()
    assert os.path.expanduser("~") + "/" not in text
    assert os.uname().nodename not in text or len(os.uname().nodename) < 4


def test_writing_where_one_may_not(ours: Facts, tmp_path: Path) -> None:
    with pytest.raises(Trouble) as caught:
        collect.write(ours, tmp_path / "no" / "folder" / "facts.json")
    assert "facts.json" in str(caught.value)
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "target.json")
    collect.write(Facts(), link)
    assert not link.is_symlink()  # replaced, not followed
    assert not (tmp_path / "target.json").exists()
    collect.write(Facts(), Path("/dev/null"))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def document(**more: Any) -> str:
    return json.dumps({"schema": SCHEMA, "facts": {}, **more})


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        ("", "line 1, column 1", "not valid JSON"),
        ('{"schema": 1,\n "facts": {', "line 2", "not valid JSON"),
        ("[]", "", "not a file of recorded facts"),
        ("null", "", "not a file of recorded facts"),
        ('{"facts": {}}', "schema", "schema is None, not a number"),
        (document(schema="1"), "schema", "schema is '1', not a number"),
        (document(schema=True), "schema", "schema is True, not a number"),
        (document(schema=SCHEMA + 1), "schema", "written by a newer envdoctor (schema 2; this one reads 1)"),
        (document(facts={"gpus": {"devices": [{"index": 0}]}}), "facts.gpus.devices[0].name", "missing"),
        (document(facts={"new": 1}), "facts.new", "unknown field"),
        (document(facts={"seconds": {"a": float("inf")}}), "facts.seconds.a", "expected a finite number"),
        ("[" * 100_000, "", "not readable as JSON (RecursionError)"),
        ('{"schema": ' + "9" * 5000 + "}", "", "not readable as JSON (ValueError)"),
        (document(facts={"messages": ["x" * (17 * 1024 * 1024)]}), "", "larger than 16 MiB"),
    ],
    ids=range(14),
)
def test_hostile_files(text: str, where: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(text)
    with pytest.raises(Trouble) as caught:
        collect.read(path)
    assert caught.value.file == str(path)
    assert caught.value.where.startswith(where)
    assert problem in caught.value.problem
    assert caught.value.remedy


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="No such file"):
        collect.read(tmp_path / "gone.json")
    with pytest.raises(Trouble, match="directory"):
        collect.read(tmp_path)
    (tmp_path / "binary.json").write_bytes(b"\x80\x81")
    with pytest.raises(Trouble, match="not UTF-8"):
        collect.read(tmp_path / "binary.json")


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_machines_are_readable(path: Path) -> None:
    told = collect.read(path)
    assert isinstance(told.packages, Packages)
    assert isinstance(told.gpus, Gpus)
    assert told.origin.kind == "recorded"


def test_machines_are_recorded() -> None:
    assert RECORDED
