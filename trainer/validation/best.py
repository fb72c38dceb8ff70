"""The weights that did best on held-out data: OUTPUT/best, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from trainer.compute import sharding
from trainer.data import whole
from trainer.errors import TrainerError, disk_remedy
from trainer.state import Run


def keep(run: Run, folder: Path, found: dict[str, Any]) -> None:
    """Write what is trained, and what the evaluation `found`.

    All processes of a group must come here; the first one writes.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    parameters = run.trainee.model.named_parameters()
    trained = {n: sharding.on_host(p.detach(), run.group.first) for n, p in parameters if p.requires_grad}
    if not run.group.first:
        return
    try:
        with whole.new_folder(folder) as partial:
            tensors = {name: tensor.contiguous() for name, tensor in trained.items()}
            save_file(tensors, partial / "weights.safetensors")
            (partial / "best.json").write_text(json.dumps(found), encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise TrainerError(
            "best-not-written", f"{folder}: {getattr(error, 'strerror', None) or error}", disk_remedy(error)
        ) from None


def restore(run: Run, folder: Path) -> None:
    """Put those weights into the model. TrainerError when the folder cannot be read."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(folder / "weights.safetensors")
    except (OSError, SafetensorError) as error:
        raise TrainerError(
            "best-not-readable", f"{folder}: {error}", "Set keep_best=false to take the last step's weights."
        ) from None
    parameters = dict(run.trainee.model.named_parameters())
    with torch.no_grad():
        for name, value in tensors.items():
            sharding.own(parameters[name]).copy_(sharding.piece_like(value, parameters[name]))
