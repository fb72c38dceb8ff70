from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from envdoctor.locks.platforms import (
    DESKTOPS,
    MACHINES,
    PYTHONS,
    environments,
    holds,
    interpreter,
    interpreters,
    place,
    python_ranges,
    requires_python,
    served_by,
)

rows = st.sets(st.sampled_from(PYTHONS), min_size=1)


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("python_version >= '3.12'", True),
        ("python_version < '3.12'", False),
        ("platform_machine == 'x86_64' and sys_platform == 'linux'", True),
        ("sys_platform == 'win32'", False),
        ("python_full_version < '3.12.4'", True),  # some patch release of 3.12 is older
        ("python_full_version >= '3.12.4'", True),  # and some is newer
        ("python_full_version == '3.12.*'", True),
        ("implementation_name == 'pypy'", False),
    ],
)
def test_holds_asks_first_and_last_patch_release(marker: str, expected: bool) -> None:
    assert holds(Marker(marker), interpreter("3.12", "x86_64")) is expected


def test_holds_asks_for_each_extra() -> None:
    marker = Marker("extra == 'cublas'")
    assert not holds(marker, interpreter("3.12", "x86_64"))
    assert holds(marker, interpreter("3.12", "x86_64"), ("", "cublas"))


@given(rows)
def test_ranges_are_true_exactly_where_asked(pythons: set[str]) -> None:
    markers = [Marker(text) for text in python_ranges(pythons)]
    for one in interpreters(machines=["x86_64"]):
        assert any(holds(marker, one) for marker in markers) == (place(one)[0] in pythons)


EVERY = (*MACHINES, *DESKTOPS)


@given(st.sets(st.sampled_from([place(one) for one in interpreters(machines=EVERY)]), min_size=1))
def test_a_lock_says_exactly_whom_it_serves(places: set[tuple[str, str]]) -> None:
    served = [one for one in interpreters(machines=EVERY) if place(one) in places]
    said = served_by(SpecifierSet(requires_python(served)), [Marker(text) for text in environments(served)], EVERY)
    assert {place(one) for one in said} == places


@pytest.mark.parametrize(
    ("machine", "markers"),
    [
        ("arm64", {"sys_platform": "darwin", "os_name": "posix", "platform_system": "Darwin"}),
        ("AMD64", {"sys_platform": "win32", "os_name": "nt", "platform_system": "Windows"}),
        ("aarch64", {"sys_platform": "linux", "os_name": "posix", "platform_system": "Linux"}),
    ],
)
def test_the_machine_tells_the_system(machine: str, markers: dict[str, str]) -> None:
    one = interpreter("3.12", machine)
    assert {key: one.markers[key] for key in markers} == markers
    assert (one.libc is None) is (machine in DESKTOPS)


def test_one_marker_for_each_machine_where_both_have_the_same_pythons() -> None:
    assert environments(interpreters()) == [
        f"implementation_name == 'cpython' and platform_machine == '{machine}' and sys_platform == 'linux'"
        for machine in sorted(MACHINES)
    ]


def test_a_lock_that_says_nothing_serves_everybody() -> None:
    assert served_by(None, None) == interpreters()
