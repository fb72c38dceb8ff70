"""Comparing machines: the odd one out, and no opinion where there is none."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from envdoctor.facts import fleet as module
from envdoctor.facts.fleet import NAMES, Fleet, FleetComparison, compare
from envdoctor.facts.model import Distribution, Driver, Facts, Gpu, Gpus, Interpreter, Packages, Unavailable


def machine(torch: str = "2.11.0", driver: str = "580.10", watts: float = 700.0) -> Facts:
    return Facts(
        interpreter=Interpreter(version="3.12.3"),
        packages=Packages(distributions=(Distribution(name="torch", version=torch),)),
        driver=Driver(kernel_module=driver),
        gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA H100", power_limit=watts),)),
    )


def odd(comparison: FleetComparison) -> dict[str, tuple[str, dict[str, tuple[str, ...]]]]:
    return {o.subject: (o.usual, {value: some.names for value, some in o.odd.items()}) for o in comparison.oddities}


def test_alike_machines_have_no_differences() -> None:
    comparison = compare({"a": machine(), "b": machine(), "c": machine()})
    assert comparison.alike
    assert comparison.odd_one_out is None
    assert [(group.count, group.names) for group in comparison.groups] == [(3, ("a", "b", "c"))]


def test_the_odd_one_out_is_named_with_what_is_odd() -> None:
    comparison = compare({"a": machine(), "b": machine(watts=500.0, driver="570.1"), "c": machine()})
    assert comparison.odd_one_out == "b"
    assert odd(comparison) == {
        "driver": ("580.10", {"570.1": ("b",)}),
        "lowest power limit": ("700 W", {"500 W": ("b",)}),
    }
    assert [group.names for group in comparison.groups] == [("a", "c"), ("b",)]


def test_nobody_is_odd_where_two_differ_equally() -> None:
    comparison = compare({"a": machine(driver="570.1"), "b": machine(torch="2.10.0"), "c": machine(), "d": machine()})
    assert comparison.odd_one_out is None


def test_a_missing_package_counts_and_a_missing_section_does_not() -> None:
    without = replace(machine(), packages=Packages())
    unknown = replace(machine(), packages=Unavailable(reason="not read"))
    comparison = compare({"a": machine(), "b": machine(), "c": without})
    assert odd(comparison) == {"package torch": ("2.11.0", {"missing": ("c",)})}
    assert compare({"a": machine(), "b": unknown}).oddities == ()


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")])
def test_the_order_of_machines_does_not_matter(order: tuple[str, ...]) -> None:
    machines = {"a": machine(), "b": machine(watts=500.0), "c": machine()}
    assert compare({name: machines[name] for name in order}) == compare(machines)


def test_of_many_machines_the_first_names_and_the_number_are_told() -> None:
    names = [f"n{number:04}" for number in range(300)]
    random.Random(1).shuffle(names)
    comparison = compare({name: machine(driver="570.1" if name < "n0100" else "580.10") for name in names})
    (oddity,) = comparison.oddities
    assert (oddity.usual, oddity.shared) == ("580.10", 200)
    assert oddity.odd["570.1"].count == 100
    assert oddity.odd["570.1"].names == tuple(f"n{number:04}" for number in range(NAMES))


def test_folding_changes_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines that all differ are folded again and again; what is said is the same as when all are kept."""
    machines = {f"n{n:03}": machine(torch=f"2.{n % 7}.0", driver=f"5{n % 50}", watts=500 + n) for n in range(120)}
    machines["lone"] = replace(machine(), packages=Packages())
    kept = compare(machines)
    monkeypatch.setattr(module, "ALIKE", 10)
    folded = compare(machines)
    assert [(o.subject, o.usual, o.shared) for o in folded.oddities] == [
        (o.subject, o.usual, o.shared) for o in kept.oddities
    ]
    counts = [{value: some.count for value, some in o.odd.items()} for o in folded.oddities]
    assert counts == [{value: some.count for value, some in o.odd.items()} for o in kept.oddities]


def test_what_is_kept_is_bounded_by_the_differences() -> None:
    """Ten times the machines with the same differences: nothing more is kept, but eight bytes for each speed."""

    def kept(number: int) -> int:
        fleet = Fleet()
        document = {"facts": {"interpreter": {"version": "3.12"}, "packages": {"distributions": []}}}
        for n in range(number):
            document["facts"]["interpreter"]["version"] = f"3.{n % 5}"
            fleet.add(f"n{n}", document)
        return sum(len(counted.names) for counted in fleet._groups.values()) + len(fleet._others._alike)

    assert kept(10_000) == kept(1_000)


def verdict(rate: float, probe: float = 900.0) -> dict[str, Any]:
    return {
        "schema": 1,
        "verdict": "as-expected",
        "workload": "chat-30m",
        "steps_per_second": rate,
        "reference_probes": {"before": {"matmul_bf16_tflops": probe}, "after": {"matmul_bf16_tflops": probe - 50}},
        "conditions": {"device": {"name": "NVIDIA H100"}},
    }


def test_a_slow_machine_is_named_with_its_speed() -> None:
    fleet = Fleet()
    for number in range(20):
        fleet.add(f"n{number:02}", verdict(10 + number % 3 * 0.05, probe=800 if number != 4 else 400))
    fleet.add("sick", {"check": {}, "change": None, "speed": verdict(6.0)})  # as preflight writes it
    comparison = fleet.compared()
    slow = {speed.subject: dict(speed.slow) for speed in comparison.speeds}
    assert slow == {
        "chat-30m on NVIDIA H100, steps/s": {"sick": 6.0},
        "matmul_bf16_tflops on NVIDIA H100": {"n04": 400.0},
    }
    assert not comparison.alike


def test_a_spread_that_all_machines_have_makes_nobody_slow() -> None:
    fleet = Fleet()
    source = random.Random(7)
    for number in range(1000):
        fleet.add(f"n{number}", verdict(source.gauss(10, 0.4)))
    assert fleet.compared().alike


def test_two_machines_are_too_few_to_call_one_slow() -> None:
    fleet = Fleet()
    fleet.add("a", verdict(10))
    fleet.add("b", verdict(3))
    assert fleet.compared().alike


@pytest.mark.parametrize(
    "facts",
    [
        {"packages": 3, "gpus": [], "host": "x", "variables": None, "torch": {"flags": 7}},
        {"packages": {"distributions": [1, {"name": 3}, {"version": "1"}]}, "gpus": {"devices": [None, {}]}},
        {"packages": {"distributions": {}}, "driver": {"kernel_module": ["x"]}, "interpreter": {"version": {}}},
        {"gpus": {"devices": [{"power_limit": "700", "pcie_width": True, "ecc_mode": "yes"}], "count": None}},
    ],
)
def test_a_report_that_is_odd_in_itself_is_taken_as_far_as_it_goes(facts: dict[str, Any]) -> None:
    fleet = Fleet()
    fleet.add("a", {"facts": facts})
    fleet.add("b", {"facts": {}, "speed": {"steps_per_second": "fast", "reference_probes": {"x": [1]}}})
    assert fleet.compared().machines == 2
