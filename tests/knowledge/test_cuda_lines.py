"""CUDA lines, drivers and generations: the numbers, and how half-known versions compare."""

from __future__ import annotations

import pytest

from envdoctor.knowledge.cuda_lines import driver_runs, from_code, lines, minimum_driver, newest_cuda
from envdoctor.knowledge.generations import driver_knows, generations
from envdoctor.knowledge.numbers import line, numbers, reaches


@pytest.mark.parametrize(
    ("cuda", "linux", "windows"),
    [
        ("13.2", "580", "580"),
        ("12.9", "525.60.13", "528.33"),
        ("12.0", "525.60.13", "528.33"),
        ("11.8", "450.80.02", "452.39"),
        ("11.0", "450.36.06", "451.22"),
        ("10.2", "440.33", "441.22"),
        ("10.1.243", "418.39", "418.96"),
        ("10.0", "410.48", "411.31"),
        ("9.2", "396.26", "397.44"),
        ("13.9", "580", "580"),  # a minor that no table knows yet: its major's floor
        ("14.0", None, None),
        ("nonsense", None, None),
    ],
)
def test_minimum_driver(cuda: str, linux: str | None, windows: str | None) -> None:
    assert minimum_driver(cuda) == linux
    assert minimum_driver(cuda, windows=True) == windows


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        ("410.48", "10.0"),
        ("470.86", "11.4"),
        ("510.85.02", "11.6"),
        ("525.89.02", "12.0"),
        ("535.183.01", "12.2"),
        ("545.23.08", "12.3"),
        ("550.54.15", "12.4"),
        ("565.57.01", "12.7"),
        ("570.124.06", "12.8"),
        ("580.159.04", "13.0"),
        ("595.45.04", "13.2"),
        ("610.43.02", "13.3"),
        ("535", "12.2"),  # only the branch is known
        ("300.1", None),
        (None, None),
    ],
)
def test_newest_cuda(driver: str | None, expected: str | None) -> None:
    assert newest_cuda(driver) == expected


@pytest.mark.parametrize(
    ("cuda", "driver", "driver_cuda", "expected"),
    [
        ("12.6", "535.183.01", None, True),  # minor-version compatibility
        ("12.4", "550.54.15", "12.4", True),
        ("13.0", "570.124.06", "12.8", False),
        ("11.8", "470.86", "11.4", True),
        ("12.1", "470.86", "11.4", False),
        ("10.2", None, "9.1", False),
        ("10.1", "410.48", None, False),
        ("10.2", "470.42.01", None, True),
        ("13.0", "535.183.01", "13.0", True),  # a forward-compatibility library answers for the driver
        ("12.1", None, None, None),
        ("14.1", "999.1", None, None),
        ("", "535.1", None, None),
        ("12.8", "525", None, True),
    ],
)
def test_driver_runs(cuda: str, driver: str | None, driver_cuda: str | None, expected: bool | None) -> None:
    assert driver_runs(cuda, driver=driver, driver_cuda=driver_cuda) is expected


@pytest.mark.parametrize(("code", "expected"), [(12080, "12.8"), (11040, "11.4"), (9010, "9.1"), (13000, "13.0")])
def test_from_code(code: int, expected: str) -> None:
    assert from_code(code) == expected


@pytest.mark.parametrize(
    ("driver", "capability", "expected"),
    [
        ("580.65.06", "6.0", True),
        ("590.48.01", "6.0", False),
        ("590.48.01", "7.5", True),
        ("470.256.02", "3.7", True),
        ("495.44", "3.7", False),
        ("570.26", "12.0", True),
        ("565.57.01", "12.0", False),
        ("540.4.0", "8.7", True),  # a Jetson's driver is numbered on its own
        ("580.1", "99.0", None),
        (None, "8.0", None),
    ],
)
def test_driver_knows(driver: str | None, capability: str, expected: bool | None) -> None:
    assert driver_knows(driver, capability) is expected


def test_tables_are_in_order() -> None:
    assert [numbers(row.name) for row in lines().values()] == sorted(numbers(row.name) for row in lines().values())
    assert all(reaches(numbers(row.own), numbers(row.runs_from)) for row in lines().values())
    assert all(minimum_driver(found.first_cuda) for found in generations().values())


def test_numbers() -> None:
    assert numbers("2.7.0.dev20250310+cu124") == (2, 7, 0)
    assert (line("12.4.99"), line("12"), line(None)) == ("12.4", None, None)
    assert reaches((535,), (535, 54, 3))
    assert not reaches((525, 60, 11), (525, 60, 13))
