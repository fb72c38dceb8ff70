"""How many GPUs, ranks and nodes a run has, and how fast its nodes are joined, from whatever the facts say."""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from envdoctor.knowledge.questions import whole_cpus
from envdoctor.rules.rule import Facts, known

Word = TypeVar("Word")


def gpu_count(facts: Facts) -> int | None:
    """GPUs of this machine when their number is known. A report that names one GPU may stand on a machine of eight."""
    gpus, torch = known(facts.gpus), known(facts.torch)
    if gpus and gpus.count is not None:
        return gpus.count
    if torch and torch.device_count is not None:
        return torch.device_count
    if gpus and (facts.origin.kind != "pasted" or len(gpus.devices) > 1):
        return len(gpus.devices)
    return None


def settings(facts: Facts) -> Mapping[str, str]:
    launcher = known(facts.launcher)
    return launcher.settings if launcher else {}


def variables(facts: Facts) -> Mapping[str, str]:
    return known(facts.variables) or {}


def whole(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d{1,6}", text.strip()) else None


def nodes(facts: Facts) -> int | None:
    """Machines of the run."""
    network = known(facts.network)
    stated = network.nodes if network else None
    names = ("NNODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES")
    found = [stated, whole(settings(facts).get("num_machines")), *(whole(variables(facts).get(name)) for name in names)]
    numbers = [number for number in found if number]
    return max(numbers, default=None)


def ranks_here(facts: Facts) -> tuple[int, str] | None:
    """Processes on this machine, and what says so."""
    environment = variables(facts)
    for name in ("LOCAL_WORLD_SIZE", "NPROC_PER_NODE", "SLURM_NTASKS_PER_NODE"):
        if number := whole(environment.get(name)):
            return number, f"{name}={number}"
    machines = nodes(facts) or 1
    if number := whole(settings(facts).get("num_processes")):
        return max(1, number // machines), f"num_processes: {number}" + (
            f" on {machines} machines" if machines > 1 else ""
        )
    if number := whole(environment.get("WORLD_SIZE")):
        return max(1, number // machines), f"WORLD_SIZE={number}" + (f" on {machines} machines" if machines > 1 else "")
    return None


def cpus_of_a_rank(facts: Facts) -> int | None:
    """CPUs of this machine that each of its processes may have."""
    host, started = known(facts.host), ranks_here(facts)
    cpus = whole_cpus(host) if host else None
    return max(1, cpus // started[0]) if cpus and started else None


def pairs(table: Iterable[Iterable[Word]]) -> list[tuple[int, int, Word]]:
    """Each two GPUs once, with what the table's row of the one says of the other."""
    return [(one, other, word) for one, row in enumerate(table) for other, word in enumerate(row) if one < other]


def why_sharded(facts: Facts) -> str | None:
    """What says that parameters are gathered over the network in every step: ZeRO-3, fully sharded FSDP."""
    given = settings(facts)
    for name, value in given.items():
        if name.endswith("zero_stage") and value == "3":
            return "ZeRO-3"
        if name.endswith("sharding_strategy") and value.upper().endswith(("FULL_SHARD", "1")):
            return "FSDP"
        if name.endswith("reshard_after_forward") and value.lower() in ("true", "full_shard"):
            return "FSDP"
    if given.get("distributed_type", "").endswith("FSDP"):
        return "FSDP"
    texts = [script.source for script in facts.scripts if script.language != "python"]
    texts += [f"{key} {value}" for key, value in facts.remarks.items()]
    for text in texts:
        if re.search(r"(?i)ds_z3|ds3\b|zero_?3|zero-3|\"stage\": 3|zero_stage:? 3", text):
            return "ZeRO-3"
    return None


def fastest(facts: Facts) -> int | None:
    """Mbit/s of the fastest Ethernet interface that is known."""
    network = known(facts.network)
    speeds = [whole(text.rpartition(" ")[2]) for text in network.interfaces] if network else []
    return max((speed for speed in speeds if speed), default=None)


def adapters(facts: Facts) -> tuple[tuple[str, str], ...]:
    """InfiniBand adapters: name and state ("active", "down", ...)."""
    network = known(facts.network)
    parts = [text.split() for text in network.infiniband] if network else []
    return tuple((words[0], words[1].lower() if len(words) > 1 else "") for words in parts if words)
