"""Answers sampled from a model, many at a time.

Each answer has random numbers of its own, drawn from the seed, its prompt's number and its own: one for every token.
A token is where that number falls in the cumulative probabilities. So an answer does not depend on which others are
sampled beside it (but for rounding, which batched products do differently), and a run that goes on after a stop
samples what it would have sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from trainer.compute.hardware import DTYPES, choose_device, choose_precision, choose_threads
from trainer.compute.oom import is_out_of_memory
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.workloads import Workload
from trainer.errors import TrainerError
from trainer.model import quantized
from trainer.model.attention import changing_shapes
from trainer.model.build import load_model
from trainer.options.settings import Settings

# Tokens by which the width of prompts grows with a static cache. With one, transformers compiles the model for a GPU in
# torch's mode reduce-overhead, and the host launches a graph for each token instead of each kernel: of 30 layers 53
# launches instead of 1,417, counted on a device that is not there (tests/cuda/recorded/sampled.json). Each width is
# compiled for. On a CPU nothing is, and no GPU has run it.
STEP = 128


@dataclass(frozen=True)
class WantedAnswer:
    """One answer to sample: number of its prompt, its own number among that prompt's answers, the prompt's ids."""

    prompt: int
    sample: int
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """One sampled answer. `finished`: it ended by itself; `tokens`: ids generated for it, the end included."""

    prompt: int
    sample: int
    text: str
    tokens: int
    finished: bool


def plan(prompts: Sequence[Sequence[int]], settings: Settings) -> list[list[WantedAnswer]]:
    """Batches of prompts of nearly one length, the longest first: what does not fit into memory is known at once."""
    order = sorted(range(len(prompts)), key=lambda index: -len(prompts[index]))
    each = range(settings.samples_per_prompt)
    wanted = [WantedAnswer(index, sample, tuple(prompts[index])) for index in order for sample in each]
    size = settings.sample_batch
    return [wanted[start : start + size] for start in range(0, len(wanted), size)]


def choose(scores: torch.Tensor, chances: torch.Tensor, temperature: float, top_p: float) -> torch.Tensor:
    """One token per row of `scores` (rows, vocabulary), where `chances` (rows,), uniform in [0, 1), falls.

    With top_p the likeliest tokens compete that together reach it; at least one does.
    """
    if temperature == 0:
        return scores.argmax(-1)
    likely = torch.softmax(scores.float() / temperature, -1)
    order: torch.Tensor | None = None
    if top_p < 1:
        likely, order = likely.sort(dim=-1, descending=True, stable=True)
    sums = likely.cumsum(-1, dtype=torch.float64)
    whole = sums[:, -1:].contiguous()
    if order is not None:
        whole = sums.gather(1, torch.searchsorted(sums, whole * top_p).clamp_max(sums.shape[1] - 1))
    # Rounding must not lead beyond the last one, nor to a token of probability 0; NaN must not lead out of the row.
    last = torch.searchsorted(sums, whole).clamp_max(sums.shape[1] - 1)
    place = torch.minimum(torch.searchsorted(sums, chances[:, None].double() * whole, right=True), last)
    return (place if order is None else order.gather(1, place))[:, 0]


class _Draw:
    """transformers' logits processor that leaves only the chosen token possible."""

    def __init__(self, chances: torch.Tensor, start: int, settings: Settings) -> None:
        self.chances, self.start, self.settings = chances, start, settings
        self.bad = torch.zeros((), dtype=torch.bool, device=chances.device)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> Any:
        chances = self.chances[:, input_ids.shape[1] - self.start]
        self.bad |= scores.isnan().any()
        chosen = choose(scores, chances, self.settings.sampling_temperature, self.settings.top_p)
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen[:, None], 0.0)


