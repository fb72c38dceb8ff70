import sys
from dataclasses import replace
from pathlib import Path

import pytest
from envdoctor.errors import Trouble
from envdoctor.facts.environment import locate
from envdoctor.speed.ablation.ablation import VariantRow as Measured
from envdoctor.speed.ablation.interleaving import Variant
from envdoctor.speed.ablation.variants import find

from tests.benchmarks.claims import experiments
from tests.benchmarks.claims.answers import table, variants_to_measure
from tests.benchmarks.claims.claimed import CLAIMS, WRITE_UPS


def here(number: int, **options: object) -> str:
    return next(row.here for row in table(**options) if row.claim.number == number)  # type: ignore[arg-type]


def test_all_26_claims_are_there_with_their_evidence() -> None:
    assert [claim.number for claim in CLAIMS] == list(range(1, 27))
    for claim in CLAIMS:
        assert claim.evidence, claim.number
        assert claim.source, claim.number
        assert claim.writeups, claim.number
        assert set(claim.writeups) <= set(WRITE_UPS), claim.number
        assert (claim.kind == "ablation") == bool(claim.variants), claim.number
        assert claim.computed is not None or claim.kind in ("ablation", "reading"), claim.number


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "47 min 26 s"),
        (2, "19 min 46 s to 11 min 52 s"),
        (3, "5 it/s is 182% of the peak, the limit is 2.75 it/s, and 1.25 it/s already is 45%"),
        (4, "8x is the A100's peak of TF32 over float32 (8x); over bf16 TF32 is 0.5x"),
        (6, "60 GB all in bf16, 135 GB"),
        (7, "25% fewer slots"),
        (16, "float32 16, autocast 18"),
        (20, "2.6x for the whole step"),
        (23, "2 µs"),
        (25, "1.5x too high"),
    ],
)
def test_the_arithmetic(number: int, said: str) -> None:
    assert said in here(number)


def test_every_claim_has_an_answer_without_any_measurement() -> None:
    for device in ("cpu", "cuda"):
        for row in table(device=device):
            assert row.here
            assert not row.measured


def test_a_measured_row_answers_its_claim() -> None:
    row = Measured(
        variant=Variant(name="recompute"), against="default", word="slower", ratio=0.8, interval=(0.78, 0.82), rounds=3
    )
    found = next(row for row in table({("recompute", "default"): row}) if row.claim.number == 10)
    assert found.measured
    assert found.here.startswith("recompute is 0.80x default [0.78, 0.82]")


def test_two_variants_of_one_ablation_answer_a_claim_about_both() -> None:
    def row(name: str, ratio: float) -> Measured:
        edges = (ratio * 0.98, ratio / 0.98)
        return Measured(variant=Variant(name=name), against="default", word="slower", ratio=ratio, interval=edges)

    measured = {(name, "default"): row(name, ratio) for name, ratio in (("batch-1", 0.2), ("no-packing", 0.8))}
    assert "batch-1 is 0.25x no-packing [0.24, 0.26]" in here(8, measured=measured)
    del measured["no-packing", "default"]
    assert "not measured" in here(8, measured=measured)


def test_what_only_a_gpu_can_show_is_not_measured_on_a_cpu() -> None:
    assert here(14).startswith("needs a GPU, not measured here")
    assert "ablate cudnn-benchmark against default" in here(14, device="cuda")
    assert "cudnn-benchmark" not in variants_to_measure("cpu")
    assert "cudnn-benchmark" in variants_to_measure("cuda")


@pytest.mark.parametrize(("number", "bound"), [(3, "limit is 2.75 it/s"), (4, "at most 1.0x"), (18, "at most 2.0x")])
def test_what_needs_a_gpu_is_bounded_by_arithmetic(number: int, bound: str) -> None:
    row = next(row for row in table() if row.claim.number == number)
    assert row.status == "needs-gpu"
    assert bound in row.here


