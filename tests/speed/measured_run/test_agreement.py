"""What ran, held against the lock and the flags."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from envdoctor.locks.stack import Locked
from envdoctor.locks.target import StackChoice, Target
from envdoctor.speed.measured_run.advice import diagnose_run, run_json
from envdoctor.speed.measured_run.agreement import agreement, as_json, sentences
from tests.speed.measured_run.records import record

PINS = tuple(
    Locked(name=name, version=version, wheel="", sha256="")
    for name, version in (("torch", "2.13.0"), ("transformers", "5.23.0"), ("flash-attn", "2.8.3"))
)


def target(**changes: Any) -> Target:
    choice = StackChoice(stack="cu130", reason="", pins=PINS, cuda="13.0")
    return replace(
        Target(name="h100", title="H100", flags={"float32-matmul-precision": "high"}, choice=choice), **changes
    )


RAN = {"python": "3.11.7", "torch": "2.13.0+cu130", "transformers": "5.23.0"}


def test_what_ran_is_held_against_lock_and_flags() -> None:
    fast = {"float32-matmul-precision": "high", "cudnn-benchmark": False}
    same = agreement([record(versions=RAN, flags=fast)], target())
    assert same.different == ()
    assert sentences(same) == (
        "ran with torch 2.13.0+cu130, transformers 5.23.0; what it imported of stack cu130 (2) is as locked, "
        "flags as target h100",
    )
    slow = {**fast, "float32-matmul-precision": "highest"}
    ranks = [record(versions=RAN, flags=fast), record(versions={**RAN, "transformers": "4.41.2"}, flags=slow)]
    found = agreement(ranks, target())
    assert [line.name for line in found.different] == ["transformers", "float32-matmul-precision"]
    assert sentences(found)[1:] == (
        "  transformers 4.41.2, the lock has 5.23.0",
        "  float32-matmul-precision highest, the target sets high",
    )
    rows = {row["name"]: row for row in as_json(found)["packages"]}
    assert rows["transformers"] == {"name": "transformers", "ran": "4.41.2", "wanted": "5.23.0", "differs": True}
    assert rows["python"]["wanted"] is None
    json.dumps(run_json(diagnose_run(ranks, None, found)), allow_nan=False)


def test_another_build_of_torch_is_not_the_locked_one() -> None:
    assert agreement([record(versions={"torch": "2.13.0+cu126"})], target()).different
    assert agreement([record(versions={"torch": "2.13.0+cpu"})], target()).different


def test_without_a_lock_the_report_says_why() -> None:
    found = agreement([record(versions=RAN)], target(choice=None, no_choice="no stack for Python 3.13"))
    assert found.different == ()
    assert "compared with no lock: no stack for Python 3.13" in sentences(found)[0]
