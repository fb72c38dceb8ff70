from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker

from envdoctor.errors import Trouble
from envdoctor.locks.platforms import holds, interpreters, place
from envdoctor.locks.writing import trim

PLACES = [place(one) for one in interpreters()]


def answer(*packages: dict[str, Any]) -> dict[str, Any]:
    return {"packages": list(packages)}


def resolved(name: str, *files: str, marker: str | None = None, version: str = "1.0") -> dict[str, Any]:
    wheels = [{"url": f"https://host.invalid/{file}", "hashes": {"sha256": "a" * 64}} for file in files]
    return {"name": name, "version": version, "wheels": wheels, **({"marker": marker} if marker else {})}


def kept(*files: str, pythons: tuple[str, ...] = ("3.11",), machines: tuple[str, ...] = ("x86_64",)) -> list[str]:
    (package,) = trim.read(answer(resolved("alpha", *files)), interpreters(pythons, machines))
    return [wheel.name for wheel in package.wheels]


@pytest.mark.parametrize(
    ("file", "usable"),
    [
        ("alpha-1.0-py3-none-any.whl", True),
        ("alpha-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", True),
        ("alpha-1.0-cp311-cp311-manylinux1_x86_64.whl", True),
        ("alpha-1.0-cp38-abi3-manylinux2014_x86_64.whl", True),
        ("alpha-1.0-cp311-cp311-linux_x86_64.whl", True),
        ("alpha-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", False),
        ("alpha-1.0-cp312-abi3-manylinux_2_28_x86_64.whl", False),
        ("alpha-1.0-cp311-cp311-manylinux_2_28_aarch64.whl", False),
        ("alpha-1.0-cp311-cp311-musllinux_1_2_x86_64.whl", False),
        ("alpha-1.0-cp311-cp311-win_amd64.whl", False),
        ("alpha-1.0-cp311-cp311-macosx_11_0_arm64.whl", False),
        ("alpha-1.0-cp311-cp311t-manylinux_2_28_x86_64.whl", False),
        ("alpha-1.0-pp311-pypy311_pp73-manylinux_2_28_x86_64.whl", False),
        ("alpha-1.0.linux-x86_64.whl", False),
    ],
)
def test_only_wheels_that_a_served_interpreter_takes(file: str, usable: bool) -> None:
    assert kept(file, "alpha-1.0-py2-none-any.whl") == ([file] if usable else [])


def test_of_several_builds_the_newest() -> None:
    tag = "cp311-cp311-manylinux_2_28_x86_64.whl"
    assert kept(f"alpha-1.0-{tag}", f"alpha-1.0-3-{tag}", f"alpha-1.0-2-{tag}") == [f"alpha-1.0-3-{tag}"]


def test_both_ages_of_the_c_library_are_kept_and_what_nobody_takes_is_not() -> None:
    new, old = "alpha-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", "alpha-1.0-cp311-cp311-manylinux2014_x86_64.whl"
    plain, older = "alpha-1.0-py311-none-any.whl", "alpha-1.0-py3-none-any.whl"
    assert kept(new, old, plain, older) == sorted([new, old, plain])


def test_packages_of_other_platforms_go() -> None:
    windows = resolved("colorama", "colorama-1.0-py3-none-any.whl", marker="sys_platform == 'win32'")
    assert trim.read(answer(windows), interpreters()) == []


def test_an_index_without_sha256_is_refused() -> None:
    bare = {"name": "alpha", "version": "1.0", "wheels": [{"url": "https://host.invalid/alpha-1.0-py3-none-any.whl"}]}
    with pytest.raises(Trouble, match="the index gives no sha256"):
        trim.read(answer(bare), interpreters())


def test_uncovered_names_the_place_and_the_package() -> None:
    served = interpreters(["3.11", "3.12"], ["x86_64"])
    packages = trim.read(answer(resolved("torch", "torch-1.0-cp311-cp311-manylinux_2_28_x86_64.whl")), served)
    assert trim.uncovered_places(packages, served) == {("3.12", "x86_64"): "torch 1.0 has no wheel"}


def test_paths_win_over_addresses_and_lie_beside_the_lock(tmp_path: Path) -> None:
    entry = {"url": "https://host.invalid/alpha-1.0-py3-none-any.whl", "path": "wheels/alpha+1.whl"}
    whole = trim.with_addresses(answer({"name": "alpha", "wheels": [entry]}), tmp_path)
    assert whole["packages"][0]["wheels"][0]["url"] == (tmp_path / "wheels/alpha+1.whl").as_uri()


@given(st.sets(st.sampled_from(PLACES), min_size=1), st.sets(st.sampled_from(PLACES), min_size=1))
def test_markers_are_true_exactly_at_their_places(some: set[tuple[str, str]], more: set[tuple[str, str]]) -> None:
    whole = frozenset(some | more)
    if frozenset(some) == whole:
        return  # no marker is written then
    written = Marker(trim.marker(frozenset(some), whole))
    for one in interpreters():
        if place(one) in whole:
            assert holds(written, one) == (place(one) in some)


@pytest.mark.parametrize(
    ("pythons", "machines", "expected"),
    [
        (["3.10"], ["x86_64", "aarch64"], "python_version < '3.11'"),
        (["3.13", "3.14"], ["x86_64", "aarch64"], "python_version >= '3.13'"),
        (["3.11", "3.12"], ["x86_64", "aarch64"], "python_version >= '3.11' and python_version < '3.13'"),
        (["3.10", "3.11", "3.12", "3.13", "3.14"], ["x86_64"], "platform_machine == 'x86_64'"),
    ],
)
def test_markers_read_well(pythons: list[str], machines: list[str], expected: str) -> None:
    places = frozenset(place(one) for one in interpreters(pythons, machines))
    assert trim.marker(places, frozenset(PLACES)) == expected


def test_the_document_holds_no_address() -> None:
    served = interpreters()
    packages = trim.read(
        answer(
            resolved("numpy", "numpy-1.0-py3-none-any.whl", marker="python_version < '3.12'"),
            resolved("numpy", "numpy-2.0-py3-none-any.whl", marker="python_version >= '3.12'", version="2.0"),
        ),
        served,
    )
    document = trim.document(packages, served)
    assert "://" not in str(document)
    assert [package["marker"] for package in document["packages"]] == [
        "python_version < '3.12'",
        "python_version >= '3.12'",
    ]
    assert document["requires-python"] == ">=3.10,<3.15"