FOUND = {
    "random_state": {
        "dropout 0.1, preserve_rng_state=True": 0.0,
        "dropout 0.1, preserve_rng_state=False": 0.29,
        "dropout 0, preserve_rng_state=True": 0.0,
        "dropout 0, preserve_rng_state=False": 0.0,
    },
    "recomputation": {"ratio": 1.2},
    "adapters": {"full": 6.0, "adapters": 4.19},
    "memory": {
        "float32": {"per_weight": 16.0, "activations": 100},
        "autocast": {"per_weight": 16.0, "activations": 68},
        "all bf16": {"per_weight": 8.0, "activations": 50},
    },
    "attention_switches": {"flash": True, "efficient": True, "math": True},
    "convolutions": {"operators": 373, "convolutions": 0},
    "vanishing": {"float16": 0.055, "bfloat16": 0.0},
    "compiled_names": {"torch.compile(model)": "_orig_mod.weight", "model.compile()": "weight"},
    "one_example": {"tokens": 1028, "tokenise_seconds": 0.002, "copy_seconds": 3e-6, "bytes": 24000},
    "workers": {"0": 0.0003, "2": 0.0006},
    "saving": {"bytes_per_second": 1.62e9},
}


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (6, "all in bf16 8: 60 GB for 7.5e+09 weights"),
        (9, "the gradient is 29% off (0% with the state kept); without dropout 0%"),
        (10, "1.20x the FLOPs of a step (counted)"),
        (11, "1.62 GB/s: 1 s"),
        (12, "0.3 ms without workers, 0.6 ms by 2"),
        (13, "flash, efficient, math; switching them on again changes nothing"),
        (14, "0 of 373 operators"),
        (15, "5.5% vanish in float16 and 0.0% in bf16"),
        (16, "16 bytes per weight under autocast, 16 without; kept activations 0.68x"),
        (23, "1,028 tokens takes 2 ms here, copying their 24 kB 3 µs"),
        (25, "6.0 FLOP per weight and token for full tuning, 4.2 with adapters"),
        (26, "'_orig_mod.weight'"),
    ],
)
def test_experiments_answer_their_claims(number: int, said: str) -> None:
    row = next(row for row in table(found=FOUND) if row.claim.number == number)
    assert row.measured
    assert said in row.here


def test_an_experiment_that_failed_is_no_measurement() -> None:
    row = next(row for row in table(found={"random_state": {"error": "RuntimeError: no"}}) if row.claim.number == 9)
    assert not row.measured


def test_no_claim_is_taken_on_trust() -> None:
    """With what one command measures on a CPU, each row is timed, counted, computed, or bounded for want of a GPU."""
    names = variants_to_measure("cpu")
    measured = {
        (name, "default"): Measured(
            variant=Variant(name=name), against="default", word="slower", ratio=0.9, interval=(0.8, 1.0)
        )
        for name in names
    }
    other = Variant(name="./new", environment=Path("new"))
    measured["./new", "./old"] = Measured(
        variant=other, against="./old", word="equal", ratio=1.0, interval=(0.98, 1.02)
    )
    rows = table(measured, found=FOUND)
    assert [row.claim.number for row in rows if row.status == "not-measured"] == []
    assert {row.claim.number for row in rows if row.status == "needs-gpu"} == {3, 4, 18, 21}
    assert {row.claim.number for row in rows if row.status == "computed"} == {1, 2, 7, 17, 20}
    assert "1.00x" in next(row.here for row in rows if row.claim.number == 5)


@pytest.mark.slow
def test_the_experiments_run_in_an_environment_with_torch() -> None:
    pytest.importorskip("torch")
    found = experiments.run(locate(Path(sys.prefix)))
    assert found["random_state"]["dropout 0.1, preserve_rng_state=True"] == 0.0
    assert found["random_state"]["dropout 0.1, preserve_rng_state=False"] > 0.05
    assert found["random_state"]["dropout 0, preserve_rng_state=False"] == 0.0
    assert found["adapters"]["full"] == pytest.approx(6.0, abs=0.05)
    assert 4.0 < found["adapters"]["adapters"] < 4.5
    assert 1.0 < found["recomputation"]["ratio"] < 4 / 3
    assert found["memory"]["autocast"]["per_weight"] == found["memory"]["float32"]["per_weight"] == 16.0
    assert found["convolutions"]["convolutions"] == 0
    assert found["vanishing"]["bfloat16"] == 0.0
    assert all(found["attention_switches"].values())
    assert found["compiled_names"] == {"torch.compile(model)": "_orig_mod.weight", "model.compile()": "weight"}
    for name, (experiment, sentence) in experiments.ANSWERS.items():
        assert sentence(found[experiment]), name


def test_experiments_that_cannot_run_are_trouble(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho 'no torch here' >&2; exit 1\n")
    python.chmod(0o755)
    broken = replace(locate(Path(sys.prefix)), python=python)
    with pytest.raises(Trouble, match="no torch here"):
        experiments.run(broken)


def test_the_variants_asked_for_exist() -> None:
    assert find(variants_to_measure("cuda"))
