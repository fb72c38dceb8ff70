import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.knowledge.gpus import board, models
from envdoctor.locks.target import Baseline
from envdoctor.speed.report import Device, SettingChoice
from envdoctor.speed.roofline import declared_work, flops, of_report, probed_matmul, refuse_impossible
from tests.speed.making import cpu_report, report


@pytest.mark.parametrize(
    ("printed", "bfloat16"),
    [
        ("NVIDIA H100 80GB HBM3", 989.5e12),
        ("NVIDIA H100 PCIe", 756.5e12),
        ("NVIDIA GeForce RTX 4090", 165.2e12),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
        ("NVIDIA A40-48Q", None),  # a part of one
        ("Tesla T4", None),
        ("Intel(R) Xeon(R)", None),
    ],
)
def test_peaks_are_of_the_very_board(printed: str, bfloat16: float | None) -> None:
    chip = board(printed)
    assert (chip.peak_flops("bfloat16") if chip else None) == bfloat16


def test_rated_figures_are_plausible() -> None:
    for model in models().every():
        low, high = model.peak_flops("float32"), model.peak_flops("float16")
        assert low is None or high is None or low <= high, model.name
        assert not model.peak or model.achievable is None or 0.6 < (model.achievable_share() or 0) < 1, model.name
        assert model.achievable is None or model.achievable_source != model.source, model.name


def test_flops_of_a_dense_step() -> None:
    assert flops(weights=7.5e9, tokens=8000) == 3.6e14


def test_flops_by_hand_with_head_and_attention() -> None:
    # 2 layers of width 4, documents of 3 and 5 tokens, a head of 10 weights at 6 trained positions
    found = flops(weights=100, tokens=8, head=10, trained_tokens=6, layers=2, attention_width=4, squares=9 + 25)
    assert found == 6 * 100 * 8 + 6 * 10 * 6 + 6 * 2 * 4 * 34


def test_frozen_weights_cost_two_thirds_and_adapters_all() -> None:
    full, frozen = flops(weights=1e9, tokens=1000), flops(weights=1e9, tokens=1000, frozen=True, adapters=1e6)
    assert frozen == pytest.approx(full * 4 / 6 + 6 * 1e6 * 1000)


@given(st.floats(1e6, 1e12), st.floats(1, 1e7), st.floats(1, 10))
def test_flops_grow_in_proportion_to_the_tokens(weights: float, tokens: float, factor: float) -> None:
    once, more = flops(weights=weights, tokens=tokens), flops(weights=weights, tokens=tokens * factor)
    assert more == pytest.approx(once * factor)


@pytest.mark.slow
def test_the_trainers_own_count_is_the_same_formula() -> None:
    pytest.importorskip("torch")
    from transformers import AutoConfig, AutoModelForCausalLM

    from trainer.compute import flops as counted
    from trainer.data.counts import Counts

    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48, "vocab_size": 64}
    config = AutoConfig.for_model("llama", **sizes, **heads, tie_word_embeddings=False)
    model = AutoModelForCausalLM.from_config(config)
    head = model.get_output_embeddings().weight.numel()
    layers = sum(
        p.numel() for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n and "lm_head" not in n
    )
    theirs = counted.work_of(model).of(Counts(trained=5, real=8, slots=9, documents=2, squares=34))
    ours = flops(weights=layers, tokens=8, head=head, trained_tokens=5, layers=2, attention_width=32, squares=34)
    assert theirs == pytest.approx(ours)


def test_mfu_counts_against_the_peak_of_the_format_in_use() -> None:
    bf16 = of_report(report(), 10.0)
    assert bf16.mfu == pytest.approx(2e14 / 989.5e12)
    assert bf16.of_achievable == pytest.approx(2e14 / 700e12)
    assert bf16.limit == pytest.approx(989.5e12 / 2e13)
    fp32 = report(settings={"precision": "float32"})
    assert of_report(fp32, 1.0).peak == 67e12
    tf32 = report(settings={"precision": "float32"}, flags={"float32-matmul-precision": "high"})
    assert of_report(tf32, 1.0).peak == 494.5e12


