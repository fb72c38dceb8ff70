"""trainer.model.blockwise beside torch's kernel for CPUs: both passes over rows of documents, in bfloat16, in turns.

python -m tests.benchmarks.blockwise [--heads 4] [--shared 2] [--width 64] [--rounds 20] [--threads 0]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from trainer.compute.hardware import choose_threads
from trainer.model.attention import DocumentAttention as State
from trainer.model.attention import _documents
from trainer.model.blockwise import Blockwise

from tests.benchmarks.figures import spread

# Documents of rows that the bundled chats are packed into, 2,036 to 2,040 tokens, and a row of short ones.
ROWS = (
    (609, 504, 187, 169, 120, 136, 258, 53),
    (471, 370, 340, 306, 293, 256),
    (121, 130, 99, 64, 70, 200, 210, 88, 45, 39, 150, 160, 170, 180, 140, 90, 84),
)
Inputs = tuple[torch.Tensor, ...]
Way = Callable[[Inputs, Sequence[int]], torch.Tensor]


def by_torch(inputs: Inputs, lengths: Sequence[int]) -> torch.Tensor:
    """One call of scaled_dot_product_attention per document."""
    state = State("documents", _documents)
    state.enter(tuple(lengths), None)
    query, key, value = inputs
    return _documents(state, query, key, value, float(query.shape[-1]) ** -0.5)


def by_blocks(inputs: Inputs, lengths: Sequence[int]) -> torch.Tensor:
    """Plain matrix products."""
    found: torch.Tensor = Blockwise.apply(*inputs, lengths, float(inputs[0].shape[-1]) ** -0.5, True)
    return found


WAYS: dict[str, Way] = {"torch's kernel": by_torch, "blocks": by_blocks}


def draw(lengths: Sequence[int], heads: int, shared: int, width: int, dtype: torch.dtype) -> Inputs:
    """query, key and value as a model hands them on: views of (tokens, heads, width)."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(sum(lengths), count, width) for count in (heads, shared, shared)]
    return tuple(torch.randn(shape, generator=generator).to(dtype).transpose(0, 1).requires_grad_() for shape in shapes)


def both_passes(way: Way, inputs: Inputs, lengths: Sequence[int]) -> list[torch.Tensor]:
    """Result and gradients."""
    out = way(inputs, lengths)
    return [out.detach(), *torch.autograd.grad(out, inputs, out.detach())]


def farthest(way: Way, inputs: Inputs, lengths: Sequence[int]) -> float:
    """Largest distance of result and gradients from those in float32, relative to their norm."""
    exact: Inputs = tuple(value.detach().float().requires_grad_() for value in inputs)
    pairs = zip(both_passes(way, inputs, lengths), both_passes(by_torch, exact, lengths))
    return max(float((ours.float() - wanted).norm() / wanted.norm()) for ours, wanted in pairs)


def seconds(way: Way, inputs: Inputs, lengths: Sequence[int]) -> float:
    """Of both passes."""
    begun = time.perf_counter()
    both_passes(way, inputs, lengths)
    return time.perf_counter() - begun


def main() -> None:
    """Print time and distance for each row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("heads", 4), ("shared", 2), ("width", 64), ("rounds", 20), ("threads", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    given = parser.parse_args()
    choose_threads(given.threads)
    for lengths in ROWS:
        inputs = draw(lengths, given.heads, given.shared, given.width, torch.bfloat16)
        far: dict[str, Any] = {name: farthest(way, inputs, lengths) for name, way in WAYS.items()}  # warms up, too
        ratios: list[float] = []
        for turn in range(given.rounds):
            order = list(WAYS) if turn % 2 == 0 else list(WAYS)[::-1]
            cost = {name: seconds(WAYS[name], inputs, lengths) for name in order}
            ratios.append(cost["torch's kernel"] / cost["blocks"])
        low, middle, high = spread(ratios)
        print("%2d documents, %d tokens: torch's kernel takes %.2f times as long (%.2f to %.2f)" % (
            len(lengths), sum(lengths), middle, low, high,
        ))  # fmt: skip
        print("    off by " + ", ".join("%.4f (%s)" % (distance, name) for name, distance in far.items()))


if __name__ == "__main__":
    main()
