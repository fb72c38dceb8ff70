"""Each measurement at toy size on the CPU: what it can carry out here, with real runs, and what it makes of figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.benchmarks.gpu import agreement, attention, claims, machine, probes, rivals, runs, trainer_speed
from tests.benchmarks.gpu.session import Session
from trainer.measure.protocol import Protocol

CPU = torch.device("cpu")
QUICK = Protocol(windows=1, window_seconds=0.01, max_warmup_seconds=0.1, max_seconds=1.0)


def session(folder: Path, name: str = "trial", only: tuple[str, ...] = ()) -> Session:
    return Session(name, "toy", CPU, 5.0, folder / "r.json", only)


def test_a_kernel_that_leaks_between_documents_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is of use only if it can fail."""
    from trainer.model import attention as paths

    one = session(tmp_path)
    assert agreement.one_path(one, "documents", (5, 1, 11), 16, True)["agrees"]
    right, chosen = paths._documents, paths.choose

    def leaking(state: Any, query: Any, key: Any, value: Any, scale: float) -> Any:
        state.lengths = (sum(state.lengths),)
        return right(state, query, key, value, scale)

    def choose(wanted: str, device: torch.device, dtype: torch.dtype) -> Any:
        sound, why = chosen(wanted, device, dtype)
        first = not choose.asked  # type: ignore[attr-defined]
        choose.asked = True  # type: ignore[attr-defined]
        return (paths.DocumentAttention("leaking", leaking), why) if first else (sound, why)

    choose.asked = False  # type: ignore[attr-defined]
    monkeypatch.setattr(agreement.attention, "choose", choose)
    assert not agreement.one_path(one, "documents", (5, 1, 11), 16, True)["agrees"]


