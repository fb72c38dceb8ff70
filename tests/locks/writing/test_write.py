from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.locks.writing.write import text
from envdoctor.values.document import parse_toml
from tests.locks.writing.conftest import lock, package, wheel

HERE = Path(__file__)
LOCKFILES = Path(__file__).resolve().parents[3] / "lockfiles"

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
leaves = words | st.integers(-(2**60), 2**60) | st.booleans()
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))


@given(st.dictionaries(words.filter(lambda key: key != "packages"), values, max_size=4), st.lists(values, max_size=3))
def test_what_is_written_reads_back_equal(top: dict[str, Any], strange: list[Any]) -> None:
    whole = {**top, "packages": [{"name": "alpha", "wheels": strange, "x": entry} for entry in strange]}
    assert parse_toml(text(whole), HERE) == whole


def test_one_line_for_each_wheel() -> None:
    two = [wheel("alpha", tag="cp311-cp311-linux_x86_64"), wheel("alpha", tag="cp312-cp312-linux_x86_64")]
    lines = text(lock(package("alpha", wheels=two)), comment="a comment").splitlines()
    assert lines[0] == "# a comment"
    assert sum("sha256" in line for line in lines) == 2
    assert [line for line in lines if line.startswith("    { path")] == [line for line in lines if "sha256" in line]


@pytest.mark.parametrize("path", sorted(LOCKFILES.glob("pylock.*.toml")), ids=lambda path: path.name)
def test_bundled_locks_are_written_by_this_writer(path: Path) -> None:
    content = path.read_text("utf-8")
    comment = "\n".join(line[2:] for line in content.splitlines() if line.startswith("# "))
    assert text(parse_toml(content, path), comment=comment) == content
