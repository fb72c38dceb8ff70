import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.knowledge import versions

releases = st.lists(st.integers(0, 30), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))


@given(releases, releases)
def test_below_and_at_least_are_opposites(one: str, other: str) -> None:
    assert versions.below(one, other) is not versions.at_least(one, other)


@given(releases)
def test_a_build_or_nightly_stands_for_its_release(release: str) -> None:
    assert versions.at_least(release + ".dev1+cu126", release)
    assert not versions.below(release + "+cpu", release)


@given(st.text(max_size=12))
def test_text_that_is_no_version_accuses_nobody(text: str) -> None:
    if versions.parse(text) is None:
        assert not versions.below(text, "1")
        assert not versions.at_least(text, "1")
        assert versions.within(text, ">=1") is None
        assert versions.release(text) is None
        assert versions.same(text, text)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("2.13.0", "2.13", True),
        ("2.13.0+cpu", "2.13.0+cpu", True),
        ("2.13.0+cpu", "2.13.0", False),
        ("2.13.0+cpu", "2.13.0+cu130", False),
        ("1.0a1", "1.0.alpha.1", True),
    ],
)
def test_local_labels_count(one: str, other: str, equal: bool) -> None:
    assert versions.same(one, other) is equal


def test_parts() -> None:
    assert versions.label("2.13.0+cu130") == "cu130"
    assert versions.label("2.13.0") is None
    assert versions.public("2.13.0+cu130") == "2.13.0"
    assert versions.release("2.9.0.dev20250804+cu126") == (2, 9, 0)
    assert versions.within("0.24.0rc1", ">=0.23") is True
    assert versions.within("1", "no specifier") is None
