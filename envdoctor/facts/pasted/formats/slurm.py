"""What a job script asks Slurm for: how many tasks on a node, and whether each of them is a launcher of its own."""

from __future__ import annotations

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_OPTION = Pattern(r"#SBATCH\s+(?P<options>-.{1,200})")
_PER_NODE = Pattern(r"--n?tasks-per-node[= ](\d{1,4})\b")
_GPUS_PER_TASK = Pattern(r"--gpus-per-task[= ](?:\w+:)?(\d{1,3})\b")
_BOUND = Pattern(r"--accel-bind[= ]\S{0,10}|--gpu-bind[= ](?!none)\S{1,40}")
"""What leaves each task the GPU that lies next to it."""
_TASKS = Pattern(r"(?:--ntasks[= ]|-n ?)(\d{1,5})\b")
_NODES = Pattern(r"(?:--nodes[= ]|-N ?)(\d{1,5})\b")
_LAUNCHED = Pattern(
    r"\bsrun\b.{0,400}\b(?:torchrun|accelerate launch|deepspeed (?!-)|torch\.distributed\.(?:run|launch)\b)"
)
_OWN = Pattern(r"--(?:ntasks|ntasks-per-node)[= ]\d|-n ?\d")
"""What srun itself is told outweighs the job's head."""


def read(page: Page, draft: Draft) -> None:
    asked: dict[str, int] = {}
    launched = own_gpus = bound = ""
    for text in page.lines:
        text = text.strip()
        if (found := _GPUS_PER_TASK.search(text)) and ("SBATCH" in text or "srun" in text or "salloc" in text):
            own_gpus = found[1]
        if (found := _BOUND.search(text)) and ("SBATCH" in text or "srun" in text):
            bound = found[0]
        if option := _OPTION.match(text):
            for name, pattern in (("per node", _PER_NODE), ("tasks", _TASKS), ("nodes", _NODES)):
                if found := pattern.search(option["options"]):
                    asked[name] = int(found[1])
        elif (found := _LAUNCHED.search(text)) and not _OWN.search(text):
            launched = found[0]
    each = asked.get("per node") or asked.get("tasks", 0) // max(1, asked.get("nodes", 1))
    if each:
        draft.remark("slurm tasks per node", str(each))
    if own_gpus:
        draft.remark("slurm gpus per task", own_gpus)
    if bound:
        draft.remark("slurm gpu binding", bound)
    if launched:
        draft.remark("slurm launcher", launched[:200])
