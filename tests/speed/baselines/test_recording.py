from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomllib
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.facts.model import Driver, Facts, Gpu, Gpus
from envdoctor.locks.target import Baseline, load
from envdoctor.speed.baselines.baseline_file import as_toml, replace_tables
from envdoctor.speed.baselines.recording import record, write
from envdoctor.speed.report import Report, Warmup
from envdoctor.speed.verdict import judge
from tests.speed.making import baseline, cpu_report, report, target, windows

FILE = """\
# What this GPU is, in a person's own words.
schema = 1
title = "NVIDIA H100"          # SXM
gpu = { names = ["H100"], capability = "9.0" }
stacks = ["cu130", "cu128"]

[flags]
# measured, not believed
float32-matmul-precision = "high"

# the old one, to be replaced
[[baseline]]
workload = "chat-135m"
stack = "cu130"
evidence = "claimed"
steps_per_second = 3.5
[baseline.conditions]
date = "2026-01-01"

# keep me
[[baseline]]
workload = "chat-30m"
stack = "cu130"
evidence = "claimed"
steps_per_second = 9.0

# after the baselines
[env]
PYTORCH_ALLOC_CONF = "expandable_segments:True"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "h100.toml"
    found.write_text(FILE)
    return found


def test_recorded_runs_are_judged_as_expected_by_their_own_baseline() -> None:
    reports = [report(10.0 + 0.02 * n) for n in range(5)]
    made = record(reports, target(), "cu130", date="2026-11-01", command="envdoctor baseline record")
    assert made.evidence == "measured"
    assert made.lock == "c" * 64
    assert len(made.windows) == 5
    assert all(len(row) == 20 for row in made.windows)
    assert made.probes[0]["copy_gbs"] == 2500.0
    assert made.conditions["tokens_per_step"] == 1000.0
    assert made.conditions["versions"] == {"torch": "2.13.0+cu130", "transformers": "5.23.0", "python": "3.11.7"}
    assert "learning_rate" not in made.conditions["settings"]
    assert judge([report(10.03)], made, target=target()).word == "as-expected"
    assert judge([report(9.0)], made, target=target()).word == "slower"


def test_the_state_of_the_gpu_travels_with_the_baseline() -> None:
    gpu = Gpu(index=0, name="NVIDIA H100 80GB HBM3", identity="abc", power_limit=700.0, power_default=700.0)
    facts = Facts(gpus=Gpus(devices=(gpu,)), driver=Driver(kernel_module="580.1"))
    made = record([report()] * 3, target(), "cu130", facts=facts)
    assert made.conditions["power_limit"] == 700.0
    assert made.conditions["driver"] == "580.1"
    assert made.conditions["identity"] == "abc"


BAD: list[tuple[str, list[Report], str]] = [
    ("two runs", [report()] * 2, "2 processes"),
    ("different workloads", [report(), report(), report(workload="chat-30m")], "workload chat-135m and chat-30m"),
    ("different torch", [report(), report(), report(versions={"torch": "2.4"})], "torch 2.13.0"),
    ("different settings", [report(), report(), report(settings={"precision": "float32"})], "settings"),
    ("a failed run", [report(), report(), report(error={"message": "out of memory"}, windows=())], "out of memory"),
    ("never steady", [report()] * 2 + [report(warmup=Warmup(steady=False, reason="drift"))], "never became steady"),
    ("disturbed", [report()] * 2 + [report(windows=windows(9.0, spread=0.3))], "varies by"),
    ("impossible", [report(100.0)] * 3, "impossible"),
]


@pytest.mark.parametrize(("reports", "said"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_may_not_become_a_baseline(reports: list[Report], said: str) -> None:
    with pytest.raises(Trouble, match=said):
        record(reports, target(), "cu130")


def test_writing_replaces_the_same_workload_and_stack_and_nothing_else(path: Path) -> None:
    made = record([report(10.0 + 0.01 * n) for n in range(3)], target(), "cu130", command="a command")
    write(made, path)
    after = load(path)
    assert [b.workload for b in after.baselines] == ["chat-30m", "chat-135m"]
    assert after.baselines[1] == made
    text = path.read_text()
    for line in FILE.splitlines():
        if "the old one" not in line and "2026-01-01" not in line and "3.5" not in line and 'chat-135m"' not in line:
            assert line in text, line
    write(made, path)
    assert path.read_text() == text, "writing the same again changes nothing"


def test_other_stacks_of_the_same_workload_stay(path: Path) -> None:
    made = record([report()] * 3, target(), "cu128")
    write(made, path)
    assert [(b.workload, b.stack) for b in load(path).baselines] == [
        ("chat-135m", "cu130"),
        ("chat-30m", "cu130"),
        ("chat-135m", "cu128"),
    ]


def test_processors_with_and_without_units_for_bfloat16_have_a_baseline_each(path: Path) -> None:
    """What a run chose decides which one judges it; a run in a third format gets the first, and its settings differ."""
    for precision in ("float32", "bfloat16", "float32"):
        settings = {"precision": precision, "attention": "documents"}
        write(record([cpu_report(settings=settings)] * 3, target(), "cu130"), path)
    found = load(path)
    assert [b.conditions["precision"] for b in found.baselines if b.workload == "chat-5m"] == ["bfloat16", "float32"]
    chosen = [found.baseline("chat-5m", "cu130", asked) for asked in ("bfloat16", "float32", "float16", None)]
    assert [b.conditions["precision"] for b in chosen if b] == ["bfloat16", "float32", "bfloat16", "bfloat16"]


def test_the_windows_are_rows_of_four_digits(path: Path) -> None:
    write(record([report(10.123456)] * 3, target(), "cu130"), path)
    rows = [line for line in path.read_text().splitlines() if line.startswith("    [")]
    assert len(rows) == 3
    assert rows[0].startswith("    [10.14, 10.1, ")


def test_a_file_that_would_change_elsewhere_is_left_alone(path: Path) -> None:
    # A text that looks like a table header cannot be told from one without a full parser that keeps comments.
    table = '[[baseline]]\nworkload = "chat-135m"\nstack = "cu130"\nevidence = "claimed"\n'
    path.write_text(f'schema = 1\ntitle = """\n[[baseline]]\nx"""\n{table}')
    before = path.read_text()
    with pytest.raises(Trouble, match="without changing other lines"):
        write(record([report()] * 3, target(), "cu130"), path)
    assert path.read_text() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_broken_target_file_is_named(path: Path) -> None:
    path.write_text("schema = [")
    with pytest.raises(Trouble, match="not valid TOML"):
        write(baseline(), path)


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
numbers = st.floats(1e-3, 1e12).map(lambda x: float(f"{x:.4g}"))
values: st.SearchStrategy[Any] = st.recursive(
    texts | st.booleans() | st.integers(-(2**53), 2**53) | numbers,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.lists(st.lists(numbers, min_size=1, max_size=5), min_size=1, max_size=4), st.dictionaries(texts, values), texts
)
def test_whatever_is_recorded_reads_back(rows: list[list[float]], conditions: dict[str, Any], source: str) -> None:
    made = replace(baseline(), windows=tuple(map(tuple, rows)), probes=(), conditions=conditions, source=source)
    (table,) = tomllib.loads(as_toml(made))["baseline"]
    assert table["windows"] == rows
    assert table.get("conditions", {}) == conditions
    assert table.get("source", "") == source


def test_a_new_table_goes_to_the_end_after_one_blank_line() -> None:
    made = Baseline(workload="w", stack="s", evidence="claimed", steps_per_second=1.0)
    assert replace_tables("schema = 1\n\n\n", made, []) == (
        'schema = 1\n\n[[baseline]]\nworkload = "w"\nstack = "s"\nevidence = "claimed"\nsteps_per_second = 1.0\n'
    )


def test_a_cpu_baseline_names_model_and_cores() -> None:
    made = record([cpu_report()] * 3, target(), "cpu")
    assert made.gpu == "Intel(R) Xeon(R) Processor @ 2.50GHz, 2 cores"
    assert judge([cpu_report()], made).word == "as-expected"
