"""Comparing machines: the odd one out, and no opinion where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envdoctor.facts import Distribution, Driver, Facts, Gpu, Gpus, Interpreter, Packages, Unavailable
from envdoctor.fleet import compare


def machine(torch: str = "2.11.0", driver: str = "580.10", watts: float = 700.0) -> Facts:
    return Facts(
        interpreter=Interpreter(version="3.12.3"),
        packages=Packages(distributions=(Distribution(name="torch", version=torch),)),
        driver=Driver(kernel_module=driver),
        gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA H100", power_limit=watts),)),
    )


def test_alike_machines_have_no_differences() -> None:
    comparison = compare({"a": machine(), "b": machine(), "c": machine()})
    assert comparison.oddities == ()
    assert comparison.odd_one_out is None


def test_the_odd_one_out_is_named_with_what_is_odd() -> None:
    comparison = compare({"a": machine(), "b": machine(watts=500.0, driver="570.1"), "c": machine()})
    assert comparison.odd_one_out == "b"
    assert {o.subject: (o.usual, dict(o.odd)) for o in comparison.oddities} == {
        "driver": ("580.10", {"b": "570.1"}),
        "lowest power limit": ("700 W", {"b": "500 W"}),
    }


def test_nobody_is_odd_where_two_differ_equally() -> None:
    comparison = compare({"a": machine(driver="570.1"), "b": machine(torch="2.10.0"), "c": machine(), "d": machine()})
    assert comparison.odd_one_out is None


def test_a_missing_package_counts_and_a_missing_section_does_not() -> None:
    without = replace(machine(), packages=Packages())
    unknown = replace(machine(), packages=Unavailable(reason="not read"))
    comparison = compare({"a": machine(), "b": machine(), "c": without})
    assert [(o.subject, dict(o.odd)) for o in comparison.oddities] == [("package torch", {"c": "missing"})]
    assert compare({"a": machine(), "b": unknown}).oddities == ()


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")])
def test_the_order_of_machines_does_not_matter(order: tuple[str, ...]) -> None:
    machines = {"a": machine(), "b": machine(watts=500.0), "c": machine()}
    assert compare({name: machines[name] for name in order}) == compare(machines)
