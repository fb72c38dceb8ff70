"""Running out of memory in the middle of a run: the same step in smaller pieces, with the same gradients."""

from __future__ import annotations

import pytest
import torch

from tests.trainer.model.test_contrastive import DOCUMENTS, TINY, trainee
from tests.trainer.running import prepare_run, weights
from tests.trainer.test_equivalence import DOCUMENTS as TEXTS
from tests.trainer.test_equivalence import close
from trainer import loop
from trainer.checkpoints.resume import restore
from trainer.compute import oom
from trainer.data.batches import pack, pad_rows
from trainer.data.feed import Position
from trainer.data.pairs import PairBatch, pool_documents
from trainer.errors import TrainerError
from trainer.loop import gradients
from trainer.state import Run
from trainer.tasks.gritlm import Gritlm

CPU_ERROR = "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to"


class Small:
    """Makes a decoder layer's memory too small for more than `most` tokens, on the way forward or back."""

    def __init__(self, run: Run, most: int, error: Exception, backward: bool = False) -> None:
        self.failures = 0

        def check(tokens: int) -> None:
            if tokens > most:
                self.failures += 1
                raise error

        def forward(module, inputs, output) -> None:
            states = output[0] if isinstance(output, tuple) else output
            if backward and states.requires_grad:
                states.register_hook(lambda gradient: check(gradient.shape[0] * gradient.shape[1]))
            elif not backward:
                check(states.shape[0] * states.shape[1])

        run.trainee.model.get_decoder().layers[0].register_forward_hook(forward)


def step_gradients(run: Run, batches: list) -> tuple[float, dict]:
    run.trainee.model.zero_grad(set_to_none=True)
    scale = 1.0 / sum(batch.weight for batch in batches)
    loss = gradients(run, Position(), batches, scale, None, [])
    return float(loss), {name: p.grad.clone() for name, p in run.trainee.model.named_parameters()}


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("error", [oom.OutOfMemory("CUDA out of memory."), RuntimeError(CPU_ERROR), MemoryError()])
def test_the_step_is_repeated_in_pieces_with_the_same_gradients(tiny: dict, error: Exception, backward: bool) -> None:
    run = prepare_run(tiny)
    batches = [pack(TEXTS[:2]), pack(TEXTS[2:])]  # 38 and 70 tokens; the longest document has 50
    expected = step_gradients(run, batches)
    small, said = Small(run, 60, error, backward), []
    run.say = said.append
    found = step_gradients(run, batches)
    assert found[0] == pytest.approx(expected[0], abs=1e-6)
    assert close(found[1], expected[1], 1e-6)
    assert small.failures == 1
    assert run.slots_limit == 35  # half of 70
    assert len(said) == 1
    assert "at most 35 tokens at once" in said[0]
    again = step_gradients(run, batches)  # remembered: nothing fails any more, and nothing more is said
    assert (small.failures, len(said)) == (1, 1)
    assert close(again[1], expected[1], 1e-6)


def test_a_run_that_runs_out_of_memory_trains_as_if_it_had_not(tiny: dict, tmp_path) -> None:
    values = {**tiny, "accumulate": 2, "epochs": 2}
    plain, run = prepare_run(values), prepare_run(values)
    small, said = Small(run, 64, oom.OutOfMemory("CUDA out of memory.")), []
    run.say = said.append
    loop.train(plain, [])
    loop.train(run, [])
    assert small.failures == len(said) == 1
    assert run.history.losses == pytest.approx(plain.history.losses, abs=1e-5)
    left, right = weights(plain), weights(run)
    assert max(float((left[name] - right[name]).abs().max()) for name in left) < 1e-4


def test_padded_batches_are_cut_by_rows(tiny: dict) -> None:
    run = prepare_run({**tiny, "packing": False, "attention": "model", "head": "all"})
    batch = pad_rows(TEXTS, 0)
    assert batch.slots == 250
    pieces = oom.cut_batch(batch, 120)
    assert [piece.slots for piece in pieces] == [100, 100, 50]
    assert sum(piece.trained for piece in pieces) == batch.trained
    expected, found = step_gradients(run, [batch]), step_gradients(run, pieces)
    assert found[0] == pytest.approx(expected[0], abs=1e-6)
    assert close(found[1], expected[1], 1e-6)


def test_pairs_are_embedded_in_pieces_and_keep_all_their_negatives(tmp_path) -> None:
    run, settings = trainee(tmp_path, TINY)
    batch = PairBatch((pool_documents(DOCUMENTS, None),), 3, torch.tensor([0, 1, 3]), 1.0 / 3)
    (piece,) = oom.cut_batch(batch, 40)
    assert len(piece.rows) > 1
    assert piece.again
    results = []
    for one in (batch, piece):
        run.model.zero_grad(set_to_none=True)
        loss = Gritlm().loss(run, one, settings, 1.0)
        loss.backward()
        grads = {name: p.grad.clone() for name, p in run.model.named_parameters() if p.grad is not None}
        results.append((float(loss.detach()), grads))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5)
    assert close(results[0][1], results[1][1])


def test_one_document_that_does_not_fit_is_told(tiny: dict) -> None:
    run = prepare_run(tiny)
    Small(run, 20, oom.OutOfMemory("CUDA out of memory."))
    run.say = lambda text: None
    with pytest.raises(TrainerError, match="a single document of 50 tokens") as caught:
        step_gradients(run, [pack(TEXTS)])
    assert caught.value.kind == "out-of-memory"
    assert "recompute=full" in caught.value.remedy


def test_other_errors_are_not_taken_for_it(tiny: dict) -> None:
    run = prepare_run(tiny)
    small = Small(run, 10, RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        step_gradients(run, [pack(TEXTS)])
    assert small.failures == 1


def test_the_limit_outlives_an_interruption(tiny: dict, tmp_path) -> None:
    from trainer.checkpoints import save

    run = prepare_run(tiny)
    Small(run, 64, oom.OutOfMemory("CUDA out of memory."))
    run.say, run.saver = (lambda text: None), save.Saver(tmp_path / "c", 2)
    loop.train(run, [lambda counts, run: run.position.step == 1])
    assert run.slots_limit > 0
    again = prepare_run(tiny)
    restore(again, *save.read(save.newest(tmp_path / "c")[0]))
    assert again.slots_limit == run.slots_limit


@pytest.mark.parametrize(
    "said",
    [
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call",
        "NCCL error in: ProcessGroupNCCL.cpp, unhandled cuda error\nLast error:\nCuda failure 2 'out of memory'",
    ],
)
def test_libraries_that_find_no_memory_are_understood(said: str) -> None:
    assert oom.is_out_of_memory(RuntimeError(said))


def test_a_library_that_is_broken_is_not_out_of_memory() -> None:
    assert not oom.is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED"))
    assert not oom.is_out_of_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))
