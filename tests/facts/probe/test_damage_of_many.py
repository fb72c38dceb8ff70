"""Damage among many files: looked for by two processes, counted and not listed; every way of reading RECORD."""

from __future__ import annotations

import os
import shutil
import types
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.probe.environment import counts, damage
from envdoctor.facts.probe.environment.packages import Found
from envdoctor.facts.probe.environment.records import entries_of
from tests.facts.probe.conftest import Ask
from tests.facts.probe.venvs import Venv


def test_many_files_are_counted_not_listed(venv: Venv, ask: Ask) -> None:
    venv.package("large", files={f"large/m{number}.py": "" for number in range(300)})
    shutil.rmtree(venv.site / "large")
    problems = ask(venv.python)["damage"]["problems"]
    assert len(problems) == 20
    assert problems[-1]["detail"] == "and 280 more"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Venv:
    """An environment with more in its RECORDs than one process looks at."""
    venv = Venv(tmp_path_factory.mktemp("large") / "env")
    for name in ("first", "second", "third", "fourth"):
        venv.package(name, files={f"{name}/{'m' * 220}{number}.py": "x = 1\n" for number in range(1000)})
    records = [path.stat().st_size for path in venv.site.glob("*/RECORD")]
    assert sum(records) > counts.PARALLEL
    return venv


def test_two_processes_see_what_one_sees(large: Venv, ask: Ask) -> None:
    report = ask(large.python)["damage"]
    assert report["problems"] == []
    assert {entry["name"]: entry["files"] for entry in report["files"]} == dict.fromkeys(
        ("first", "second", "third", "fourth"), 1004
    )


@pytest.mark.parametrize("name", ["first", "second", "third", "fourth"])
def test_damage_in_either_share_is_told(large: Venv, ask: Ask, name: str) -> None:
    path = large.site / name / f"{'m' * 220}7.py"
    path.rename(path.with_suffix(".gone"))
    try:
        report = ask(large.python)["damage"]
    finally:
        path.with_suffix(".gone").rename(path)
    assert [(problem["distribution"], problem["kind"]) for problem in report["problems"]] == [(name, "missing-file")]
    assert len(report["files"]) == 4


def test_shares_are_about_equal_and_hold_everything() -> None:
    found = [Found("", f"{size}.dist-info", {}, b"x" * size, True, "") for size in (900_000, 5, 700_000, 300_000)]
    first, second = counts._shares(found, 2)
    assert [*first, *second] == found
    if len(os.sched_getaffinity(0)) > 1:
        assert len(first) == 3
    assert counts._shares(found[1:2], 2) == (found[1:2], [])


def test_a_process_beside_keeps_a_core_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Found("", f"{size}.dist-info", {}, b"x" * size, True, "") for size in (900_000, 700_000)]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert counts._shares(found, 2) == (found[:1], found[1:])
    assert counts._shares(found, 3) == (found, [])


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("m/a.py,sha256=x,3\nm/b.py,sha256=y,0\nm-1.dist-info/RECORD,,\n", 3),
        ("m/a.py,sha256=x=,3\n", None),  # never so in a wheel
        ("m/a.py,sha256=x,3\r\nm-1.dist-info/RECORD,,\r\n", 2),
        ("m/a.py,sha256=x,3\nm/__pycache__/a.cpython-311.pyc,,\n", 1),
        ("../../../bin/tool,sha256=x,4\n", 1),
        ("m/a.py,sha256=x,4\nm/b.py,sha256=y,0\n", 2),  # one of another size
        ("m/a.py,sha256=x,03\n", 1),
        ("m/gone.py,sha256=x,3\n", None),
        ("m/gone.py,,\nm/a.py,sha256=x,3\n", None),
        ('"m/a.py",sha256=x,3\n', None),  # right, but not plain: the slower look tells
        ("m/a.py,sha256=x,3\n\n", None),
        ("m/a.py,sha256=x,3", None),
        ("m/a.py,x\nm/b.py,y,z,0\n", None),
        ("m/a.py,sha256=x,-3\n", None),
        ("m/a.py,sha256=x,three\n", None),
        ("m/a.py,sha256=x,3\n../../../../outside,sha256=x,0\n", None),
        ("m/../../../../../outside,sha256=x,0\n", None),
        ("/etc/hostname,,\nm/a.py,sha256=x,3\n", None),
        (",sha256=x,3\n", None),
        ("\xe4,sha256=x,3\n", None),
    ],
)
def test_what_is_counted_at_once_is_what_the_slower_look_finds(tmp_path: Path, lines: str, count: int | None) -> None:
    """Where it is: None is for what the slower look has to tell of."""
    site = tmp_path / "env" / "lib" / "python3" / "site-packages"
    for path, text in ((site / "m" / "a.py", "abc"), (site / "m" / "b.py", ""), (tmp_path / "env/bin/tool", "tool"),
                       (site / "m-1.dist-info" / "RECORD", ""), (tmp_path / "outside", "")):  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    value = {"name": "m", "editable": False, "installer": "pip"}
    found = Found(str(site), "m-1.dist-info", value, lines.encode("latin-1"), True, "")
    places = types.SimpleNamespace(prefix=str(tmp_path / "env"))
    here = Path.cwd()
    try:
        told = counts._count(found, places)
        assert (told and told[0]) == count
        files: list[dict[str, object]] = []
        damage._look([found], places, [], odd := [], files, [])
        if told is not None:
            assert [entry["files"] for entry in files] == [count]
            assert [problem.path for _, problem in odd] == told[1]
    finally:
        os.chdir(here)


PATHS = st.text(alphabet="ab/.=,-", min_size=1, max_size=9).filter(lambda path: not path.endswith(".pyc"))
ENTRIES = st.tuples(PATHS, st.sampled_from(["", "sha256=Zm9v", "odd"]), st.none() | st.integers(0, 10**9))


@given(st.lists(ENTRIES, max_size=6), st.booleans(), st.booleans())
def test_every_way_of_reading_record_agrees(entries: list[tuple[str, str, int | None]], crlf: bool, cut: bool) -> None:
    lines = [f"{path},{digest},{'' if size is None else size}" for path, digest, size in entries]
    text = ("\r\n" if crlf else "\n").join([*lines, *([] if cut else [""])])
    assert entries_of(text) == entries
    if (columns := counts._columns(text.encode())) is not None:
        _, paths, sizes = columns
        assert paths == [path for path, _, _ in entries]
        assert sizes == ["" if size is None else str(size) for _, _, size in entries]
