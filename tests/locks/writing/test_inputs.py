from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.locks.platforms import MACHINES, PYTHONS
from envdoctor.locks.writing.inputs import Inputs, read

BUNDLED = Path(__file__).resolve().parents[3] / "lockfiles" / "inputs"


def written(folder: Path, text: str, name: str = "requirements.txt") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_plain_requirements_file(tmp_path: Path) -> None:
    text = """
    # a comment
    alpha[extra]>=1,<2 ; python_version >= '3.10'   # why
    beta==1.0 \\
        --hash=sha256:abc \\
        --hash=sha256:def
    """
    found = read(written(tmp_path, text))
    assert found == Inputs(requirements=("alpha[extra]>=1,<2 ; python_version >= '3.10'", "beta==1.0"))
    assert (found.pythons, found.machines) == (PYTHONS, MACHINES)


def test_the_block_says_for_whom(tmp_path: Path) -> None:
    text = """# /// lock
# pythons = ["3.11", "3.12"]   # why not others
# machines = ["x86_64", "AMD64"]
# exclude-newer = "2025-11-12"
# ///
alpha
"""
    found = read(written(tmp_path, text), pythons=("3.14",), machines=("aarch64",))
    assert (found.pythons, found.machines) == (("3.11", "3.12"), ("x86_64", "AMD64"))
    assert found.exclude_newer == "2025-11-12"
    assert [one.platform for one in found.served] == ["linux-x86_64", "linux-x86_64", "win-amd64", "win-amd64"]


def test_defaults_hold_where_the_block_is_silent(tmp_path: Path) -> None:
    found = read(written(tmp_path, "alpha\n"), pythons=("3.14",), machines=("aarch64",))
    assert (found.pythons, found.machines) == (("3.14",), ("aarch64",))


def test_included_files_stand_in_place(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    written(tmp_path / "sub", "beta\n-c limits.txt\n", "more.txt")
    written(tmp_path / "sub", "gamma<2\n", "limits.txt")
    found = read(written(tmp_path, "alpha\n-r sub/more.txt\n--requirement=sub/more.txt\ndelta\n"))
    assert found.requirements == ("alpha", "beta", "beta", "delta")
    assert found.constraints == ("gamma<2", "gamma<2")


def test_sources_named_in_the_file_become_options_of_uv(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    lines = "-i https://host.invalid/simple|--extra-index-url https://more.invalid|-f shelf|--pre|alpha"
    text = lines.replace("|", "\n") + "\n--require-hashes\n"
    assert read(written(tmp_path, text)).options == (
        *("--default-index", "https://host.invalid/simple", "--index", "https://more.invalid"),
        *("--find-links", str(tmp_path / "shelf"), "--prerelease", "allow"),
    )


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "", "no requirements in it"),
        ("alpha\n-e .\n", "line 2", "-e cannot be locked"),
        ("alpha\n--editable=.\n", "line 2", "--editable cannot be locked"),
        ("alpha @ https://host.invalid/alpha.zip\n", "line 1", "alpha comes from an address"),
        ("./alpha\n", "line 1", "'./alpha'"),
        ("git+https://host.invalid/a.git\n", "line 1", "git+https"),
        ("alpha=1\n", "line 1", "alpha=1"),
        ("alpha\n--trusted-host x\n", "line 2", "--trusted-host cannot be locked"),
        ("# /// lock\n# pythons = ['3.11']\nalpha\n", "line 1", "the block is not closed"),
        ("# /// lock\n# pythons = ['3.9']\n# ///\nalpha\n", "line 1", "pythons = ['3.9']: expected some of 3.10, 3.11"),
        ("# /// lock\n# pythons = []\n# ///\nalpha\n", "line 1", "pythons = []"),
        ("# /// lock\n# pythons = '3.11'\n# ///\nalpha\n", "line 1", "pythons = '3.11'"),
        ("# /// lock\n# machines = ['m68k']\n# ///\nalpha\n", "line 1", "machines = ['m68k']"),
        ("# /// lock\n# exclude-newer = 'soon'\n# ///\nalpha\n", "line 1", "exclude-newer = 'soon' is not understood"),
        ("# /// lock\n# colour = 1\n# ///\nalpha\n", "line 1", "colour = 1 is not understood"),
        ("\n# /// lock\n# pythons = [\n# ///\nalpha\n", "line 3", "not valid TOML"),
    ],
)
def test_what_cannot_be_locked_is_named_with_its_line(tmp_path: Path, text: str, place: str, words: str) -> None:
    with pytest.raises(Trouble) as caught:
        read(written(tmp_path, text))
    assert words in caught.value.problem
    assert caught.value.where.startswith(place)
    assert caught.value.file == str(tmp_path / "requirements.txt")


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    path = written(tmp_path, "-r requirements.txt\n")
    with pytest.raises(Trouble, match="include each other too deeply"):
        read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match=r"none\.txt"):
        read(tmp_path / "none.txt")


@pytest.mark.parametrize("path", sorted(BUNDLED.glob("*.in")), ids=lambda path: path.name)
def test_bundled_inputs_say_for_whom_and_pin_torch(path: Path) -> None:
    found = read(path, pythons=(), machines=())
    assert found.pythons
    assert found.machines
    assert any(requirement.startswith("torch==") for requirement in found.requirements)
