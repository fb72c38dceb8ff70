"""What of a run goes into a checkpoint, and back: everything needed to go on to the same bits."""

from __future__ import annotations

import os
import uuid
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import torch

from trainer.checkpoints import save
from trainer.checkpoints.parts import Part
from trainer.checkpoints.save import folder_name
from trainer.compute import randomness, sharding
from trainer.data.feed import Position
from trainer.errors import TrainerError, in_one_line
from trainer.state import Gradients, Run, Tensors


def resume(run: Run, folder: Path) -> Gradients | None:
    """Go on from the newest whole checkpoint in `folder`, if the settings want that and there is one.

    Returns the gradients of a step cut short, if there are any. TrainerError when the checkpoint is another run's.
    """
    if run.settings.resume == "never":
        if folder.exists() and run.group.first:
            aside = next(p for p in (folder.with_name(f"checkpoints.before-{n}") for n in count(1)) if not p.exists())
            os.rename(folder, aside)
            run.say(f"resume=never: the checkpoints that were in {folder} are now in {aside}")
        return None
    # Verified once, by the process that speaks; the others take its word.
    found, passed_over = run.group.gathered(save.newest(folder) if run.group.first else (None, []))[0]
    for sentence in passed_over:
        run.say(sentence)
    if found is None:
        return None
    try:
        state, tensors = save.read(found, run.group.rank)
        if state["identity"] != run.prepared.identity:
            raise TrainerError(
                "other-run",
                f"{found} was written by a run with other data or another plan",
                "Choose another output, or set resume=never.",
            )
        _require_all(run, found.name, state, tensors)
        partial = restore(run, state, tensors)
    except torch.OutOfMemoryError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RuntimeError) as error:
        # Its manifest verified, so nothing was torn: somebody has written it.
        raise TrainerError(
            "bad-checkpoint",
            f"{found} is no state of this run ({in_one_line(error, 200)})",
            "Remove that folder to go on from the one before it, or set resume=never.",
        ) from None
    run.say(f"continuing from {found} (step {run.position.step})")
    return partial


def _require_all(run: Run, name: str, state: dict[str, Any], tensors: Tensors) -> None:
    """ValueError where a weight that is trained is missing or has another shape, or another step is told of."""
    parameters = run.trainee.model.named_parameters()
    trained = {name: tuple(sharding.own(p).shape) for name, p in parameters if p.requires_grad}
    found = {name: tuple(value.shape) for name, value in tensors["model"].items()}
    if found != trained:
        names = sorted(name for name in {*trained, *found} if trained.get(name) != found.get(name))
        raise ValueError(f"weights that are missing, unknown or of another shape: {', '.join(names[:3])}")
    position = Position(**state["position"])
    if folder_name(position.step, position.micro) != name:
        raise ValueError(f"it tells of step {position.step}")


def checkpoint(run: Run, step_loss: torch.Tensor) -> None:
    """Everything needed to go on to the same bits: weights, optimizer, random states, position, and gradients in the
    making, with the loss so far (`step_loss`, a scalar). The first process writes for all; of sharded weights each
    writes its own pieces.
    """
    model, device = run.trainee.model, run.trainee.device
    run.group.rest()
    trained = {name: sharding.own(p.detach()) for name, p in model.named_parameters() if p.requires_grad}
    tensors: Tensors = {"model": trained, "optimizer": run.stepper.tensors(), "random": {}}
    states = run.group.gathered((randomness.state(), randomness.tensors(device)))
    for rank, (_, generators) in enumerate(states):
        tensors["random"].update({name + (f".{rank}" if rank else ""): t for name, t in generators.items()})
    if run.position.micro:
        grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        tensors["gradients"] = {**grads, "loss so far": step_loss}
    state = {
        "schema": 1,
        "identity": run.prepared.identity,
        "position": asdict(run.position),
        "tokens": run.tokens,
        "random": states[0][0],
        "random_of_others": [plain for plain, _ in states[1:]],
        "processes": run.group.world,
        "slots_limit": run.slots_limit,
        "compiled": run.settings.compile == "on",
        "recompute": run.settings.recompute,
        "loss_chunk": run.trainee.loss_pieces.chunk_bytes,
        "sharded": run.stepper.sharded,
    }
    if run.saver is None:
        return
    name = folder_name(run.position.step, run.position.micro)
    if run.stepper.sharded:
        run.saver.wait()  # the first process's last checkpoint is complete, and so is everybody's
        token = run.group.gathered(uuid.uuid4().hex[:8])[0]
        run.saver.save(name, tensors, state, Part(run.group.rank, run.group.world, token))
    elif run.group.first:
        run.saver.save(name, tensors, state)


def restore(run: Run, state: dict[str, Any], tensors: Tensors) -> Gradients | None:
    """Put a checkpoint's content back; returns the gradients of a step cut short, if there are any.

    Shapes are those `trainer.state.Tensors` says; of sharded weights each process takes its piece.
    """
    if state.get("processes", 1) != run.group.world:
        raise TrainerError(
            "other-world-size",
            f"the checkpoint was written by {state.get('processes', 1)} processes, but this run has "
            f"{run.group.world}: the steps would be others",
            "Start as many processes as before, or set resume=never.",
        )
    parameters = dict(run.trainee.model.named_parameters())
    with torch.no_grad():
        for name, value in tensors["model"].items():
            piece = value if state.get("sharded") else sharding.piece_like(value, parameters[name])
            sharding.own(parameters[name]).copy_(piece)
    run.stepper.restore(tensors["optimizer"], bool(state.get("sharded")))
    run.position = Position(**state["position"])
    run.tokens = state.get("tokens", 0)
    run.slots_limit = state.get("slots_limit", 0)
    rank = run.group.rank
    plain = [state["random"], *state.get("random_of_others", [])][rank]
    ending = f".{rank}" if rank else ""
    generators = {
        name: tensors["random"][name + ending] for name in ("cpu", "cuda") if name + ending in tensors["random"]
    }
    randomness.restore(run.trainee.device, plain, generators)
    return tensors.get("gradients")


def restore_partial(run: Run, partial: Gradients | None) -> torch.Tensor:
    """Put the gradients of a step cut short back; returns its loss so far, a float32 scalar on the device."""
    device = run.trainee.device
    if not partial:
        return torch.zeros((), device=device)
    for name, parameter in run.trainee.model.named_parameters():
        if name in partial:
            parameter.grad = partial[name].to(device, copy=True)
    return partial["loss so far"].to(device)
