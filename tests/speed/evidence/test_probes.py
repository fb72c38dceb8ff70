import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.speed.evidence.machine import by_probes
from envdoctor.speed.evidence.probes import DEFAULT_SHARES, Kind, drift, flat, relevant, shares
from envdoctor.speed.evidence.relation import machine_match, relate
from envdoctor.speed.report import Device, Report
from tests.speed.making import CPU, CPU_PROBES, PARTS, PROBES, baseline, cpu_report, report, target

GPU_NAMES = [
    "matmul_fp32_gflops", "matmul_bf16_gflops", "matmul_fp16_gflops", "matmul_tf32_gflops", "copy_gbs", "python_mops",
    "pinned_to_device_gbs", "pageable_to_device_gbs", "launch_us",
]  # fmt: skip


@pytest.mark.parametrize(
    ("precision", "names"),
    [
        ("bfloat16", {"matmul_bf16_gflops", "copy_gbs", "python_mops", "launch_us"}),
        ("float32", {"matmul_fp32_gflops", "copy_gbs", "python_mops", "launch_us"}),
        ("float16", {"matmul_fp16_gflops", "copy_gbs", "python_mops", "launch_us"}),
        ("tf32", {"matmul_tf32_gflops", "copy_gbs", "python_mops", "launch_us"}),
    ],
)
def test_a_step_depends_on_its_own_formats_probes(precision: str, names: set[str]) -> None:
    assert set(relevant(GPU_NAMES, precision)) == names


def test_times_become_speeds_and_moments_are_averaged() -> None:
    speeds = flat({"before": {"copy_gbs": 4.0, "launch_us": 2.0}, "after": {"copy_gbs": 9.0, "launch_us": None}})
    assert speeds == {"copy_gbs": pytest.approx(6.0), "launch_us": pytest.approx(0.5)}


def test_shares_follow_the_baselines_breakdown() -> None:
    found = shares(PARTS)
    assert sum(found.values()) == pytest.approx(1.0)
    assert found["matmul"] == pytest.approx(0.75 * 0.9)
    assert shares({}) == DEFAULT_SHARES


def test_a_gpu_that_ran_nothing_waited_for_its_host() -> None:
    """Events in the stream count the gaps between kernels as forward and backward: a launch-bound step is host work."""
    found = shares(PARTS, 0.6)
    assert found["host"] == pytest.approx(0.6)
    assert sum(found.values()) == pytest.approx(1.0)
    assert found["matmul"] / found["memory"] == pytest.approx(shares(PARTS)["matmul"] / shares(PARTS)["memory"])
    assert shares(PARTS, 0.01) == shares(PARTS) == shares(PARTS, None)


def moments(factor: float, **only: float) -> dict[str, dict[str, float | None]]:
    probes: dict[str, float | None] = {name: value * only.get(name, factor) for name, value in PROBES.items()}
    return {"before": probes, "after": dict(probes)}


@given(st.floats(0.2, 5.0))
def test_another_model_is_taken_at_its_probes_word(factor: float) -> None:
    found = by_probes([moments(factor)], [PROBES] * 5, precision="bfloat16", match="other-model")
    assert found.log_factors[0] == pytest.approx(math.log(factor))
    assert found.ratios["copy_gbs"] == pytest.approx(factor)


@given(st.floats(0.9, 1.1))
def test_the_same_model_is_believed_less_the_noisier_its_probes(factor: float) -> None:
    quiet = by_probes([moments(factor)], [PROBES] * 5, precision="bfloat16", match="same-model")
    noisy_rows = [{name: value * (1.0 + 0.1 * sign) for name, value in PROBES.items()} for sign in (-1, 1, -1, 1, 0)]
    noisy = by_probes([moments(factor)], noisy_rows, precision="bfloat16", match="same-model")
    assert abs(quiet.log_factors[0]) <= abs(math.log(factor)) + 1e-12
    assert quiet.spread <= noisy.spread
    assert noisy.spread <= 0.041  # never more than machines of one model differ by


def test_probes_that_disagree_widen_the_factor() -> None:
    alike = by_probes([moments(0.5)], [PROBES] * 3, precision="bfloat16", match="other-model")
    apart = by_probes([moments(0.5, python_mops=1.0)], [PROBES] * 3, precision="bfloat16", match="other-model")
    assert apart.spread > 0.15 > alike.spread


