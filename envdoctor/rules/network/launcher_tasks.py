from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Remedy, Skip, finding, messages, rule

_SAYS = Pattern(
    r"(?i)EADDRINUSE|address already in use|Rendezvous\w*Error|DistNetworkError|client socket has (?:timed out|failed)"
    r"|invalid device ordinal|Duplicate GPU|store based barrier",
)


@rule(ERROR, kind="config-mismatch", subject="tasks per node", expected="one launcher on each node")
def launcher_tasks(facts: Facts) -> Findings:
    """Slurm starts the launcher several times on one node.

    Why: srun starts its command once for each task. torchrun, accelerate and DeepSpeed start a node's processes by
    themselves, so that several of them on one node fight for one port and one set of GPUs, whatever port it is.
    Fix: one task on each node, with all its GPUs and processors; or let srun start Python itself, once for each GPU.
    Source: https://docs.pytorch.org/docs/stable/elastic/run.html https://slurm.schedmd.com/srun.html
    """
    tasks, launched = facts.remarks.get("slurm tasks per node", ""), facts.remarks.get("slurm launcher", "")
    if not tasks.isdigit():
        raise Skip("the report holds no job script for Slurm")
    said = messages.in_report(facts, _SAYS)
    if int(tasks) < 2 or said is None or not (launched or "address" in said[0].lower() or "EADDR" in said[0]):
        return
    each = f"is a launcher of its own ({launched})" if launched else "may be a launcher of its own"
    text = f"Slurm starts {tasks} tasks on each node, and each of them {each}, which want one port and the same GPUs"
    yield finding(
        actual=f"{tasks} tasks on each node",
        severity=ERROR if launched else WARNING,
        message=f"{text}: {said.string}",
        fix=_ONE_TASK,
        explains=("packages/known-errors the meeting of the ranks", "packages/known-errors port", "network/ranks"),
    )


_ONE_TASK = Remedy(
    text="Ask for one task on each node, with all of its GPUs and processors; the launcher starts one process for "
    "each GPU. Another port does not help.",
    commands=("#SBATCH --ntasks-per-node=1", "#SBATCH --gpus-per-node=8"),
)