class Sampler:
    """A model ready to answer, in the compute precision and with transformers' own attention and cache."""

    def __init__(self, settings: Settings, workload: Workload | None, tokenizer: Tokenizer) -> None:
        self.device, _ = choose_device(settings.device)
        choose_threads(settings.threads)
        torch.manual_seed(settings.seed)  # random weights are then those that will be trained
        dtype = DTYPES[choose_precision(settings.precision, self.device).value]
        model = load_model(settings, workload, "sdpa", (self.device, dtype))
        self.model = (model if quantized.is_quantized(model) else model.to(device=self.device, dtype=dtype)).eval()
        self.settings, self.tokenizer = settings, tokenizer
        ends = getattr(self.model.generation_config, "eos_token_id", None)
        self.ends = {*([ends] if isinstance(ends, int) else ends or []), tokenizer.eos_token_id} - {None}
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else min(self.ends, default=0)

    @property
    def longest(self) -> int | None:
        """Positions the model knows, where its configuration says."""
        return getattr(self.model.config, "max_position_embeddings", None)

    def answers(self, batch: Sequence[WantedAnswer], cache: bool = True) -> list[Answer]:
        """Sample `batch`; one that does not fit into memory is halved. TrainerError when a single answer does not."""
        try:
            return self._generate(batch, cache)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        if len(batch) == 1:
            raise TrainerError(
                "out-of-memory",
                f"one answer of {len(batch[0].ids)} + {self._new} tokens does not fit into memory",
                "Lower max_new_tokens, or take a smaller model.",
            )
        half = len(batch) // 2  # beyond the except clause, which would keep the failed call's tensors alive
        return self.answers(batch[:half], cache) + self.answers(batch[half:], cache)

    @property
    def _new(self) -> int:
        return self.settings.max_new_tokens

    def _generate(self, batch: Sequence[WantedAnswer], cache: bool) -> list[Answer]:
        from transformers import GenerationConfig, LogitsProcessorList

        width = max(len(wanted.ids) for wanted in batch)
        static = cache and self.settings.sampling_cache == "static"
        width = -(-width // STEP) * STEP if static else width
        ids = torch.full((len(batch), width), self.pad)
        mask = torch.zeros_like(ids)
        for row, wanted in enumerate(batch):
            ids[row, width - len(wanted.ids) :] = torch.tensor(wanted.ids)
            mask[row, width - len(wanted.ids) :] = 1
        chances = np.stack([_chances(self.settings.seed, wanted, self._new) for wanted in batch])
        draw = _Draw(torch.from_numpy(chances).to(self.device), width, self.settings)
        self.model.generation_config = config = GenerationConfig(
            do_sample=False, max_new_tokens=self._new, use_cache=cache, pad_token_id=self.pad,
            eos_token_id=sorted(self.ends) or None, cache_implementation="static" if static else None,
        )  # fmt: skip
        with torch.no_grad(), changing_shapes(self.device):
            made = self.model.generate(
                ids.to(self.device), attention_mask=mask.to(self.device), generation_config=config,
                logits_processor=LogitsProcessorList([draw]),
            )  # fmt: skip
        if bool(draw.bad):
            raise TrainerError(
                "non-finite-logits", "the model's logits are not numbers", "Sample with precision=float32."
            )
        return [self._answer(wanted, row[width:].tolist()) for wanted, row in zip(batch, made.cpu())]

    def _answer(self, wanted: WantedAnswer, made: list[int]) -> Answer:
        end = next((place for place, token in enumerate(made) if token in self.ends), None)
        body = made if end is None else made[:end]
        text, tokens = text_of(self.tokenizer, wanted.ids, body), len(body) + (end is not None)
        return Answer(wanted.prompt, wanted.sample, text, tokens, end is not None)


def text_of(tokenizer: Tokenizer, prompt: Sequence[int], body: Sequence[int]) -> str:
    """The text of an answer's ids behind its prompt's."""
    # Some tokenizers drop the space a text begins with: what the answer adds to its prompt keeps it.
    before: str = tokenizer.decode(prompt, skip_special_tokens=True)
    whole: str = tokenizer.decode([*prompt, *body], skip_special_tokens=True)
    alone: str = tokenizer.decode(body, skip_special_tokens=True)
    return whole[len(before) :] if whole.startswith(before) else alone


def _chances(seed: int, wanted: WantedAnswer, count: int) -> Any:
    return np.random.default_rng([seed, wanted.prompt, wanted.sample]).random(count)
