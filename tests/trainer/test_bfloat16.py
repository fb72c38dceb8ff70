"""What a run computes in bfloat16 on a CPU that multiplies it, as such CPUs do when no precision is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.trainer.running import gradients, prepare_run, same, weights
from tests.trainer.test_equivalence import DOCUMENTS
from trainer import loop
from trainer.checkpoints import save
from trainer.checkpoints.resume import restore
from trainer.compute.hardware import bfloat16_units
from trainer.data.batches import pack, pad_rows

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not bfloat16_units(), reason="this CPU would emulate bfloat16")]

ROUNDING = 2**-8  # of one bfloat16 factor, relative


def test_packed_and_padded_losses_are_near_those_of_float32(tiny: dict) -> None:
    """The loss to the rounding of one factor; gradients to twenty of them, relative to their length."""
    exact = prepare_run(tiny)
    run = prepare_run({**tiny, "precision": "auto"})
    plain = prepare_run({**tiny, "precision": "auto", "packing": False, "head": "all"})
    assert run.trainee.dtype == plain.trainee.dtype == torch.bfloat16
    for other in (run, plain):
        other.trainee.model.load_state_dict(exact.trainee.model.state_dict())
    loss, expected = gradients(exact, [pack(DOCUMENTS)])
    for way, batch in ((run, pack(DOCUMENTS)), (plain, pad_rows(DOCUMENTS, 0))):
        found_loss, found = gradients(way, [batch])
        assert found_loss == pytest.approx(loss, rel=ROUNDING)
        assert found_loss != loss  # it is another precision
        for name, gradient in expected.items():
            assert float((found[name] - gradient).norm()) < 20 * ROUNDING * float(gradient.norm()), name


@pytest.mark.parametrize("more", [{}, {"lora_rank": 4, "lora_dropout": 0.2}], ids=["whole", "lora"])
@pytest.mark.parametrize("stop_after", [1, 4])
def test_resuming_gives_the_same_bits(tiny: dict, tmp_path: Path, more: dict, stop_after: int) -> None:
    values = {**tiny, "precision": "auto", "epochs": 2, "accumulate": 2, **more}
    whole = prepare_run(values)
    assert whole.trainee.dtype == torch.bfloat16
    loop.train(whole, [])
    first = prepare_run(values)
    first.saver = save.Saver(tmp_path / "c", 2)
    loop.train(first, [lambda counts, run: run.position.step == stop_after])
    second = prepare_run(values)
    loop.train(second, [], restore(second, *save.read(save.newest(tmp_path / "c")[0])))
    assert len(second.history.losses) > 2
    assert first.history.losses + second.history.losses == whole.history.losses
    assert same(weights(second), weights(whole))
