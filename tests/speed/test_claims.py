import pytest

from envdoctor.speed.ablation import Row as Measured
from envdoctor.speed.claims import CLAIMS, table, variants_to_measure
from envdoctor.speed.interleaving import Variant
from envdoctor.speed.variants import find


def here(number: int, **options: object) -> str:
    return next(row.here for row in table(**options) if row.claim.number == number)  # type: ignore[arg-type]


def test_all_26_claims_are_there_with_their_evidence() -> None:
    assert [claim.number for claim in CLAIMS] == list(range(1, 27))
    for claim in CLAIMS:
        assert claim.evidence, claim.number
        assert claim.source, claim.number
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
    assert "only a GPU can show it" in here(14)
    assert "ablate cudnn-benchmark against default" in here(14, device="cuda")
    assert "cudnn-benchmark" not in variants_to_measure("cpu")
    assert "cudnn-benchmark" in variants_to_measure("cuda")


def test_the_variants_asked_for_exist() -> None:
    assert find(variants_to_measure("cuda"))
