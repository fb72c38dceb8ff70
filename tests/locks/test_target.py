from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.locks.target import Baseline, StackChoice, Target, load, no_target

WHOLE = """
schema = 1
title = "NVIDIA H100"
stacks = ["cu130", "cu128"]

[gpu]
names = ["NVIDIA H100 80GB HBM3"]
capability = "9.0"

[conditions]
power_limit = 700

[flags]
float32-matmul-precision = "high"
sdp = ["cudnn", "flash"]
cudnn-benchmark = true
threads = 8

[env]
PYTORCH_ALLOC_CONF = "expandable_segments:True"

[sources]
sdp = "a measurement"

[[baseline]]
workload = "chat-135m"
stack = "cu130"
lock = "abc"
gpu = "NVIDIA H100 80GB HBM3"
evidence = "measured"
windows = [[3.5, 3.6], [3.4]]
probes = [{ matmul = 700.0 }]
conditions = { driver = "580.65" }
source = "envdoctor baseline record"

[[baseline]]
workload = "chat-30m"
stack = "cu130"
evidence = "claimed"
steps_per_second = 5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "h100.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_whole_file(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    assert load(path) == Target(
        name="h100",
        title="NVIDIA H100",
        gpu_names=("NVIDIA H100 80GB HBM3",),
        capability="9.0",
        stacks=("cu130", "cu128"),
        flags={
            "float32-matmul-precision": "high",
            "sdp": "cudnn,flash",
            "cudnn-benchmark": "true",
            "threads": "8",
        },
        variables={"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
        sources={"sdp": "a measurement"},
        conditions={"power_limit": 700},
        baselines=(
            Baseline(
                workload="chat-135m",
                stack="cu130",
                lock="abc",
                gpu="NVIDIA H100 80GB HBM3",
                evidence="measured",
                windows=((3.5, 3.6), (3.4,)),
                probes=({"matmul": 700.0},),
                conditions={"driver": "580.65"},
                source="envdoctor baseline record",
            ),
            Baseline(workload="chat-30m", stack="cu130", evidence="claimed", steps_per_second=5.0),
        ),
        path=path,
    )


def test_the_smallest_file_is_a_cpu(tmp_path: Path) -> None:
    found = load(written(tmp_path, 'schema = 1\ntitle = "CPU"\n'))
    assert (found.is_cpu, found.stacks, found.baselines) == (True, (), ())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("schema = 1", "schema = 2", "expected schema = 1, found 2"),
        ("schema = 1", "", "expected schema = 1, found None"),
        ('title = "NVIDIA H100"', "", "missing"),
        ('title = "NVIDIA H100"', "title = 1", "expected printable text"),
        ('title = "NVIDIA H100"', 'title = "\\u001b[31m"', "expected printable text"),
        ('stacks = ["cu130", "cu128"]', 'stacks = "cu130"', "expected a list of texts"),
        ('stacks = ["cu130", "cu128"]', "stacks = [130]", "expected a list of texts"),
        ('stacks = ["cu130", "cu128"]', 'stacks = ["../cu130"]', "is not the name of a stack"),
        ('capability = "9.0"', "capability = 9.0", 'expected text like "9.0"'),
        ('capability = "9.0"', 'capability = "sm_90"', 'expected text like "9.0"'),
        ('capability = "9.0"', 'colour = "green"', "unknown key; known are names, capability"),
        ("[flags]", "[flogs]", "unknown key; known are baseline"),
        ("threads = 8", "threads = [8]", "expected text, a number, true, false or a list of texts"),
        ("threads = 8", "threads = 2024-01-01", "expected text, a number"),
        ('sdp = "a measurement"', "sdp = 1", "expected printable text"),
        ('workload = "chat-135m"', "", "missing"),
        ('evidence = "measured"', 'evidence = "believed"', "expected measured, derived or claimed"),
        ('evidence = "measured"', "", "expected measured, derived or claimed, found None"),
        ("windows = [[3.5, 3.6], [3.4]]", "", "a measured baseline needs its windows"),
        ("windows = [[3.5, 3.6], [3.4]]", "windows = []", "a measured baseline needs its windows"),
        ("windows = [[3.5, 3.6], [3.4]]", "windows = [[]]", "expected one list of numbers per process"),
        ("windows = [[3.5, 3.6], [3.4]]", "windows = [3.5]", "expected one list of numbers per process"),
        ("windows = [[3.5, 3.6], [3.4]]", "windows = [[3.5, 0]]", "expected positive numbers"),
        (
            "windows = [[3.5, 3.6], [3.4]]",
            "windows = [[3.5]]\npaces = [[1.0, 2.0]]",
            "one number for each of the windows",
        ),
        (
            "windows = [[3.5, 3.6], [3.4]]",
            "windows = [[3.5]]\npaces = [1.0]",
            "expected one list of numbers per process",
        ),
        ("windows = [[3.5, 3.6], [3.4]]", "windows = [[nan]]", "expected positive numbers"),
        ("windows = [[3.5, 3.6], [3.4]]", "windows = [[inf]]", "expected positive numbers"),
        ("windows = [[3.5, 3.6], [3.4]]", "windows = [[true]]", "expected positive numbers"),
        ("steps_per_second = 5", 'steps_per_second = "fast"', "expected a positive number"),
        ("steps_per_second = 5", "steps_per_second = -5", "expected a positive number"),
        ("probes = [{ matmul = 700.0 }]", "probes = 1", "expected [[probes]] tables"),
        ("probes = [{ matmul = 700.0 }]", "probes = [{ matmul = 0 }]", "one table of positive numbers per process"),
        ('conditions = { driver = "580.65" }', "conditions = []", "expected a table"),
        ('lock = "abc"', "lock = 1", "expected printable text"),
        ('lock = "abc"', "colour = 1", "unknown key"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in WHOLE
    path = written(tmp_path, WHOLE.replace(old, new, 1))
    with pytest.raises(Trouble) as caught:
        load(path)
    assert words in caught.value.problem
    assert caught.value.file == str(path)
    assert caught.value.where
    assert caught.value.remedy


@pytest.mark.parametrize("key", ["gpu", "flags", "env", "sources", "conditions"])
def test_a_value_where_a_table_belongs(tmp_path: Path, key: str) -> None:
    with pytest.raises(Trouble, match="expected a table, found 'good'"):
        load(written(tmp_path, f'schema = 1\ntitle = "x"\n{key} = "good"\n'))


def test_a_table_where_rows_belong(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match=r"expected \[\[baseline\]\] tables"):
        load(written(tmp_path, 'schema = 1\ntitle = "x"\n[baseline]\nworkload = "chat"\n'))


MEASURED = Baseline(workload="chat", stack="cu130", evidence="measured", lock="d1", windows=((1.0,),))
CLAIMED = Baseline(workload="chat", stack="cu128", evidence="claimed", steps_per_second=5.0)
TARGET = Target(name="h100", title="H100", stacks=("cu130", "cu128"), baselines=(CLAIMED, MEASURED))


@pytest.mark.parametrize(
    ("choice", "workload", "expected"),
    [
        (None, None, "measured"),  # the first stack of the target speaks for it
        (StackChoice(stack="cu130", reason="", digest="d1"), None, "measured"),
        (StackChoice(stack="cu130", reason="", digest="d2"), None, "derived"),  # another lock than the measured one
        (StackChoice(stack="cu130", reason="", digest="d2", training_digest="d1"), None, "measured"),
        (StackChoice(stack="cu130", reason="", digest="d2", training_digest="d3"), None, "derived"),
        (StackChoice(stack="cu130", reason="", digest=None), None, "derived"),  # its wheels are another system's
        (StackChoice(stack="cu128", reason="", digest="d1"), None, "claimed"),
        (StackChoice(stack="cu126", reason=""), None, "none"),
        (StackChoice(stack="cu130", reason="", digest="d1"), "chat", "measured"),
        (StackChoice(stack="cu130", reason="", digest="d1"), "pretrain", "none"),
    ],
)
def test_evidence(choice: StackChoice | None, workload: str | None, expected: str) -> None:
    assert replace(TARGET, choice=choice).evidence(workload) == expected


def test_the_baseline_of_a_workload() -> None:
    assert TARGET.baseline("chat", "cu130") == MEASURED
    assert TARGET.baseline("chat", "cu126") is None


def test_no_target_asks_for_nothing() -> None:
    found = no_target()
    assert (found.flags, found.variables, found.stacks, found.evidence()) == ({}, {}, (), "none")


leaves = st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=5)
keys = st.sampled_from(
    "schema title gpu names capability stacks flags env sources conditions baseline workload stack evidence windows "
    "lock probes steps_per_second source measured claimed".split()
)
things = st.recursive(
    leaves | st.sampled_from(["measured", "cu130", 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(keys, things, max_size=6))
def test_no_document_raises_anything_else(tmp_path: Path, document: dict[str, Any]) -> None:
    path = tmp_path / "fuzz.toml"
    whole = {"title": "x", **document, "schema": 1}
    path.write_bytes(tomli_w.dumps(whole).encode("utf-8", "replace"))
    found: Target | Trouble
    try:
        found = load(path)
    except Trouble as error:
        found = error
    assert isinstance(found, Target) or (found.problem and found.file == str(path))
