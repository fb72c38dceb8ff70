from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.values.document import line_of, parse_toml, read_json, read_text, read_toml, write_whole

PLACE = Path("a.toml")
Reader = Callable[[Path], object]


def failure(path: Path, read: Reader) -> Trouble:
    with pytest.raises(Trouble) as caught:
        read(path)
    assert caught.value.file == str(path)
    return caught.value


@pytest.mark.parametrize("read", [read_text, read_toml, read_json])
def test_files_that_are_not_there(tmp_path: Path, read: Reader) -> None:
    assert "No such file" in failure(tmp_path / "none", read).problem
    assert "Is a directory" in failure(tmp_path, read).problem


@pytest.mark.parametrize("read", [read_text, read_toml, read_json])
def test_files_below_a_file(tmp_path: Path, read: Reader) -> None:
    (tmp_path / "a").write_text("x")
    assert "Not a directory" in failure(tmp_path / "a" / "b", read).problem


@pytest.mark.parametrize("read", [read_text, read_toml, read_json])
def test_files_that_are_not_text(tmp_path: Path, read: Reader) -> None:
    (tmp_path / "a").write_bytes(b"x = 1\ny = '\xff'\n")
    error = failure(tmp_path / "a", read)
    assert (error.problem, error.where) == ("not UTF-8 text", "line 2")


def test_files_that_are_too_large(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(Trouble, match="larger than 1 MiB"):
        read_text(tmp_path / "a", limit=2**20)
    assert len(read_text(tmp_path / "a", limit=2**20 + 1)) == 2**20 + 1


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert read_toml(tmp_path / "a") == {"x": 1}


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("x = \n", "line 1, column 5", "Invalid value"),
        ("x = 1\nx = 2\n", "line 2, column 6", "Cannot overwrite"),
        ("x = 1\ny = [\n", "line 2, end of document", "Invalid"),
        ("a = 1\n[a]\n", "line 2, column 3", "Cannot overwrite"),
        ("x = 1\n" + ".".join("a" * 65) + " = 1\n", "line 2", "a key of more than 64 parts"),
    ],
)
def test_toml_mistakes_name_their_place(text: str, where: str, words: str) -> None:
    with pytest.raises(Trouble, match=words) as caught:
        parse_toml(text, PLACE)
    assert caught.value.where == where
    assert caught.value.remedy


def test_toml_inside_another_file_counts_that_files_lines() -> None:
    with pytest.raises(Trouble) as caught:
        parse_toml("x = 1\ny = \n", PLACE, first_line=10)
    assert caught.value.where == "line 11, column 5"


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 64) + " = 1\n",
        'x = "' + "." * 1000 + '"\n',
        "x = '" + "a." * 1000 + "'\n",
        'x = "a \\" ' + "b." * 500 + '"\n',
        'versions = ["' + '", "'.join(["1.2.3.4.5"] * 100) + '"]\n',
        "# " + "a." * 500 + "\n",
        "x = 1  # " + "a." * 500 + "\n",
    ],
)
def test_dots_that_are_no_key_are_allowed(text: str) -> None:
    parse_toml(text, PLACE)


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("{", "line 1, column 2", "Expecting property name"),
        ('{"a": 1,\n "b" 2}', "line 2, column 6", "Expecting ':' delimiter"),
        ("[" * 100_000, "", "not readable as JSON"),
        ("9" * 5000, "", "not readable as JSON"),
    ],
)
def test_json_mistakes_name_their_place(tmp_path: Path, text: str, where: str, words: str) -> None:
    (tmp_path / "a.json").write_text(text)
    error = failure(tmp_path / "a.json", read_json)
    assert words in error.problem
    assert error.where == where


LOCK = """lock-version = "1.0"

[[packages]]
name = "alpha"

[[packages]]
name = "beta"
wheels = [
    { path = "x", hashes = { sha256 = "y" } },
]

[tool.uv]
"""


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("lock-version", "line 1, lock-version"),
        ("packages[0].name", "line 4, packages[0].name"),
        ("packages[1].name", "line 7, packages[1].name"),
        ("packages[1].wheels[0].hashes", "line 8, packages[1].wheels[0].hashes"),
        ("packages[1].nothing", "line 6, packages[1].nothing"),
        ("absent", "absent"),
        ("", ""),
    ],
)
def test_the_line_of_a_place(tmp_path: Path, where: str, expected: str) -> None:
    (tmp_path / "a").write_text(LOCK)
    assert line_of(tmp_path / "a", where) == expected


def test_the_line_in_a_file_that_is_gone(tmp_path: Path) -> None:
    assert line_of(tmp_path / "none", "packages[0].name") == "packages[0].name"


fuzzing = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@fuzzing
@given(st.binary(max_size=300), st.text(max_size=40))
def test_no_bytes_raise_anything_else(tmp_path: Path, content: bytes, where: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    assert isinstance(line_of(path, where), str)
    for read in (read_text, read_toml, read_json):
        answer: object
        try:
            answer = read(path)
        except Trouble as error:
            answer = error.problem
        assert answer is None or isinstance(answer, (str, dict, list, int, float))


def test_a_file_is_written_whole_and_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    place, link = tmp_path / "a.txt", tmp_path / "link"
    place.write_text("old")
    place.chmod(0o640)
    link.symlink_to(place)
    write_whole(link, "new")
    assert link.is_symlink()
    assert place.read_text() == "new"
    assert place.stat().st_mode & 0o777 == 0o640
    write_whole(tmp_path / "secret", "x", mode=0o600)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "link", "secret"]


def test_a_file_that_cannot_be_written_is_trouble_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Trouble) as caught:
        write_whole(tmp_path / "none" / "a.txt", "x")
    assert "No such file" in caught.value.problem
    (tmp_path / "taken").mkdir()
    with pytest.raises(Trouble):
        write_whole(tmp_path / "taken", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
