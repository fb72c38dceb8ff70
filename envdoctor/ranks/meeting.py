"""Bring the ranks of a job together: a child in each environment's own Python talks, rank 0 hears all and decides."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from envdoctor.facts.environment import Environment
from envdoctor.ranks.launch import Launch
from envdoctor.system import temporary
from envdoctor.system.process import Child, Outcome
from envdoctor.values.frozen import frozen

TALK = Path(__file__).resolve().parents[1] / "facts" / "probe" / "ranks.py"
SECONDS = 120.0  # for everybody to come, to time an all-reduce, and to hear the word; each node imports torch first
GRACE = 15.0  # after that a child that still runs is killed

# Of each rank its own, as the launcher set them.
OWN_VARIABLES = frozenset(
    "CUDA_VISIBLE_DEVICES LOCAL_RANK LOCAL_WORLD_SIZE MASTER_PORT RANK WORLD_SIZE TMPDIR TORCHELASTIC_ERROR_FILE "
    "TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE".split()
)


@frozen
class Met:
    """What rank 0 heard: a document of each rank that came, who did not, and how the all-reduce went."""

    world: int
    documents: Mapping[int, Mapping[str, Any]]
    missing: tuple[int, ...]
    backend: str | None
    collective: Mapping[int, Mapping[str, Any]]


def document_of(launch: Launch, facts: Mapping[str, Any], check: Mapping[str, Any]) -> dict[str, Any]:
    """What a rank tells the others: its facts but for what is its own by nature, and what its check found."""
    variables = facts.get("variables")
    if isinstance(variables, dict):
        facts = {**facts, "variables": {n: v for n, v in variables.items() if n not in OWN_VARIABLES}}
    return {"rank": launch.rank, "host": socket.gethostname(), "facts": facts, "check": check}


def meet(
    environment: Environment,
    launch: Launch,
    document: Mapping[str, Any],
    decide: Callable[[Met], int],
    *,
    seconds: float = SECONDS,
) -> int | str:
    """Meet the other ranks. Rank 0 calls ``decide`` with what it heard; every rank returns that exit code, or (a text)
    why it never heard of it."""
    folder = temporary.new_folder()
    request, answer, verdict = (folder / name for name in ("request.json", "answer.json", "verdict"))
    try:
        words = {
            "rank": launch.rank, "world": launch.world, "local_rank": launch.local_rank, "address": launch.address,
            "port": launch.port, "hosts_store": launch.hosts_store, "seconds": seconds, "document": dict(document),
        }  # fmt: skip
        request.write_text(json.dumps(words), "utf-8")
        child = Child([environment.python, "-E", "-B", TALK, request, answer, verdict], deadline=seconds + GRACE)
        ended: list[Outcome] = []
        waiting = threading.Thread(target=lambda: ended.append(child.wait()), daemon=True)
        waiting.start()
        try:
            heard = _wait_for_answer(folder / "answer.json.part", waiting) if launch.rank == 0 else None
            if heard is not None:
                (folder / "draft").write_text(str(decide(_meeting_result(launch, heard))), "utf-8")
                (folder / "draft").replace(verdict)
            waiting.join(seconds + 2 * GRACE)
        finally:
            child.kill()
        told = _read(answer) or {}
        if str(told.get("verdict", "")).isdigit():
            return int(told["verdict"])
        return str(told.get("error") or (ended[0].err.strip() or ended[0].ending if ended else "it did not end"))
    finally:
        temporary.remove(folder)


def _wait_for_answer(path: Path, child: threading.Thread) -> dict[str, Any] | None:
    while not path.exists() and child.is_alive():
        time.sleep(0.02)
    return _read(path)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _meeting_result(launch: Launch, heard: Mapping[str, Any]) -> Met:
    collective = heard.get("collective") or {}
    return Met(
        world=launch.world,
        documents={int(rank): document for rank, document in heard["documents"].items()},
        missing=tuple(heard["missing"]),
        backend=collective.get("backend"),
        collective={int(rank): told for rank, told in collective.get("ranks", {}).items()},
    )
