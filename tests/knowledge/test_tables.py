"""The tables as files: every row can be read, says who says so, and is the same read alone as with all the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.knowledge import broken, symptoms, variables, versions
from envdoctor.knowledge.requirements import read
from envdoctor.knowledge.table import FOLDER, Rows, Table, bundled_table, columns
from envdoctor.values.document import parse_toml, read_toml

FILES = [*sorted(FOLDER.glob("*.toml")), Path(__file__).parent.parent / "speed" / "published_speeds.toml"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_cut_into_rows_is_the_file(path: Path) -> None:
    whole, table = read_toml(path), Table(path)
    kinds = {block.kind for block in table.blocks}
    assert table.head == {key: value for key, value in whole.items() if key not in kinds}
    for kind in kinds:
        cut = [parse_toml(block.text, path, first_line=block.line) for block in table.blocks if block.kind == kind]
        assert cut == whole[kind]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_says_up_to_when_it_was_read(path: Path) -> None:
    head = Table(path).head
    assert head["schema"] == 1
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", head["read_up_to"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_keys_are_indexed_by_text_as_they_are_parsed(path: Path) -> None:
    for block in Table(path).blocks:
        for key, value in parse_toml(block.text, path).items():
            if isinstance(value, str) and '"' not in value and "\\" not in value:
                assert block.texts(key) == (value,)
            elif isinstance(value, list) and all(isinstance(item, str) and '"' not in item for item in value):
                assert block.texts(key) == tuple(value)


TABLES = [
    table for module in (broken, symptoms, variables) for table in vars(module).values() if isinstance(table, Rows)
]


@pytest.mark.parametrize("rows", TABLES, ids=lambda rows: rows.kind)
def test_every_row_can_be_read_and_has_a_source(rows: Rows[object]) -> None:
    read_rows = list(rows)
    assert read_rows
    for row in read_rows:
        source = getattr(row, "source", "https://")
        assert source.startswith("https://"), row


def test_what_decides_about_a_release_can_be_decided() -> None:
    for row in broken.RELEASES:
        assert versions.specifiers(row.versions) is not None, row
        assert row.said is None or row.said.search("") is None, row
        assert len(row.beside) == len(row.where.beside), row
        assert row.where.capability is None or versions.specifiers(row.where.capability) is not None, row
        assert row.kind != "pair" or row.beside, row
        assert read(row.instead) is not None, row
        assert not row.what.endswith("."), row


def test_what_means_a_symptom_can_be_searched() -> None:
    for row in symptoms.SYMPTOMS:
        assert row.pattern.search("") is None
        assert not row.moved or versions.specifiers(row.moved) is not None


def test_a_row_is_parsed_when_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text('schema = 1\n\n[[unread]]\nname = "A"\ninstead = "B"\n\n[[unread]]\nname = "C"\ninstead = 3\n')
    rows = Rows(Table(path), "unread", variables.Unread)
    assert rows.names() == ("A", "C")
    assert [row.instead for row in rows.among({"A"})] == ["B"]
    with pytest.raises(Trouble) as caught:
        list(rows.among({"C"}))
    assert str(caught.value) == f"{path}, line 7, [[unread]] 'C': instead: expected str, found 3"
    assert list(rows.among({"D"})) == []


def test_no_table_is_read_before_it_is_asked() -> None:
    table = bundled_table("nothing-of-this-name")
    assert table.path.name == "nothing-of-this-name.toml"
    with pytest.raises(Trouble, match="No such file"):
        table.blocks  # noqa: B018


def test_a_row_of_columns_that_does_not_fit_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text('[cuda]\ncolumns = "line | own"\nrows = """\n1.0 | 2\n1.1\n"""\n')
    rows = columns(Table(path), "cuda")
    assert next(rows) == ("1.0", "2")
    with pytest.raises(Trouble) as caught:
        next(rows)
    assert str(caught.value) == f"{path}, [cuda] '1.1': 1 cells, expected 2: line | own"


@pytest.mark.parametrize("key", ["cuda", "generations", "torch", "kernels"])
def test_every_table_of_columns_says_where_it_is_from_and_how_far_it_goes(key: str) -> None:
    stored = bundled_table("releases").head[key]
    assert "https://" in stored["source"]
    assert stored["read_up_to"]
    assert len(list(columns(bundled_table("releases"), key))) > 20