def test_without_common_probes_nothing_is_known() -> None:
    found = by_probes([{"before": {}}], [PROBES], precision="bfloat16", match="same-model")
    assert not found.known
    assert found.spread == 0.04
    assert not by_probes([moments(1.0)], [], precision="bfloat16", match="same-model").known


def test_drift_names_the_probe_that_moved() -> None:
    after = {**CPU_PROBES, "matmul_fp32_gflops": 80.0, "matmul_bf16_gflops": 1.0}
    all_products: dict[Kind, float] = {"matmul": 1.0, "memory": 0.0, "host": 0.0}
    moved, which = drift({"before": dict(CPU_PROBES), "after": after}, "float32", all_products)
    assert which == "matmul_fp32_gflops", "another format's matrix product does not count"
    assert moved == pytest.approx(math.log(CPU_PROBES["matmul_fp32_gflops"] / 80.0))


def test_drift_counts_a_probe_by_its_share_of_a_step() -> None:
    weights: dict[Kind, float] = {"matmul": 0.7, "memory": 0.29, "host": 0.01}
    slower = {**CPU_PROBES, "python_mops": 0.5 * CPU_PROBES["python_mops"]}
    moved, which = drift({"before": dict(CPU_PROBES), "after": slower}, "float32", weights)
    assert which == "python_mops"
    assert moved == pytest.approx(0.01 * math.log(2))
    opposed = {**slower, "copy_gbs": 2.0 * CPU_PROBES["copy_gbs"]}
    moved, which = drift({"before": dict(CPU_PROBES), "after": opposed}, "float32", weights)
    assert which == "copy_gbs"
    assert moved == pytest.approx(0.30 * math.log(2)), "faster memory does not excuse a slower interpreter"


def test_a_probe_timed_once_tells_no_drift() -> None:
    assert drift({"before": dict(CPU_PROBES), "after": {}}, "float32") == (0.0, "")


def facts(identity: str) -> Facts:
    return Facts(gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA H100 80GB HBM3", identity=identity),)))


def gpu_report(name: str) -> Report:
    return report(device=Device(type="cuda", name=name, cpu_model="x", threads=8, cores=8))


EPYC = Device(type="cpu", name="EPYC", cpu_model="EPYC", threads=2, cores=2)
MORE_CORES = Device(type="cpu", name=CPU, cpu_model=CPU, threads=8, cores=8)


def test_machines_are_told_apart() -> None:
    known = replace(baseline(), conditions={**baseline().conditions, "identity": "this one"})
    assert machine_match(report(), known, facts("this one")) == "same-machine"
    assert machine_match(report(), known, facts("another")) == "same-model"
    assert machine_match(gpu_report("NVIDIA H100 SXM5 80GB"), known, None) == "same-model"
    assert machine_match(gpu_report("NVIDIA H100 80GB HBM2e"), known, None) == "other-model"  # the PCIe board
    assert machine_match(gpu_report("NVIDIA H100 PCIe"), known, None) == "other-model"
    assert machine_match(gpu_report("NVIDIA H200"), known, None) == "other-model"
    cpu = baseline(1.5, like=cpu_report())
    assert machine_match(cpu_report(), cpu, None) == "same-model"
    assert machine_match(cpu_report(device=EPYC), cpu, None) == "other-model"
    assert machine_match(cpu_report(device=MORE_CORES), cpu, None) == "other-model"


def test_another_torch_or_other_threads_make_the_probes_useless() -> None:
    assert relate(report(), baseline(), None, None).probes_comparable
    assert not relate(report(versions={"torch": "2.4.0"}), baseline(), None, None).probes_comparable
    fewer = report(device=Device(type="cuda", name="NVIDIA H100 80GB HBM3", threads=1, cores=8))
    assert not relate(fewer, baseline(), None, None).probes_comparable


def test_distance_costs_certainty_and_says_so() -> None:
    near = relate(report(), baseline(), target(), None)
    assert (near.evidence, near.remarks) == ("measured", ())
    derived = replace(baseline(), evidence="derived", source="from an H200", conditions={"spread": 0.1})
    far = relate(gpu_report("NVIDIA L4"), derived, target(), None)
    assert math.hypot(*(remark.log_sd for remark in far.remarks)) > 0.1
    assert far.evidence == "derived"
    assert len(far.remarks) == 2
