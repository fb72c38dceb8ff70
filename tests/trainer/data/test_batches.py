from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.data.batches import PackedSource, PaddedSource, best_fit, epoch_rows, pack, packing_order, pad_rows
from trainer.data.tokens import collect

lengths = st.lists(st.integers(1, 50), min_size=1, max_size=200)


@given(lengths, st.integers(50, 200))
@settings(max_examples=60, deadline=None)
def test_rows_hold_every_example_once_and_keep_the_budget(sizes: list, budget: int) -> None:
    rows = best_fit(sizes, packing_order(sizes, budget), budget)
    assert sorted(index for row in rows for index in row) == list(range(len(sizes)))
    assert all(sum(sizes[index] for index in row) <= budget for row in rows)
    # Any two rows could not have been one, up to one exception: best fit leaves at most one row half empty.
    assert sum(2 * sum(sizes[index] for index in row) <= budget for row in rows) <= 1


@given(lengths, st.integers(0, 5), st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_an_epoch_follows_from_seed_and_number_alone(sizes: list, seed: int, epoch: int) -> None:
    first, again = (epoch_rows(np.array(sizes), 64, seed, epoch) for _ in range(2))
    assert first == again
    assert sorted(index for row in first for index in row) == list(range(len(sizes)))


def test_epochs_and_seeds_differ() -> None:
    sizes = np.arange(1, 60)
    assert epoch_rows(sizes, 64, 0, 0) != epoch_rows(sizes, 64, 0, 1)
    assert epoch_rows(sizes, 64, 0, 0) != epoch_rows(sizes, 64, 1, 0)


def test_packing_fills_rows_of_realistic_lengths() -> None:
    draw = np.random.default_rng(0)
    sizes = np.clip(draw.lognormal(np.log(120), 0.9, 4000), 8, 1500).astype(int)
    rows = epoch_rows(sizes, 2048, 0, 0)
    assert sizes.sum() / (len(rows) * 2048) > 0.99


def test_targets_never_cross_a_document_border() -> None:
    batch = pack([(np.array([5, 6, 7]), np.array([1, 1, 1])), (np.array([8, 9]), np.array([1, 1]))])
    assert batch.inputs["input_ids"].tolist() == [[5, 6, 7, 8, 9]]
    assert batch.inputs["position_ids"].tolist() == [[0, 1, 2, 0, 1]]
    assert batch.positions.tolist() == [0, 1, 3]
    assert batch.targets.tolist() == [6, 7, 9]
    assert batch.borders.tolist() == [0, 3, 5]


def test_padded_rows_predict_the_same_targets() -> None:
    documents = [(np.array([5, 6, 7]), np.array([0, 1, 1])), (np.array([8, 9]), np.array([0, 1]))]
    batch = pad_rows(documents, pad=0)
    assert batch.inputs["input_ids"].tolist() == [[5, 6, 7], [8, 9, 0]]
    assert batch.inputs["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch.targets.tolist() == pack(documents).targets.tolist() == [6, 7, 9]
    assert (batch.real, batch.slots) == (5, 6)


def test_both_sources_train_on_every_example_once_per_epoch() -> None:
    tokens = collect(([n + 1] * (n % 7 + 2), [1] * (n % 7 + 2)) for n in range(40))
    for source in (PackedSource(tokens, 16, 3, seed=1), PaddedSource(tokens, 4, 3, seed=1, pad=0)):
        seen = [int(t) for s in range(source.steps_in(2)) for b in source.step(2, s) for t in b.targets]
        assert sorted(set(seen)) == list(range(1, 41))
        assert len(seen) == sum(n % 7 + 1 for n in range(40))
