"""What is advised for a loader: how many workers, and the line that asks for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from envdoctor.speed.measured_run.record import Loader
from envdoctor.speed.measured_run.remedies import loader_line, workers_needed


@given(st.floats(0.0, 1.0), st.integers(0, 64), st.integers(1, 64))
def test_workers_leave_a_core_and_are_never_fewer_than_useful(share: float, workers: int, cores: int) -> None:
    needed = workers_needed(share, workers, cores)
    assert needed >= 1
    assert needed <= max(cores - 1, 2, workers)


def test_the_line_keeps_what_the_loader_has() -> None:
    assert loader_line(Loader(batch_size=None, prefetch_factor=8), 3, "cuda") == (
        "DataLoader(dataset, num_workers=3, pin_memory=True, persistent_workers=True, prefetch_factor=8)"
    )


def test_the_line_trains_in_the_same_order_with_the_same_collator() -> None:
    loader = Loader(batch_size=4, shuffle=True, sampler="RandomSampler", drop_last=True, collate="pad_rows")
    assert loader_line(loader, 2, "cpu") == (
        "DataLoader(dataset, batch_size=4, shuffle=True, drop_last=True, collate_fn=pad_rows, num_workers=2, "
        "persistent_workers=True, prefetch_factor=2)"
    )
    odd = Loader(batch_size=4, sampler="DistributedSampler", collate="<lambda>")
    assert "sampler=sampler, collate_fn=collate, " in loader_line(odd, 2, "cpu")
