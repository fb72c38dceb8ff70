"""A loop as many start: batch size 1, and the text is tokenised in __getitem__, on the thread that trains."""

import sys
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
VOCABULARY = {chr(code): code - 32 for code in range(32, 127)}
TEXTS = ["The quick brown fox jumps over the lazy dog. " * 40] * STEPS


def tokenise(text: str) -> list[int]:
    ids = []
    for start in range(len(text)):  # byte pairs the slow way: every pair is looked up in Python
        pair = text[start : start + 2]
        ids.append(sum(VOCABULARY.get(letter, 0) for letter in pair) % 128)
    return ids


class Chats(Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return len(TEXTS)

    def __getitem__(self, index: int) -> Any:
        for _ in range(6):
            ids = tokenise(TEXTS[index])
        return torch.tensor(ids[:64])


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Embedding(128, 64), torch.nn.Linear(64, 128))
    optimizer = torch.optim.AdamW(model.parameters())
    for ids in DataLoader(Chats(), batch_size=1, shuffle=True):
        logits = model(ids[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"trained {STEPS} steps, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
