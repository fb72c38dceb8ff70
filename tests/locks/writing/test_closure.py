from __future__ import annotations

import pytest

from envdoctor.facts.model import Interpreter
from envdoctor.locks.platforms import interpreter, interpreters, place
from envdoctor.locks.writing.closure import connect, parse, requires_in
from envdoctor.locks.writing.trim import Resolved, Wheel

TWO = (interpreter("3.10", "x86_64"), interpreter("3.12", "x86_64"))


def package(name: str, *requires: str, version: str = "1.0", served: tuple[Interpreter, ...] = TWO) -> Resolved:
    file = Wheel(name=f"{name}-{version}-py3-none-any.whl", address="", sha256="a" * 64, size=1)
    places = frozenset(place(one) for one in served)
    return Resolved(name=name, version=version, places=places, wheels=(file,), requires=requires)


def edges(packages: list[Resolved], *roots: str) -> dict[str, tuple[str, ...]]:
    connected, problems = connect(packages, roots, TWO)
    assert problems == []
    return {one.name: one.dependencies for one in connected}


def problems(packages: list[Resolved], *roots: str) -> list[str]:
    return connect(packages, roots, TWO)[1]


def test_edges_follow_requires_dist() -> None:
    found = edges([package("alpha", "beta>=1", "gamma ; python_version < '3'"), package("beta")], "alpha")
    assert found == {"alpha": ("beta",), "beta": ()}


def test_names_are_normalised() -> None:
    assert edges([package("alpha", "Beta.Two"), package("beta-two")], "Alpha")["alpha"] == ("beta-two",)


def test_extras_travel_along_the_edges() -> None:
    toolkit = package("cuda-toolkit", "cublas ; extra == 'cublas'", "nvtx ; extra == 'nvtx'")
    torch = package("torch", "cuda-toolkit[cublas]")
    assert edges([torch, toolkit, package("cublas")], "torch")["cuda-toolkit"] == ("cublas",)


def test_an_extra_of_itself_is_no_edge() -> None:
    whole = package("alpha", "alpha[one] ; extra == 'all'", "beta ; extra == 'one'")
    assert edges([whole, package("beta")], "alpha[all]")["alpha"] == ("beta",)


def test_circles_end() -> None:
    assert edges([package("alpha", "beta"), package("beta", "alpha")], "alpha") == {
        "alpha": ("beta",),
        "beta": ("alpha",),
    }


def test_what_is_missing_is_said_with_the_place() -> None:
    assert problems([package("alpha", "tomli ; python_version < '3.11'")], "alpha") == [
        'alpha needs tomli; python_version < "3.11" on Python 3.10 x86_64, and the lock holds none'
    ]


def test_a_package_that_is_active_elsewhere_only_is_missing() -> None:
    only_new = package("beta", served=(TWO[1],))
    assert problems([package("alpha", "beta"), only_new], "alpha") == [
        "alpha needs beta on Python 3.10 x86_64, and the lock holds none"
    ]


@pytest.mark.parametrize(
    ("wish", "version", "fits"),
    [("beta>=2", "1.0", False), ("beta==1.*", "1.5", True), ("beta", "1.0rc1", True), ("beta<2", "2.0+cu128", False)],
)
def test_versions_must_fit(wish: str, version: str, fits: bool) -> None:
    said = problems([package("alpha", wish), package("beta", version=version)], "alpha")
    assert (said == []) is fits


def test_roots_are_requirements_too() -> None:
    assert problems([package("alpha")], "beta") == [
        "the requirements need beta on Python 3.10 x86_64, and the lock holds none",
        "the requirements need beta on Python 3.12 x86_64, and the lock holds none",
    ]


def test_without_roots_every_package_is_one() -> None:
    assert problems([package("alpha"), package("beta", "gamma", served=(TWO[0],))]) == [
        "beta needs gamma on Python 3.10 x86_64, and the lock holds none"
    ]


def test_lines_that_no_installer_reads_are_passed_over() -> None:
    assert [str(one) for one in parse(["good>=1", "bad (>=1.*", "-x"])] == ["good>=1"]


def test_requires_in_reads_headers_only() -> None:
    text = "Metadata-Version: 2.1\nName: a\nRequires-Dist: b>=1\nRequires-Dist: c\n\nRequires-Dist: not this\n"
    assert requires_in(text) == ("b>=1", "c")


def test_every_interpreter_is_walked() -> None:
    assert edges([package("alpha", "beta", served=interpreters()), package("beta", served=interpreters())], "alpha")
