"""Facts from the probes' answers. Whatever a probe did not live to tell is `Unavailable`, with the reason."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from envdoctor import __version__
from envdoctor.facts import scrub, wire
from envdoctor.facts.endings import describe_ending
from envdoctor.facts.environment import Environment
from envdoctor.facts.model import (
    DamagedFile,
    Driver,
    Extension,
    Facts,
    Gpu,
    Gpus,
    Host,
    Interpreter,
    Known,
    Launcher,
    Network,
    Origin,
    Packages,
    Script,
    Storage,
    Unavailable,
)
from envdoctor.system.process import Outcome
from envdoctor.values import document

Lines = Sequence[Mapping[str, Any]]
T = TypeVar("T")

LANGUAGES: Mapping[str, str] = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "shell", ".bash": "shell"}


class Probe:
    """One probe's answer: its sections by name, and what to say of those that are missing."""

    def __init__(self, name: str, outcome: Outcome, lines: Lines) -> None:
        self.sections: dict[str, Any] = {}
        self.errors: dict[str, str] = {}
        self.many: dict[str, list[Any]] = {}
        self.seconds: dict[str, float] = {}
        self.outcome = outcome
        self._name = name
        for line in lines:
            section = str(line.get("section"))
            self.seconds[section] = self.seconds.get(section, 0.0) + _number(line.get("seconds"))
            if line.get("result") == "success":
                self.sections[section] = line.get("value")
                self.many.setdefault(section, []).append(line.get("value"))
            else:
                self.errors.setdefault(section, str(line.get("error")))

    def missing(self, section: str) -> Unavailable:
        """Why a section is not there: its own error, or how the process ended."""
        if section in self.errors:
            return Unavailable(reason=f"{section}: {scrub.text(self.errors[section])}")
        return describe_ending(f"the {self._name} probe", self.outcome)

    def part(self, section: str) -> dict[str, Any]:
        """Fields for a section of another name; none where the answer holds no fields."""
        value = self.sections.get(section)
        return value if isinstance(value, dict) else {}

    def build(self, kind: type[T], section: str, **more: Any) -> Known[T]:
        value = self.sections.get(section)
        if not isinstance(value, dict):
            return self.missing(section)
        try:
            return wire.from_json(kind, {**value, **more})
        except wire.WireError as error:
            return Unavailable(reason=f"{section}: the probe's answer does not fit: {error}")


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def quick(
    environment: Environment,
    outcomes: Mapping[str, Outcome],
    answers: Mapping[str, Lines],
    *,
    scripts: Iterable[Path] = (),
    extra_variables: Iterable[str] = (),
) -> Facts:
    """All facts but torch's own."""
    inside = Probe("environment", outcomes["environment"], answers["environment"])
    machine = Probe("machine", outcomes["machine"], answers["machine"])
    gpus, about_driver, notes = graphics(outcomes, answers, machine)
    tools, memory = machine.part("tools"), machine.part("shared-memory")
    host = machine.build(Host, "host", **tools, **memory)
    if isinstance(host, Host):
        host = dataclasses.replace(host, storage=tuple(storage(machine)))
    found = Facts(
        origin=Origin(
            tool=f"envdoctor {__version__}",
            collected=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            environment=scrub.text(str(environment.path)),
        ),
        interpreter=interpreter(inside),
        packages=packages(inside),
        variables=scrub.variables(os.environ, extra_variables),
        host=host,
        driver=machine.build(Driver, "driver", **about_driver),
        gpus=gpus,
        extensions=extensions(inside),
        network=machine.build(Network, "network"),
        launcher=launcher(machine),
        messages=tuple(notes),
        seconds={**machine.seconds, **inside.seconds},
    )
    # Scripts keep their paths and lines as they are: findings point into them.
    return dataclasses.replace(scrub.shorten_home(found), scripts=tuple(script(path) for path in scripts))


def interpreter(inside: Probe) -> Known[Interpreter]:
    """The environment's Python. One that names no version or no markers did not answer: no lock can be held to it."""
    found = inside.build(Interpreter, "interpreter")
    if isinstance(found, Unavailable) or (re.match(r"\d+\.\d+", found.version) and found.markers):
        return found
    return Unavailable(reason="interpreter: the probe's answer names no version or no markers")


def storage(machine: Probe) -> Iterator[Storage]:
    """The folders that were looked at; an answer that does not fit is none."""
    for value in machine.many.get("storage", []):
        with contextlib.suppress(wire.WireError):
            yield wire.from_json(Storage, value)


