"""NEFTune's noise: how much, for which documents, when; the same however a step is computed."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
import torch

from tests.trainer.launching import finish, start, torchrun
from tests.trainer.running import prepare_run, resumed, same, whole
from trainer import loop
from trainer.__main__ import main
from trainer.compute import oom
from trainer.data.batches import Batch
from trainer.data.feed import Position
from trainer.state import Run

ALPHA = 5.0
NOISY = {"neftune_noise_alpha": ALPHA}


def embedded(run: Run, batch: Batch) -> torch.Tensor:
    """What comes out of the embedding in a pass over the batch, (slots, width)."""
    found: list[torch.Tensor] = []
    hook = run.trainee.model.get_input_embeddings().register_forward_hook(lambda *given: found.append(given[-1]))
    with torch.no_grad():
        run.trainee.hidden(batch)
    hook.remove()
    (one,) = found
    return one.flatten(0, 1)


@pytest.mark.parametrize("packing", [True, False])
def test_each_document_has_noise_by_its_own_length(tiny: dict, packing: bool) -> None:
    run = prepare_run({**tiny, **NOISY, "packing": packing})
    (batch,) = run.prepared.source.step(0, 0)
    noise = embedded(run, run.trainee.noise.keyed(batch, 3, 0)) - embedded(run, batch)
    width, low = noise.shape[1], 0
    assert len({*batch.lengths}) > 2
    for number, length in enumerate(batch.lengths):
        low = low if packing else number * batch.slots // len(batch.lengths)
        mine, most = noise[low : low + length], ALPHA / math.sqrt(length * width)
        assert float(mine.abs().max()) == pytest.approx(most, rel=0.02)
        assert float(mine.square().mean()) == pytest.approx(most**2 / 3, rel=0.2)
        assert abs(float(mine.mean())) < 0.15 * most
        low += length


def test_it_follows_from_seed_step_and_number_alone(tiny: dict) -> None:
    run = prepare_run({**tiny, **NOISY})
    (batch,) = run.prepared.source.step(0, 0)

    def of(step: int, number: int, other: Run = run) -> torch.Tensor:
        torch.manual_seed(step)  # a state that must not matter, nor change
        before = torch.get_rng_state()
        found = embedded(other, other.trainee.noise.keyed(batch, step, number))
        assert torch.equal(torch.get_rng_state(), before)
        return found

    assert torch.equal(of(3, 1), of(3, 1))
    again = prepare_run({**tiny, **NOISY, "seed": 1})
    again.trainee.model.load_state_dict(run.trainee.model.state_dict())
    for other in (of(4, 1), of(3, 0), of(3, 1, again)):
        assert not torch.equal(of(3, 1), other)


@pytest.mark.parametrize("packing", [True, False])
def test_in_pieces_it_is_the_same(tiny: dict, packing: bool) -> None:
    run = prepare_run({**tiny, **NOISY, "packing": packing})
    (batch,) = run.prepared.source.step(0, 0)
    keyed = run.trainee.noise.keyed(batch, 0, 0)
    pieces = oom.cut_batch(keyed, keyed.slots // 3)
    assert len(pieces) > 2
    large = oom.cut_batch(keyed, 3 * keyed.slots // 4)
    twice = [part for piece in large for part in oom.cut_batch(piece, keyed.slots // 2)]
    assert len(twice) > len(large) > 1
    for parts in (pieces, twice):
        assert torch.equal(torch.cat([embedded(run, part) for part in parts]), embedded(run, keyed))


def test_it_is_in_training_only(tiny: dict, tmp_path: Path) -> None:
    plain, noisy = prepare_run(tiny), prepare_run({**tiny, **NOISY})
    assert plain.trainee.noise is None
    assert not plain.trainee.model.get_input_embeddings()._forward_hooks
    losses = []
    for run in (plain, noisy):
        (batch,) = run.prepared.source.step(0, 0)
        with torch.no_grad():
            judged = float(run.task.token_loss(run.trainee, batch, run.settings, 1.0 / batch.weight))
        losses.append((judged, float(loop.gradients(run, Position(), [batch], 1.0 / batch.weight, None, []))))
        with torch.no_grad():
            assert judged == float(run.task.token_loss(run.trainee, batch, run.settings, 1.0 / batch.weight))
    (judged, trained), (judged_noisy, trained_noisy) = losses
    assert judged == judged_noisy
    assert trained == pytest.approx(judged)
    assert 1e-4 < abs(trained_noisy - trained) < 0.5
    noisy.trainee.held.close()
    assert not noisy.trainee.model.get_input_embeddings()._forward_hooks


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"lora_rank": 4}, {"head": "all", "recompute": "full"}])
def test_a_checkpoint_goes_on_to_the_same_bits(tiny: dict, tmp_path: Path, more: dict) -> None:
    values = {**tiny, **NOISY, **more, "epochs": 2, "accumulate": 2, "learning_rate": 1e-2}
    losses, final = whole(values)
    before, after, found = resumed(values, tmp_path / "c", 2)
    assert len(before) == 2
    assert before + after == losses
    assert same(found, final)
    assert losses[-1] < losses[0]
    without = whole({**values, "neftune_noise_alpha": 0.0})[0]
    assert without != losses
    assert without[0] == pytest.approx(losses[0], rel=0.01)


@pytest.mark.slow
def test_two_processes_have_the_noise_of_one(tiny: dict, tmp_path: Path) -> None:
    values = {**tiny, **NOISY, "max_steps": 6, "schedule": "constant", "log_every": 1, "learning_rate": 1e-3}
    alone = [sys.executable, "-m", "trainer"]
    one = finish(start(alone, "sft", {**values, "accumulate": 2}, tmp_path / "1"), tmp_path / "1")
    two = finish(start(torchrun(2), "sft", values, tmp_path / "2"), tmp_path / "2")
    without = {**values, "accumulate": 2, "neftune_noise_alpha": 0.0}
    none = finish(start(alone, "sft", without, tmp_path / "0"), tmp_path / "0")
    assert two["losses"] == pytest.approx(one["losses"], rel=2e-6)
    assert none["losses"] != pytest.approx(one["losses"], rel=1e-4)


def test_tasks_that_have_none_say_so(tiny: dict, tmp_path: Path, capsys) -> None:
    (tmp_path / "s.json").write_text(json.dumps({**tiny, **NOISY}))
    assert main(["pretrain", "--config", str(tmp_path / "s.json")]) == 1
    assert "neftune_noise_alpha is an option of sft, rft" in capsys.readouterr().err
