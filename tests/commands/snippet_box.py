"""A machine for the snippets: bash runs their lines; around the real envdoctor stands what only a cluster has.

`python3 -m venv` makes the doctor's environment by linking to this one's envdoctor, and writes down what pip was told
to install. `envdoctor preflight` and `fix` read their options as the real commands do and make a real, empty
environment, but install and train nothing (tests marked ``install`` do): preflight ends with the exit code in GATE.
All else is real.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from envdoctor.system import process
from envdoctor.system.process import Outcome

ROOT = Path(__file__).resolve().parents[2]

DOCTOR = """#!{python}
import os, sys, venv
sys.path.insert(0, {root!r})
words = sys.argv[1:]
with open(os.environ["BOX_LOG"], "a") as log:
    log.write("envdoctor " + " ".join(words) + chr(10))
from envdoctor.cli import envdoctor, main
if words[0] in ("preflight", "fix"):
    command = envdoctor.get_command(None, words[0])
    try:
        told = command.make_context(words[0], words[1:]).params
    except Exception as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    if not told["env"].exists():
        assert told.get("fix_") or words[0] == "fix", "there is no environment"
        assert told["yes"], "nobody can be asked"
        venv.create(told["env"], with_pip=False)
    sys.exit(int(os.environ.get("GATE", "0")) if words[0] == "preflight" else 0)
main(words)
"""

PYTHON3 = """#!/bin/bash
if [ "$1 $2" = "-m venv" ]; then
    mkdir -p "$3/bin"
    ln -sf "$BOX/doctor" "$3/bin/envdoctor"
    ln -sf "$BOX/pip" "$3/bin/python"
else
    exec {python} "$@"
fi
"""

PIP = """#!/bin/bash
echo "pip ${*: -1}" >> "$BOX_LOG"
"""

SRUN = """#!/bin/bash
# One task a node, each with the name of its node; the exit code is the worst one.
echo "srun $1" >> "$BOX_LOG"
while [ "${1#--}" != "$1" ]; do shift; done
worst=0
for node in n1 n2; do
    SLURMD_NODENAME=$node "$@" || { code=$?; [ $code -gt $worst ] && worst=$code; }
done
exit $worst
"""

RUNPODCTL = """#!/bin/bash
echo "runpodctl $*" >> "$BOX_LOG"
"""


class Ran(NamedTuple):
    outcome: Outcome
    log: list[str]

    @property
    def commands(self) -> list[str]:
        """What was called, without paths and options."""
        return [" ".join(line.split()[:2]) for line in self.log]


class Box:
    """A home, a project with a train.py, and the programs above on PATH."""

    def __init__(self, folder: Path, *, real: bool = False) -> None:
        """``real``: python3, pip, preflight and all it does are the machine's own; minutes, and gigabytes."""
        self._real = real
        self.folder, self.home, self.project = folder, folder / "home", folder / "project"
        self.programs = folder / "programs"
        for path in (self.home, self.project, self.programs):
            path.mkdir(parents=True)
        self.log = folder / "log"
        self.log.touch()
        (self.project / "train.py").write_text("import sys; print('trained by', sys.prefix, sys.argv[1:])\n")
        python = Path(sys.executable)
        for name, text in {
            "doctor": DOCTOR.format(python=python, root=str(ROOT)),
            "pip": PIP,
            "programs/python3": PYTHON3.replace("{python}", str(python)),
            "programs/srun": SRUN,
            "programs/runpodctl": RUNPODCTL,
        }.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        if real:
            (self.programs / "python3").unlink()

    def variables(self, **more: str) -> dict[str, str]:
        own = {n: v for n, v in os.environ.items() if n.startswith(("PIP_", "UV_", "XDG_CONFIG"))} if self._real else {}
        return {
            **own,
            "PATH": f"{self.programs}:{Path(sys.executable).resolve().parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "BOX": str(self.folder),
            "BOX_LOG": str(self.log),
            **more,
        }

    def bash(self, script: str, *, words: Sequence[str] = (), flags: str = "-eo pipefail", **more: str) -> Ran:
        """Run shell text in the project as a CI runner does: bash, ending at the first failure."""
        path = self.folder / "script.sh"
        path.write_text(script)
        argv = ["bash", *flags.split(), str(path), *words]
        outcome = process.run(argv, deadline=1200 if self._real else 120, env=self.variables(**more), cwd=self.project)
        return Ran(outcome, self.log.read_text().splitlines())

    def steps(self, steps: Sequence[Mapping[str, Any]], variables: Mapping[str, str], **inputs: str) -> Ran:
        """Run the steps of a GitHub job: files pass variables, paths and outputs on; after a failure only always()."""
        temporary = self.folder / "temporary"
        temporary.mkdir()
        outputs: dict[str, str] = {}
        extra: dict[str, str] = {}
        path, first = [], None

        def value(text: str) -> str:
            known = {**{f"inputs.{name}": one for name, one in inputs.items()}, **outputs, "runner.os": "Linux"}
            return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: known[found[1]], text)

        for number, step in enumerate(steps):
            if "run" not in step or (first is not None and "always()" not in step.get("if", "")):
                continue
            files = {name: temporary / f"{name}{number}" for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT")}
            for file in files.values():
                file.touch()
            own = {name: value(text) for name, text in step.get("env", {}).items()}
            places = ":".join([*reversed(path), self.variables()["PATH"]])
            given = {**variables, **extra, **own, "RUNNER_TEMP": str(temporary), "PATH": places}
            ran = self.bash(value(step["run"]), **given, **{name: str(file) for name, file in files.items()})
            extra |= dict(line.split("=", 1) for line in files["GITHUB_ENV"].read_text().splitlines())
            path += files["GITHUB_PATH"].read_text().splitlines()
            for line in files["GITHUB_OUTPUT"].read_text().splitlines():
                name, text = line.split("=", 1)
                outputs[f"steps.{step['id']}.outputs.{name}"] = text
            if not ran.outcome.ok and not step.get("continue-on-error"):
                first = first or ran
        self.outputs = outputs
        return Ran((first or ran).outcome, ran.log)
