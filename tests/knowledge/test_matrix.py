"""The compatibility matrix: every expectation stands in the data files beside this one, not in code."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.knowledge.gpus import capability_of
from envdoctor.knowledge.solver import Machine, best_build, fits
from envdoctor.knowledge.torch_builds import Build, published_builds

HERE = Path(__file__).parent
LETTERS = {"driver": "D", "gpu-driver": "G", "kernels": "K", "python": "P", "libc": "L", "platform": "S"}


def build_named(name: str, machine: str = "x86_64") -> Build:
    found = [build for build in published_builds(machine=machine) if build.name == name]
    assert len(found) == 1, f"{name} is not published"
    return found[0]


def verdict(build: Build, machine: Machine) -> str:
    found = {LETTERS[obstacle.what] for obstacle in fits(build, machine).obstacles}
    return "".join(sorted(found, key="DGKPLS".index)) or "."


def devices(names: str) -> tuple[str, ...]:
    found = [capability_of(name) for name in names.split(" + ")]
    assert None not in found, names
    return tuple(each for each in found if each)


def lines(name: str) -> Iterator[list[str]]:
    for line in (HERE / name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split()


def driver_rows() -> Iterator[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    gpu, drivers = "", ()
    for first, *rest in lines("matrix.txt"):
        if first == "gpu":
            gpu = " ".join(rest)
        elif first == "driver":
            drivers = tuple(rest)
        else:
            yield gpu, first, drivers, tuple(rest)


@pytest.mark.parametrize(
    ("gpu", "build", "drivers", "expected"),
    [pytest.param(*row, id=f"{row[0]}, {row[1]}") for row in driver_rows()],
)
def test_drivers(gpu: str, build: str, drivers: tuple[str, ...], expected: tuple[str, ...]) -> None:
    got = {
        driver: verdict(
            build_named(build),
            Machine(driver=driver, capabilities=devices(gpu), python="3.12.3", libc="glibc 2.35"),
        )
        for driver in drivers
    }
    assert got == dict(zip(drivers, expected, strict=True))


def python_rows() -> Iterator[tuple[str, dict[str, str]]]:
    (_, *pythons), *rows = lines("pythons.txt")
    for build, *cells in rows:
        yield build, dict(zip(pythons, cells, strict=True))


@pytest.mark.parametrize(("build", "expected"), list(python_rows()), ids=lambda value: str(value)[:12])
def test_pythons(build: str, expected: dict[str, str]) -> None:
    got = {
        python: verdict(
            build_named(build),
            Machine(driver="580.65.06", capabilities=("7.5",), python=python, libc="glibc 2.35"),
        )
        for python in expected
    }
    assert got == expected


def best_rows() -> list[dict[str, str]]:
    text = [line for line in (HERE / "best.csv").read_text("utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(text))


@pytest.mark.parametrize("row", best_rows(), ids=lambda row: f"{row['gpus']}, {row['driver']}, py{row['python']}")
def test_best(row: dict[str, str]) -> None:
    machine = Machine(
        driver=row["driver"] or None,
        driver_cuda=row["driver_cuda"] or None,
        capabilities=devices(row["gpus"]),
        python=row["python"],
        platform=row["platform"],
        libc=row["libc"] or None,
    )
    best = best_build(machine)
    expected, _, why = row["expected"].partition(": ")
    assert (best.build.name if best.build else "none") == expected, best.reason
    assert why in best.reason
    if best.build:
        assert fits(best.build, machine).ok


def test_the_matrix_is_large_enough() -> None:
    cells = sum(len(row[3]) for row in driver_rows()) + sum(len(row[1]) for row in python_rows())
    assert cells + len(best_rows()) >= 400
