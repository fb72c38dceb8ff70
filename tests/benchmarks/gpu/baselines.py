"""A target's baseline, recorded by the program itself from fresh processes, and what is derived from it.

`envdoctor baseline record` writes it into a copy of the target file beside the results; the raw windows of every
process are in that file. For chips of the same kind that nobody has measured, the expected speed follows from it by
data sheets and published matrix-product speeds (envdoctor/speed/baselines/derive.py).
"""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.gpu import machine, program
from tests.benchmarks.gpu.session import Session, why

# Asks the program what it expects on each chip it knows, from the baselines of one target file.
DERIVE = """
import json, sys
from pathlib import Path
from envdoctor.knowledge import gpus
from envdoctor.locks.target import load
from envdoctor.speed.baselines import derive
measured = [b for b in load(Path(sys.argv[1])).baselines if b.evidence == "measured"]
found = {}
for chip in gpus.models().every():
    for one in measured:
        if gpus.board(one.gpu or "") in (None, chip):
            continue
        other = derive.derive(chip, [one], one.workload, one.stack)
        if other is not None:
            rates = [rate for row in other.windows for rate in row]
            found[chip.name + ", " + one.workload] = {
                "steps_per_second": sorted(rates)[len(rates) // 2], "factor": other.conditions["factor"],
                "spread": other.conditions["spread"], "source": other.source,
            }
print(json.dumps(found))
"""


def measure(session: Session) -> None:
    """Record, show, derive."""
    chosen = session.pick(("chat-5m",), ("chat-135m", "chat-30m"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        doctor = program.interpreter(folder / "doctor")
        for number, workload in enumerate(chosen):
            processes = session.pick(3, (10, 5)[min(number, 1)])
            call = functools.partial(record, session, doctor, folder, workload, processes)
            session.attempt("record " + workload, call, 32 * processes)
        if written(session).exists():
            session.attempt("derived", lambda: derived(session, doctor, folder), 10)
    session.table(shown(session))


def written(session: Session) -> Path:
    """The target file with the baselines, beside the results."""
    return session.output.resolve().parent / ("%s-measured.toml" % _target(session))


def _target(session: Session) -> str:
    return machine.target_name(session.device)


def record(session: Session, doctor: str, folder: Path, workload: str, processes: int) -> dict[str, Any]:
    """The program's own recording; where it refuses because the machine is disturbed, once more with --noisy, which
    writes the disturbances down.
    """
    words = [
        doctor, "-m", "envdoctor", "baseline", "record", "--target", _target(session), "--workload", workload,
        "--processes", str(processes), "--output", str(written(session)), "--env", program.environment_here(),
    ]  # fmt: skip
    limit = min(600.0, max(60.0, session.left)) if session.full else 900.0
    more = [] if session.full else ["--noisy"]
    done = program.run([*words, *more], limit, folder)
    reports = _reports(folder)
    if done.code:
        session.facts["%s said" % workload] = done.err[-3000:]
        session.facts["%s reports" % workload] = reports
        raise RuntimeError("ended with %d after %d reports: %s" % (done.code, len(reports), done.err.strip()[-250:]))
    return {"said": done.err[-600:], "command": words[1:], "reports": reports}


def _reports(folder: Path) -> list[Any]:
    """What the trainer reported in each process, so that nothing is lost when the recording is refused."""
    found = sorted((folder / "state").glob("**/report.json"), key=lambda path: path.stat().st_mtime)
    kept = ("outcome", "error", "windows", "reference_probes", "warmup", "contention", "memory", "choices", "breakdown")
    return [{key: json.loads(path.read_text()).get(key) for key in kept} for path in found]


def derived(session: Session, doctor: str, folder: Path) -> dict[str, Any]:
    """Expected speeds of other chips."""
    done = program.run([doctor, "-c", DERIVE, str(written(session))], 60, folder)
    if done.code:
        raise RuntimeError(done.err.strip()[-300:])
    show = program.run([doctor, "-m", "envdoctor", "baseline", "show", "--target", str(written(session))], 60, folder)
    return {"chips": json.loads(done.out), "shown": show.out}


def shown(session: Session) -> list[str]:
    """The table."""
    lines: list[str] = []
    for name, row in session.rows.items():
        if "error" in row or "not run" in row:
            lines.append("%s: %s" % (name, why(row, 300)))
        elif name == "derived":
            lines += row["shown"].splitlines()
            lines += [
                "  %-32s %8.3f it/s (x %.2f, spread %.2f)"
                % (chip, one["steps_per_second"], one["factor"], one["spread"])
                for chip, one in row["chips"].items()
            ]
        else:
            lines.append("%s: %s" % (name, row["said"].strip().splitlines()[-1][:140]))
    if written(session).exists():
        lines.append("written: %s" % written(session).name)
    return lines