def packages(inside: Probe) -> Known[Packages]:
    """Distributions with their damage."""
    found = inside.build(Packages, "packages")
    report = inside.sections.get("damage")
    if isinstance(found, Unavailable) or not isinstance(report, dict):
        return found
    try:
        damaged = tuple(wire.from_json(DamagedFile, problem) for problem in report["problems"])
        counts = {(entry["location"], entry["name"]): int(entry["files"]) for entry in report["files"]}
    except (wire.WireError, KeyError, TypeError, ValueError):
        return found  # the answer does not fit: the files were not checked
    return dataclasses.replace(
        found,
        distributions=tuple(
            dataclasses.replace(each, files=counts.get((each.location, each.name))) for each in found.distributions
        ),
        damaged=damaged,
        damage_checked="hashes" if report.get("checked") == "hashes" else "sizes",
    )


def extensions(inside: Probe) -> Known[tuple[Extension, ...]]:
    values = inside.sections.get("extensions")
    if not isinstance(values, list):
        return inside.missing("extensions")
    try:
        return tuple(wire.from_json(Extension, value) for value in values)
    except wire.WireError as error:
        return Unavailable(reason=f"extensions: the probe's answer does not fit: {error}")


def launcher(machine: Probe) -> Known[Launcher]:
    if "launcher" in machine.sections and machine.sections["launcher"] is None:
        return Unavailable(reason="accelerate has no default configuration here", why="absent")
    found = machine.build(Launcher, "launcher")
    if isinstance(found, Unavailable):
        return found
    # Whose machines these are is nobody's business; what is set for training is ours.
    return dataclasses.replace(
        found, settings={key: scrub.text(value) for key, value in found.settings.items() if not key.endswith("_ip")}
    )


def graphics(
    outcomes: Mapping[str, Outcome], answers: Mapping[str, Lines], machine: Probe
) -> tuple[Known[Gpus], dict[str, Any], list[str]]:
    """GPUs, what NVML and cuInit add to the driver's facts, and remarks on cards that do not answer."""
    if "gpu" not in outcomes:
        return Gpus(count=0), {}, []
    try:
        return _graphics(outcomes, answers, machine)
    except (wire.WireError, AttributeError, KeyError, TypeError, ValueError) as error:
        return Unavailable(reason=f"NVML: the probe's answer does not fit: {error}"), {}, []


def _graphics(
    outcomes: Mapping[str, Outcome], answers: Mapping[str, Lines], machine: Probe
) -> tuple[Known[Gpus], dict[str, Any], list[str]]:
    driver: dict[str, Any] = {}
    notes: list[str] = []
    lines = answers["gpu"]
    said = {key: value for line in lines for key, value in line.items()}
    cuda: Mapping[str, Any] = next(iter(answers["cuinit"]), {})
    driver["cuda"] = cuda.get("cuda") or said.get("cuda")
    driver["cuinit"] = cuda.get("cuinit")
    if not cuda:
        driver["cuinit_error"] = describe_ending("cuInit", outcomes["cuinit"]).reason
    elif "error" in cuda:
        driver["cuinit_error"] = cuda["error"]
    if "smi" in outcomes:
        driver["smi"] = smi(outcomes["smi"])
    if driver.get("cuinit_error"):
        notes.append(driver["cuinit_error"])
    states = {line["fabric"] for line in lines if line.get("fabric")}
    driver["fabric_manager"] = next(
        (state for state in ("not started", "in progress", "completed") if state in states), None
    )
    known = machine.part("driver")
    if said.get("driver") and not known.get("kernel_module"):
        driver["kernel_module"] = said["driver"]  # WSL and Windows: no file tells
    if "error" in said:
        return Unavailable(reason=f"NVML: {said['error']}"), driver, [*notes, f"NVML: {said['error']}"]
    xids = machine.part("kernel-errors")
    devices = []
    for line in lines:
        if "gpu" in line:
            codes = tuple(xids.get(line.get("pci") or "", ()))
            devices.append(dataclasses.replace(wire.from_json(Gpu, line["gpu"]), xid=codes))
        elif "lost" in line:
            notes.append(f"GPU {line['lost']['index']}: {line['lost']['error']}")
    if "count" not in said:
        return describe_ending("NVML", outcomes["gpu"]), driver, notes
    if said.get("stage") != "done":
        notes.append(describe_ending(f"NVML at {said.get('stage')}", outcomes["gpu"]).reason)
    gpus = Gpus(
        devices=tuple(devices),
        count=said["count"],
        topology=tuple(tuple(row) for row in said.get("topology", ())),
        peer_access=tuple(tuple(row) for row in said.get("peer_access", ())),
    )
    return gpus, driver, notes


def smi(outcome: Outcome) -> str:
    """What nvidia-smi said when it failed; "" when it worked."""
    if outcome.ok:
        return ""
    said = [line.strip() for line in (outcome.out + "\n" + outcome.err).splitlines() if line.strip()]
    return scrub.text("\n".join(said[:6])) or outcome.ending


def script(path: Path) -> Script:
    """The user's script as text. Raises `Trouble` naming the file."""
    language = LANGUAGES.get(path.suffix.lower(), "python")
    return Script(path=str(path), source=document.read_text(path), language=language)  # type: ignore[arg-type]