@pytest.mark.parametrize("kind", ["plain", "chunked"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_both_losses_agree_with_float64(tmp_path: Path, kind: str, dtype: torch.dtype) -> None:
    assert agreement.one_loss(session(tmp_path), kind, dtype)["agrees"]


def test_the_order_of_kernels_is_by_their_time_and_leaves_out_those_that_failed(tmp_path: Path) -> None:
    one = session(tmp_path)
    for kernel, times in {"cudnn": (1.0, 9.0), "flash": (2.0, 2.0), "math": (9.0, 30.0)}.items():
        for width, milliseconds in zip((64, 128), times, strict=True):
            one.rows[f"sdp {kernel} width {width} length 2048"] = {"both_ms": milliseconds}
    one.rows["sdp efficient width 64 length 2048"] = {"both_ms": 0.1}
    one.rows["sdp efficient width 128 length 2048"] = {"error": "no kernel"}
    one.rows["sdp math width 64 length 2048 grouped"] = {"both_ms": 0.01}
    found = attention.order(one)
    assert found["all"] == ["flash", "cudnn", "math"]
    assert found["width 64"] == ["efficient", "cudnn", "flash", "math"]


def test_documents_of_the_row_fill_it_exactly(tmp_path: Path) -> None:
    lengths = attention.document_lengths(session(tmp_path))
    assert sum(lengths) == 200
    assert min(lengths) > 0


@pytest.mark.parametrize("way", ["documents", "dense mask", "padded"])
def test_ways_of_packed_rows_agree(tmp_path: Path, way: str) -> None:
    row = attention.packed(session(tmp_path), way, 16)
    assert row["off"] < 1e-5
    assert row["both_ms"] > 0
    assert row["forward"]["median_ms"] > 0


class Event:
    """One event of a profile, as torch's profiler gives them."""

    def __init__(
        self, name: str, start: int, length: int, kind: str = "kernel", device: str = "DeviceType.CUDA"
    ) -> None:
        self._values = name, start, length, kind, device

    def name(self) -> str:
        return self._values[0]

    def start_ns(self) -> int:
        return self._values[1]

    def duration_ns(self) -> int:
        return self._values[2]

    def activity_type(self) -> str:
        return self._values[3]

    def device_type(self) -> str:
        return self._values[4]


def profile(*events: Event) -> Any:
    from types import SimpleNamespace

    results = SimpleNamespace(events=lambda: list(events))
    return SimpleNamespace(profiler=SimpleNamespace(kineto_results=results))


def test_idle_share_counts_overlapping_kernels_once_and_marks_never() -> None:
    found = runs.busy(
        profile(
            Event("gemm", 0, 100), Event("copy", 50, 100), Event("gemm", 300, 100),
            Event("Optimizer.step", 0, 400, "gpu_user_annotation"),
            Event("aten::mm", 0, 1000, "cpu_op", "DeviceType.CPU"),
        ),
        "cuda",
    )  # fmt: skip
    assert found["idle_share"] == pytest.approx(150 / 400)
    assert found["top"][0]["name"] == "gemm"
    assert found["top"][0]["calls"] == 2


def test_a_profile_without_kernels_has_no_idle_share() -> None:
    assert runs.busy(profile(), "cuda")["idle_share"] is None


@pytest.mark.slow
@pytest.mark.parametrize(("task", "more"), [("sft", {}), ("sft", {"lora_rank": 4}), ("pretrain", {})])
def test_runs_are_timed_profiled_and_put_flags_back(tmp_path: Path, task: str, more: dict[str, Any]) -> None:
    before = torch.get_float32_matmul_precision()
    values = {
        "tokens_per_row": 256, "output": str(tmp_path / "run"), "cache": str(tmp_path / "cache"), "threads": 1,
        "over_long": "skip", **runs.data_for(task, tmp_path, "toy", 256, 20), **more,
    }  # fmt: skip
    with runs.run_of(task, values, "toy", CPU, {"float32-matmul-precision": "high"}) as run:
        assert torch.get_float32_matmul_precision() == "high"
        row = runs.timed(run, QUICK)
        row["profile"] = runs.profiled(run, 1)
    assert torch.get_float32_matmul_precision() == before
    assert row["tokens_per_second"]["trained"] > 0
    assert 0 <= row["profile"]["idle_share"] < 1
    assert row["mfu"] is None, "no peak is known of a CPU"
    assert (row["trained_parameters"] < row["parameters"]) == bool(more)


@pytest.mark.slow
def test_adapters_are_counted_with_four_operations_per_weight(tmp_path: Path) -> None:
    speeds = []
    for rank in (0, 1):
        values = {
            "tokens_per_row": 256, "output": str(tmp_path / "run"), "cache": str(tmp_path / "cache"), "threads": 1,
            "over_long": "skip", "lora_rank": rank, **runs.data_for("sft", tmp_path, "toy", 256, 20),
        }  # fmt: skip
        from trainer.compute import flops

        with runs.run_of("sft", values, "toy", CPU, {}) as run:
            speeds.append(flops.work_of(run.trainee.model).per_token)
    assert 4 / 6 < speeds[1] / speeds[0] < 0.75


def test_shapes_have_the_sizes_that_they_are_called_by() -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    for name, billions in (("0.15b", 0.135), ("1b", 1.24), ("8b", 8.03)):
        values = dict(runs.SHAPES[name])
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(AutoConfig.for_model(values.pop("model_type"), **values))
        assert sum(p.numel() for p in model.parameters()) / 1e9 == pytest.approx(billions, rel=0.02)


def test_tf32_does_not_touch_bfloat16_products(tmp_path: Path) -> None:
    assert claims.products(session(tmp_path))["bfloat16_bits_equal"]


@pytest.mark.slow
def test_full_tuning_keeps_sixteen_bytes_a_parameter_and_adapters_far_less(tmp_path: Path) -> None:
    full = claims.memory(session(tmp_path), {})
    assert full["weights_per_parameter"] == 4
    assert full["states_per_parameter"] == pytest.approx(8, rel=0.01)
    adapters = claims.memory(session(tmp_path), {"lora_rank": 2})
    assert adapters["states_per_parameter"] < 2


def test_known_values_come_from_the_chips_own_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = session(tmp_path)
    assert probes.known_values(one) == {}
    one.device = torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA H200")
    assert probes.known_values(one)["copy_gbs"] == "4800"
    assert probes.known_values(one)["matmul_bf16_gflops"] == "989500 / 794500"


@pytest.mark.parametrize(
    ("name", "target"),
    [("NVIDIA H200", "h200"), ("NVIDIA H100 80GB HBM3", "h100"), ("NVIDIA GeForce RTX 4090", "rtx4090"),
     ("Tesla T4", "t4")],
)  # fmt: skip
def test_what_is_measured_goes_into_the_target_of_its_device(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine.target_name(torch.device("cpu")) == "cpu"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: name)
    assert machine.target_name(torch.device("cuda")) == target


def test_a_device_of_no_target_is_not_recorded_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA Z9")
    with pytest.raises(ValueError, match="no target names NVIDIA Z9"):
        machine.target_name(torch.device("cuda"))


def test_batches_for_the_other_trainer_hold_what_ours_hold(tmp_path: Path) -> None:
    one = session(tmp_path)
    rows = rivals.examples(rivals.given(one, tmp_path), "toy")
    batch = rivals.padded(rows[:3])
    assert batch["input_ids"].shape == batch["labels"].shape == batch["attention_mask"].shape
    assert int(batch["attention_mask"].sum()) == sum(len(row["input_ids"]) for row in rows[:3])
    assert bool((batch["labels"][batch["attention_mask"] == 0] == -100).all())


@pytest.mark.slow
def test_both_trainers_have_the_same_losses(tmp_path: Path) -> None:
    row = rivals.equal_losses(session(tmp_path), "float32", tmp_path)
    assert row["agrees"], row


@pytest.mark.slow
@pytest.mark.parametrize("side", ["transformers defaults", "trainer"])
def test_sides_are_timed(tmp_path: Path, side: str) -> None:
    assert rivals.speed(session(tmp_path), side, tmp_path)["tokens_per_second"]["trained"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["sft float32", "gritlm bfloat16", "pretrain bfloat16", "lora bfloat16", "rft bfloat16"]
)
def test_the_first_steps_of_tasks_agree(tmp_path: Path, name: str) -> None:
    one = session(tmp_path)
    variant = next(found for found in agreement.variants(one) if found[0] == name)
    row = agreement.steps(one, variant, tmp_path, {})
    assert row["agrees"], row


@pytest.mark.slow
def test_every_task_has_a_speed_and_an_impossible_one_does_not_stop_the_rest(tmp_path: Path) -> None:
    one = session(tmp_path)
    trainer_speed.measure(one)
    assert "error" in one.rows["impossible"]
    assert all("error" not in row for name, row in one.rows.items() if name != "impossible")
    assert any(line.startswith("gritlm toy") for line in one.lines)
