"""The cheap reader of Requires-Dist agrees with `packaging` wherever it takes the short way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from envdoctor.knowledge.requirements import holds, read
from envdoctor.knowledge.versions import within

names = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}([-_.][A-Za-z0-9]{1,5})?", fullmatch=True)
operators = st.sampled_from([">=", "<", "==", "!=", "<=", ">", "~="])
numbers = st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}", fullmatch=True)
specifiers = st.lists(st.tuples(operators, numbers), max_size=3).map(
    lambda pairs: ",".join(operator + version for operator, version in pairs)
)
extras = st.sampled_from(["", "[torch]", "[a,b]"])
markers = st.sampled_from(
    ["", 'python_version >= "3.10"', "sys_platform == 'linux'", 'platform_system == "Linux" and os_name == "posix"']
)


@given(names, extras, specifiers, markers, st.booleans(), st.booleans())
def test_agrees_with_packaging(
    name: str, extra: str, specifier: str, marker: str, spaced: bool, bracketed: bool
) -> None:
    clause = f"({specifier})" if bracketed and specifier else specifier
    line = f"{name}{extra}{' ' if spaced else ''}{clause}" + (f" ; {marker}" if marker else "")
    full = Requirement(line)
    wanted = read(line)
    assert wanted is not None
    assert wanted.name == canonicalize_name(full.name)
    assert SpecifierSet(wanted.specifier) == full.specifier
    assert bool(wanted.marker) is (full.marker is not None)


@pytest.mark.parametrize(
    "line",
    [
        "pytest; extra == 'dev'",
        'pytest>=7; python_version > "3.8" and extra == "dev"',
        "pytest; 'dev' == extra",
        "pytest ; extra in 'dev test'",
    ],
)
def test_extras_are_nobodys_demand(line: str) -> None:
    assert read(line) is None


@pytest.mark.parametrize("line", ["", "@", "torch @@ x", "!!!", "a b c", "torch>=1 garbage ;;"])
def test_nonsense_is_no_demand(line: str) -> None:
    wanted = read(line)
    assert wanted is None or within("1.0", wanted.specifier) is None


def test_an_address_keeps_the_name() -> None:
    wanted = read("Flash_Attn @ file:///x/flash_attn-2.8.3.whl")
    assert wanted is not None
    assert (wanted.name, wanted.specifier) == ("flash-attn", "")


def test_names_with_the_word_extra_in_them() -> None:
    wanted = read("typing-extra>=1")
    assert wanted is not None
    assert wanted.name == "typing-extra"


@pytest.mark.parametrize(
    ("marker", "verdict"),
    [
        ("", True),
        ('python_version >= "3.10"', True),
        ('python_version < "3.10"', False),
        ("nonsense ~ 'x'", None),
    ],
)
def test_markers(marker: str, verdict: bool | None) -> None:
    from tests.rules.machines import H100

    assert holds(marker, H100.interpreter.markers) is verdict  # type: ignore[union-attr]


def test_without_an_environment_only_no_marker_holds() -> None:
    assert holds("", {}) is True
    assert holds('python_version >= "3.10"', {}) is None
