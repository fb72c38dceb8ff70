"""How the processes of a run were started, as its text shows: ranks that came, and what a job asked Slurm for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_RANK = Pattern(r"\bGLOBAL_RANK: (?P<rank>\d{1,4}), MEMBER: \d{1,4}/(?P<size>\d{1,4})\b")
_GPUS = Pattern(r"#SBATCH\s.{0,100}--(?:gres[= ]gpu:(?:\w{1,20}:)?|gpus-per-node[= ](?:\w{1,20}:)?)(\d{1,2})\b")
_TASKS = Pattern(
    r"#SBATCH\s.{0,100}--n?tasks-per-node[= ](\d{1,3})\b|#SBATCH\s.{0,100}(?:--ntasks[= ]|-n ?)(\d{1,4})\b"
)
_DIRECT = Pattern(
    r"^\s*srun\b(?!.{0,300}\b(?:torchrun|accelerate launch|deepspeed|torch\.distributed|--ntasks"
    r"|-n \d))"
)
"""Slurm itself starts the processes, one for each task."""
_LIGHTNING = Pattern(r"pytorch_lightning|\blightning\b|\bpl\.Trainer\b|GLOBAL_RANK:", 2)


def lines(page: Page) -> Iterator[str]:
    """One line for each thing that is not as it has to be, for those who look for words in a text."""
    ranks: Counter[int] = Counter()
    size = 0
    gpus = tasks = 0
    direct = lightning = False
    for text in page.lines:
        if found := _RANK.search(text):
            ranks[int(found["rank"])] += 1
            size = max(size, int(found["size"]))
        if found := _GPUS.search(text):
            gpus = int(found[1])
        if found := _TASKS.search(text):
            tasks = int(found[1] or found[2])
        direct = direct or _DIRECT.search(text) is not None
        lightning = lightning or _LIGHTNING.search(text) is not None
    never = [rank for rank in range(min(size, 512)) if rank not in ranks]
    if never and any(count > 1 for count in ranks.values()):
        yield f"of {size} ranks {len(never)} never came, and others came twice"
    if lightning and direct and gpus > 1 and tasks < gpus:
        yield f"Slurm starts {tasks or 'one'} of {gpus} processes on each node"