def test_without_a_probe_the_published_achievable_speed_is_used() -> None:
    found = of_report(report(probes={}), 10.0)
    assert found.achievable == pytest.approx(794.5e12)
    assert "ml-engineering" in found.source


def test_a_cpu_is_measured_by_its_own_matrix_product() -> None:
    found = of_report(cpu_report(), 1.5)
    assert found.peak is None
    assert found.mfu is None
    assert found.of_achievable == pytest.approx(1.5 * 7e10 / 160e9)


def test_an_unknown_chip_without_probes_has_no_roofline() -> None:
    found = of_report(report(device=Device(type="cuda", name="NVIDIA Z1"), probes={}), 10.0)
    assert (found.peak, found.achievable, found.mfu, found.of_achievable, found.limit) == (None,) * 5


def test_the_probe_of_another_format_is_not_taken() -> None:
    run = report(choices=(SettingChoice(what="precision", value="float16"),))
    assert probed_matmul(run, run.precision) is None


def claim(speed: float, **conditions: object) -> Baseline:
    return Baseline(
        workload="w", stack="s", evidence="claimed", gpu="NVIDIA H100", steps_per_second=speed, conditions=conditions
    )


SEED = {"parameters": 7.5e9, "tokens_per_step": 8000}


def test_five_steps_per_second_on_that_h100_are_refused_with_the_arithmetic() -> None:
    refused = refuse_impossible(claim(5.0, **SEED))
    assert refused is not None
    assert refused.limit == pytest.approx(2.749, abs=0.001)
    assert "6 x 7.5e+09 weights x 8,000 tokens = 3.6e+14 FLOP per step" in refused.arithmetic
    assert "182% of the bfloat16 peak of H100 80GB HBM3" in refused.arithmetic


@pytest.mark.parametrize(
    ("baseline", "gpu", "refused"),
    [
        (claim(1.25, **SEED), None, False),  # what the log showed: 45 % of the peak
        (claim(2.7, **SEED), None, False),
        (claim(3.0, **SEED), None, True),
        (claim(3.0, **SEED, frozen=True), None, False),  # LoRA needs a third less
        (claim(1.0, **SEED, precision="float32"), None, True),
        (claim(3.0, flops_per_step=3e14), None, False),
        (claim(9e9), None, False),  # nothing known of the work: not judged
        (claim(9.0, **SEED), "NVIDIA Z1", False),  # nothing known of the chip: not judged
    ],
)
def test_what_is_refused(baseline: Baseline, gpu: str | None, refused: bool) -> None:
    assert (refuse_impossible(baseline, gpu=gpu) is not None) == refused


@pytest.mark.parametrize(("rate", "refused"), [(1.1, False), (1.2, True)])
def test_a_geforce_card_may_exceed_what_it_is_rated_at(rate: float, refused: bool) -> None:
    claimed = claim(rate * 165.2, flops_per_step=1e12)
    assert (refuse_impossible(claimed, gpu="NVIDIA GeForce RTX 4090") is not None) == refused
    assert refuse_impossible(claim(1.1 * 362, flops_per_step=1e12), gpu="NVIDIA L40S") is not None


def test_one_window_above_the_peak_is_enough() -> None:
    measured = Baseline(
        workload="w", stack="s", evidence="measured", gpu="NVIDIA H100", windows=((2.0, 2.0, 9.0),), conditions=SEED
    )
    assert refuse_impossible(measured) is not None


def test_work_needs_enough_to_be_known() -> None:
    assert declared_work({"parameters": 1e9}) is None
    assert declared_work({"parameters": "many", "tokens_per_step": 3}) is None
    assert declared_work({"flops_per_step": 0}) is None
