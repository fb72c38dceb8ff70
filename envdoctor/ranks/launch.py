"""Which process of a distributed job this is, by the variables that its launcher set."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envdoctor.errors import Trouble
from envdoctor.values.frozen import frozen

MOST = 100_000


@frozen
class Launch:
    """One process of several. ``hosts_store``: nobody else holds the key-value store at ``address`` and ``port``."""

    rank: int
    world: int
    local_rank: int
    address: str
    port: int
    launcher: str
    hosts_store: bool


def find_launch(variables: Mapping[str, str]) -> Launch | None:
    """None for a process that is alone. Raises `Trouble` for variables that contradict each other.

    torchrun and accelerate set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT (pytorch.org, "torchrun");
    srun sets SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID and SLURM_STEP_NODELIST (slurm.schedmd.com, "srun").
    """
    if "RANK" in variables and "WORLD_SIZE" in variables:
        agent = variables.get("TORCHELASTIC_USE_AGENT_STORE") == "True"  # torchrun itself holds the store
        rank, launcher = _number(variables, "RANK"), "torchrun" if "TORCHELASTIC_RUN_ID" in variables else "RANK"
        world = _number(variables, "WORLD_SIZE")
        local = _number(variables, "LOCAL_RANK", rank)
        address, port = variables.get("MASTER_ADDR", "127.0.0.1"), _number(variables, "MASTER_PORT", 29500)
    elif "SLURM_PROCID" in variables and "SLURM_STEP_ID" in variables:
        rank, world = _number(variables, "SLURM_PROCID"), _number(variables, "SLURM_NTASKS", 1)
        local, launcher, agent = _number(variables, "SLURM_LOCALID", 0), "srun", False
        nodes = variables.get("SLURM_STEP_NODELIST", variables.get("SLURM_JOB_NODELIST", "127.0.0.1"))
        address = variables.get("MASTER_ADDR", first_host(nodes))
        port = _number(variables, "MASTER_PORT", 15000 + _number(variables, "SLURM_JOB_ID", 0) % 10000)
    else:
        return None
    if world == 1:
        return None
    if not 0 <= rank < world <= MOST:
        raise Trouble(f"rank {rank} of {world}", where=f"variables of {launcher}", remedy="Let the launcher set them.")
    return Launch(
        rank=rank,
        world=world,
        local_rank=local,
        address=address,
        port=port,
        launcher=launcher,
        hosts_store=rank == 0 and not agent,
    )


def first_host(nodes: str) -> str:
    """``gpu[003-007,12],cpu1`` -> ``gpu003``: Slurm's compressed list of hosts."""
    found = re.match(r"([^\[,]+)(?:\[(\d+))?", nodes)
    return f"{found[1]}{found[2] or ''}" if found else nodes


def _number(variables: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = variables.get(name)
    if text is None and default is not None:
        return default
    if text is None or not re.fullmatch(r"\d{1,9}", text):
        raise Trouble(f"{name} is {text!r}, not a number", where="variables of the launcher")
    return int(text)
