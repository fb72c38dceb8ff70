"""The shipped table of work against the trainer's own model code, counted again."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path

import pytest

from envdoctor.knowledge.work import Work, work_of, workloads
from trainer.compute.flops import work_of as by_formula
from trainer.data.counts import Counts
from trainer.data.workloads import WORKLOADS, find

GPU_WORKLOADS = ("chat-135m", "chat-1b")


def counted(workload: str, precision: str) -> Work:
    found = work_of(workload, precision)
    assert found is not None, f"{workload} in {precision} is not in the table: python -m tests.benchmarks.work"
    return found


def test_every_bundled_workload_was_counted_in_every_format() -> None:
    assert set(workloads()) == set(WORKLOADS)
    for workload in WORKLOADS:
        for precision in ("bfloat16", "float16", "float32"):
            assert counted(workload, precision).products


@pytest.mark.parametrize("workload", GPU_WORKLOADS)
def test_a_workload_for_gpus_has_rows_that_keep_one_busy(workload: str) -> None:
    """Rows of 2,048 tokens of a small model would time the host's Python (reference: an H100 waits from there on)."""
    assert find(workload).settings["tokens_per_row"] >= 8192


@pytest.mark.parametrize(("workload", "precision"), [("chat-5m", "float32"), ("chat-30m", "bfloat16")])
def test_the_table_is_what_the_trainers_code_asks_for_today(workload: str, precision: str, tmp_path: Path) -> None:
    from tests.benchmarks.work.steps import count

    again = count(workload, precision, tmp_path)
    shipped = counted(workload, precision)
    for name in ("tokens", "trained", "squares", "attention", "bytes", "optimizer_bytes", "launches", "parameters"):
        now, table = float(getattr(again, name)), float(getattr(shipped, name))
        assert math.isclose(now, table, rel_tol=0.01), f"{name}: {now:g} now, {table:g} in the table; count it again"
    assert dict(shipped.products) == pytest.approx(again.products, rel=0.01)


@pytest.mark.parametrize("workload", list(WORKLOADS))
def test_products_and_attention_are_those_of_the_trainers_formula(workload: str) -> None:
    """The formula is what MFU is told by; attention's backward pass has five products for two."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    values = dict(find(workload).config)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(values.pop("model_type"), **values))
    work = counted(workload, "bfloat16")
    formula = by_formula(model)
    expected = formula.of(Counts(trained=round(work.trained), real=round(work.tokens), squares=0))
    assert math.isclose(sum(work.products.values()), expected, rel_tol=0.01)
    assert math.isclose(work.attention, formula.per_square * work.squares * 7 / 6, rel_tol=0.01)


def test_a_changed_model_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.benchmarks.work.steps import count

    small = find("chat-5m")
    wider = replace(small, config={**small.config, "intermediate_size": 768})
    monkeypatch.setitem(WORKLOADS, "chat-5m", wider)
    again = count("chat-5m", "float32", tmp_path)
    shipped = counted("chat-5m", "float32")
    assert not math.isclose(sum(again.products.values()), sum(shipped.products.values()), rel_tol=0.01)
    assert {field.name for field in fields(again)} <= {field.name for field in fields(Work)}
