"""Chats of very different lengths, padded: `fixed` to 256 tokens each, `longest` to the longest of the batch,
`sorted` so after sorting by length.
"""
# mypy: ignore-errors

import random
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader

WIDTH, STEPS = 256, 250


def collate(rows):
    width = WIDTH if sys.argv[1] == "fixed" else max(map(len, rows))
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": ids.masked_fill(ids == 0, -100)}


def main() -> None:
    random.seed(0)
    torch.manual_seed(0)
    rows = [[random.randrange(1, 200) for _ in range(random.choice((20, 30, 150)))] for _ in range(STEPS * 8)]
    if sys.argv[1] == "sorted":
        rows.sort(key=len)
    model = nn.Sequential(nn.Embedding(200, 64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 200))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for batch in DataLoader(rows, batch_size=8, collate_fn=collate, shuffle=sys.argv[1] != "sorted"):
        logits = model(batch["input_ids"][:, :-1])
        nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"][:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
