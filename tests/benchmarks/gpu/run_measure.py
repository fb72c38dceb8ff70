"""`envdoctor run --measure`: what it costs a script, and what it says of a loop that starves its GPU.

A plain script runs with and without it in turns; the ratio of its own step times is the overhead. Then a loop whose
data take 200 ms for 50 ms of work: the share of waiting that the report tells is held against the loop's own.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.gpu import machine, program
from tests.benchmarks.gpu.session import Session, why

SCRIPTS = Path(__file__).parent / "scripts"


def measure(session: Session) -> None:
    """Turns of the plain script, then the starved loop."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        doctor = program.interpreter(folder / "doctor")
        for turn in range(session.pick(1, 3)):
            for measured in (False, True) if turn % 2 == 0 else (True, False):
                row = "plain script %s, round %d" % ("measured" if measured else "alone", turn)
                session.attempt(row, lambda m=measured: plain(session, doctor, folder, m), 40)  # type: ignore[misc]
        for seconds in session.pick((0.05,), (0.0, 0.2)):
            session.attempt("starved %g s" % seconds, lambda s=seconds: starved(session, doctor, folder, s), 60)  # type: ignore[misc]
    session.table(shown(session))


def under(doctor: str, folder: Path, session: Session) -> list[str]:
    """The words before a measured command."""
    target = machine.target_name(session.device)
    report = "json=%s" % (folder / "measured.json")
    return [
        doctor, "-m", "envdoctor", "run", "--measure", "--no-flags", "--target", target, "--env",
        program.environment_here(), "--output", report, "--",
    ]  # fmt: skip


def plain(session: Session, doctor: str, folder: Path, measured: bool) -> dict[str, Any]:
    """Median seconds of a step of the plain script, the first ones left out."""
    answer, steps = folder / "answer.json", session.pick(6, 120)
    words = [sys.executable, str(SCRIPTS / "plain_trainer.py"), str(answer), str(steps), session.device.type]
    words += session.pick(["toy"], [])
    done = program.run([*(under(doctor, folder, session) if measured else []), *words], 150, folder, plain=True)
    if done.code:
        raise RuntimeError("ended with %d: %s" % (done.code, done.err.strip()[-250:]))
    seconds = json.loads(answer.read_text())[session.pick(1, 20) :]
    row: dict[str, Any] = {"median_ms": 1e3 * statistics.median(seconds), "steps": len(seconds)}
    if measured:
        row["report"] = json.loads((folder / "measured.json").read_text())
        row["said"] = done.err[-1500:]
    return row


def starved(session: Session, doctor: str, folder: Path, seconds: float) -> dict[str, Any]:
    """What the report says of a loop that waits for its data, beside what the loop and the driver say."""
    answer, steps = folder / "starved.json", session.pick(8, 60)
    words = [sys.executable, str(SCRIPTS / "starved_loop.py"), str(answer), str(steps), session.device.type]
    words += [str(seconds), *session.pick(["toy"], [])]
    with machine.Sampler(session.device) as sampler:
        done = program.run([*under(doctor, folder, session), *words], 200, folder, plain=True)
    if done.code:
        raise RuntimeError("ended with %d: %s" % (done.code, done.err.strip()[-250:]))
    truth = json.loads(answer.read_text())
    return {
        "waited_share": truth["waited_share"], "median_ms": 1e3 * statistics.median(truth["steps"][3:]),
        "driver": sampler.means(), "report": json.loads((folder / "measured.json").read_text()),
        "said": done.err[-2500:],
    }  # fmt: skip


def shown(session: Session) -> list[str]:
    """The table."""
    lines, sides = [], {"alone": [], "measured": []}  # type: ignore[var-annotated]
    for name, row in session.rows.items():
        if "median_ms" not in row:
            lines.append("%-34s %s" % (name, why(row, 200)))
            continue
        lines.append("%-34s %9.2f ms a step" % (name, row["median_ms"]))
        if name.startswith("plain"):
            sides["alone" if "alone" in name else "measured"].append(row["median_ms"])
        else:
            lines.append(
                "    waited by its own clock: %.1f %%; the driver: %s" % (100 * row["waited_share"], row["driver"])
            )
            lines += ["    " + line for line in row["said"].strip().splitlines()[-12:]]
    if all(sides.values()):
        ratios = [one / two for one, two in zip(sides["measured"], sides["alone"])]
        lines.append("overhead of --measure: %s" % " ".join("%+.2f%%" % (100 * (r - 1)) for r in ratios))
    return lines
