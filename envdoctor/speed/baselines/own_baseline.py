"""The user's own baseline of their own program: every measured run is kept, and later runs are judged by them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts.wire import to_json
from envdoctor.launch.trainer import runs_folder
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed import statistics
from envdoctor.speed.baselines.recording import record
from envdoctor.speed.evidence.windows import disturbances
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report, parse
from envdoctor.speed.verdict import judge
from envdoctor.values.document import read_json, write_whole

SCHEMA = 1
KEPT = 20  # runs; older ones fall out, so that the baseline follows the program


def path_of(name: str) -> Path:
    """Where a baseline of that name is kept. Raises `Trouble` for a name that is no file name."""
    if not re.fullmatch(r"[\w.-]{1,80}", name) or name.startswith("."):
        remedy = "Use letters, digits, - and _."
        raise Trouble(f"{name!r} cannot name a baseline", where="--repeat-baseline", remedy=remedy)
    return runs_folder().parent / "baselines" / f"{name}.json"


def read(path: Path) -> tuple[Report, ...]:
    """The kept runs, oldest first; empty for a new name. Raises `Trouble` for a broken file."""
    if not path.exists():
        return ()
    data = read_json(path, limit=64 * 1024 * 1024)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("runs"), list):
        raise Trouble("not a baseline of envdoctor's", file=path, remedy="Remove the file to begin anew.")
    return tuple(parse(run, path) for run in data["runs"])


def why_not_kept(run: Report) -> str | None:
    """Why a run may not become part of a baseline (interrupted, too short, disturbed), or None."""
    if run.outcome != "finished":
        return "it did not finish"
    if not run.windows:
        return "it was too short to be timed"
    times = statistics.process(run.rates, [window.seconds for window in run.windows])
    return next((found.text for found in disturbances([run], [times])), None)


def append(path: Path, kept: Sequence[Report], run: Report) -> None:
    """Keep one more run; the file is replaced in one step."""
    runs: list[Any] = [to_json(report) | {"schema": 1, "outcome": report.outcome} for report in (*kept, run)[-KEPT:]]
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        remedy = "Set XDG_STATE_HOME to a folder that can be written."
        raise Trouble(error.strerror or str(error), file=path, remedy=remedy) from error
    write_whole(path, json.dumps({"schema": SCHEMA, "runs": runs}))


def judge_by_own_runs(run: Report, kept: Sequence[Report], name: str) -> Verdict:
    """The run against the kept ones; not comparable until there are enough of them to know their spread."""
    # A program of one's own has no workload's name: the baseline's takes its place, so that like is held against like.
    run, kept = replace(run, workload=name), [replace(report, workload=name) for report in kept]
    needed = statistics.FEWEST_BASELINE_PROCESSES
    why = why_not_kept(run)
    if why is not None or len(kept) < needed:
        plain = judge([run], None)
        text = f"run {len(kept) + 1} of baseline {name!r} is kept; {needed} are needed before a run can be judged"
        if why is not None:
            text = f"this run is not kept for baseline {name!r}: {why}"
        return replace(plain, workload=name, reasons=(text, *plain.reasons[1:]))
    try:
        baseline: Baseline = record(kept, Target(name="own", title="own"), "own", command=f"--repeat-baseline {name}")
    except Trouble as trouble:
        plain = judge([run], None)
        return replace(plain, workload=name, reasons=(f"the kept runs make no baseline: {trouble.problem}",))
    return judge([run], replace(baseline, lock=None), same_machine=True)
