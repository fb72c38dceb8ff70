"""A loop whose GPU waits for its data: `starved_loop.py ANSWER STEPS DEVICE SECONDS [toy]`.

Batches of 1, tokenised on the main thread (SECONDS of it, as a slow collator takes), copied from pageable memory, and
the loss read after every step.
"""

from __future__ import annotations

import json
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForCausalLM


class Slow(Dataset):  # type: ignore[misc,type-arg,unused-ignore]
    """One example takes its time."""

    def __init__(self, vocabulary: int, length: int, seconds: float) -> None:
        self.vocabulary, self.length, self.seconds = vocabulary, length, seconds

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> torch.Tensor:
        ends = time.perf_counter() + self.seconds
        while time.perf_counter() < ends:
            sum(range(1000))
        return torch.randint(self.vocabulary, (self.length,))


def main(answer: str, steps: int, device: str, seconds: float, toy: bool) -> None:
    torch.manual_seed(0)
    width, layers, length = (64, 2, 32) if toy else (576, 30, 512)
    config = AutoConfig.for_model(
        "llama", hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64 or 1,
        num_key_value_heads=width // 192 or 1, intermediate_size=width * 8 // 3, vocab_size=2048,
        tie_word_embeddings=True,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    waited, ends = [], []
    batches = iter(DataLoader(Slow(2048, length, seconds), batch_size=1, shuffle=True))
    for _ in range(steps):
        begun = time.perf_counter()
        ids = next(batches)
        waited.append(time.perf_counter() - begun)
        ids = ids.to(device)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        float(loss)
        ends.append(time.perf_counter())
    took = [after - before for before, after in zip(ends, ends[1:])]
    with open(answer, "w", encoding="ascii") as stream:
        json.dump({"steps": took, "waited_share": sum(waited[1:]) / sum(took)}, stream)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), "toy" in sys.argv[5:])
