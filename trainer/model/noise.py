"""NEFTune (Jain et al., arXiv 2310.05914): uniform noise on the embeddings of the tokens, in training only.

A document of L tokens gets noise between -a / sqrt(L d) and a / sqrt(L d) in each of the d dimensions; L is its own
length, packed or padded. The noise follows from the seed, the step, and the micro-batch's number in it alone: not from
where a run was stopped, nor from how many processes share the step or in how many pieces it is computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from trainer.data.batches import Batch, Noise

DRAW = (1 << 31) + 2  # beside what the data draws


class EmbeddingNoise:
    """The noise of a run. It comes to the one pass that `enter` announces, where the batch has a key for it."""

    def __init__(self, model: Any, alpha: float, seed: int) -> None:
        self._alpha, self._seed = alpha, seed
        self._batch: Batch | None = None
        self.remove = model.get_input_embeddings().register_forward_hook(self._add).remove

    def keyed(self, batch: Any, step: int, number: int) -> Any:
        """The micro-batch `number` of a step, of all processes together, with its key; not one of pairs."""
        if not isinstance(batch, Batch):
            return batch
        (key,) = np.random.SeedSequence([self._seed, DRAW, step, number]).generate_state(1, np.uint64)
        return replace(batch, noise=Noise(int(key >> np.uint64(1)), 0, batch.slots))

    def enter(self, batch: Batch) -> None:
        """Tell that the next embedding is of this batch."""
        self._batch = batch if batch.noise else None

    def _add(self, module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor | None:
        batch, self._batch = self._batch, None
        if batch is None or batch.noise is None:
            return None
        noise, width, device = batch.noise, output.shape[-1], output.device
        generator = torch.Generator(device).manual_seed(noise.key)
        drawn = torch.empty(noise.slots, width, device=device).uniform_(-1.0, 1.0, generator=generator)
        spans = batch.lengths if "position_ids" in batch.inputs else [batch.slots // len(batch.lengths)]
        sizes = self._alpha / np.sqrt(np.array(batch.lengths, np.float32) * np.float32(width))
        each = torch.from_numpy(np.repeat(sizes, spans).astype(np.float32))
        if device.type == "cuda":
            each = each.pin_memory()  # from other memory the host would wait for the copy
        each = each.to(device, non_blocking=True)
        mine = drawn[noise.offset : noise.offset + batch.slots].mul_(each[:, None])
        return output + mine.view_as(output).to(output.dtype)
