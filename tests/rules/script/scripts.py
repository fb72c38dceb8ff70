"""Scripts for the rules' tests: a step to put lines in, and whole programs as people write them."""

from __future__ import annotations

from envdoctor.facts.model import Facts, Gpu, Gpus, Script
from envdoctor.rules.rule import Finding, Rule
from tests.rules.judging import findings

GPU = Gpus(devices=(Gpu(index=0, name="NVIDIA H100 80GB HBM3", capability="9.0", memory=80 << 30),))

LOOP = """\
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda")
model = Model().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loader = DataLoader(dataset, batch_size=16, num_workers=4, pin_memory=True)
for epoch in range(3):
    for step, batch in enumerate(loader):
        batch = batch.to(device, non_blocking=True)
        loss = model(batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def in_step(*lines: str) -> str:
    """The plain loop with more lines at the end of its step."""
    return LOOP + "".join(f"        {line}\n" for line in lines)


def facts(source: str, language: str = "python", *, path: str = "train.py", gpus: Gpus | None = GPU) -> Facts:
    script = Script(path=path, source=source, language=language)  # type: ignore[arg-type]
    return Facts(scripts=(script,), gpus=gpus) if gpus else Facts(scripts=(script,))


def found(rule: Rule, source: str, language: str = "python", **more: object) -> tuple[Finding, ...]:
    return findings(rule, facts(source, language, **more))  # type: ignore[arg-type]


def subjects(rule: Rule, source: str, language: str = "python") -> list[str]:
    return [finding.subject for finding in found(rule, source, language)]
