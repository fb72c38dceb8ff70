"""The loop of write-up 004: 25 chats for many epochs, batch size 1, tokenised in __getitem__ on the training thread.

The tokenizer merges byte pairs in Python, as the slow tokenizers of the libraries do. `python write_up_004.py EPOCHS`.
"""
# mypy: ignore-errors

import itertools
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CHATS = [f"user: what is {n} + {n}?\nassistant: it is {2 * n}. " * 40 for n in range(25)]
MERGES = {pair: rank for rank, pair in enumerate("th it is at as us er ch wh an si st".split())}


def tokenise(text):
    words = [text[start : start + 1] for start in range(len(text))]
    while True:
        ranked = [(MERGES[a + b], at) for at, (a, b) in enumerate(itertools.pairwise(words)) if a + b in MERGES]
        if not ranked:
            return [sum(map(ord, word)) % 512 for word in words]
        best = min(ranked)[0]
        merged = []
        for word in words:
            if merged and MERGES.get(merged[-1] + word) == best:
                merged[-1] += word
            else:
                merged.append(word)
        words = merged


class Chats(Dataset):
    def __len__(self):
        return len(CHATS)

    def __getitem__(self, index):
        return torch.tensor(tokenise(CHATS[index])[:128])


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(512, 64), nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 512))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    dataset = Chats()
    dataloader = DataLoader(dataset, batch_size=1, shuffle=True)
    for epoch in range(int(sys.argv[1])):
        total = 0.0
        for ids in dataloader:
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(dataloader):.4f}", flush=True)


if __name__ == "__main__":
    main()
