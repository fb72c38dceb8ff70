"""Launch files: shell scripts with torchrun or accelerate launch, accelerate's YAML, DeepSpeed's JSON."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from envdoctor.facts.model import Script
from envdoctor.rules.rule import Facts, Pattern, Skip

_COMMAND = Pattern(
    r"(?:^|\s|&&|;)(?P<tool>torchrun|accelerate\s+launch|deepspeed|python3?\s+-m\s+torch\.distributed\.(?:run|launch)"
    r"|python3?\s+-m\s+accelerate\.commands\.launch)\s(?P<rest>.*)"
)
_OPTION = Pattern(r"--(?P<name>[A-Za-z][\w-]*)(?:[= ]\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\s-]\S*))?")
_YAML = Pattern(r"^(?P<indent>\s*)(?P<key>[A-Za-z_][\w-]*)\s*:\s*(?P<value>[^#]*?)\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a launch file, by the name that accelerate gives it, and where it stands."""

    place: str
    name: str
    value: str
    line: str


_SAME = {"nproc_per_node": "processes_per_node", "nproc-per-node": "processes_per_node", "nnodes": "num_machines",
         "num-processes": "num_processes", "num_gpus": "processes_per_node", "num-machines": "num_machines",
         "mixed-precision": "mixed_precision", "gpu-ids": "gpu_ids", "num_nodes": "num_machines",
         "cpu": "use_cpu", "use-cpu": "use_cpu"}  # fmt: skip
_ACCELERATE = frozenset(("compute_environment", "distributed_type", "num_processes", "use_cpu", "machine_rank"))


def settings(facts: Facts) -> Iterator[tuple[Script, tuple[Setting, ...]]]:
    """The settings of each launch file. Raises `Skip` when there is none."""
    files = [script for script in facts.scripts if script.language in ("yaml", "shell", "json")]
    if not files:
        raise Skip("no launch file was given")
    for script in files:
        reader = {"yaml": _yaml, "shell": _shell, "json": _json}[script.language]
        yield script, tuple(reader(script))


def _yaml(script: Script) -> Iterator[Setting]:
    """Plain keys of accelerate's configuration; sections give "deepspeed_config.zero_stage"."""
    section = ""
    found = []
    for number, line in enumerate(script.source.splitlines(), 1):
        if match := _YAML.match(line):
            if not match["indent"]:
                section = match["key"] if not match["value"] else ""
            name = f"{section}.{match['key']}" if match["indent"] and section else match["key"]
            found.append(Setting(f"{script.path}:{number}", name, match["value"].strip("'\""), line.strip()))
    if {setting.name for setting in found} & _ACCELERATE:
        yield from found


def _shell(script: Script) -> Iterator[Setting]:
    """Options of the launcher's command, and the variables that decide which GPUs it sees."""
    joined = script.source.replace("\r\n", "\n").replace("\\\n", " \x00")
    number = 1
    for line in joined.split("\n"):
        text = line.replace("\x00", "")
        if not text.lstrip().startswith("#"):
            place = f"{script.path}:{number}"
            for name in ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"):
                if match := re.search(rf"(?:^|\s){name}=(\"[^\"]*\"|'[^']*'|\S*)", text):
                    yield Setting(place, name, match[1].strip("\"'"), text.strip())
            if command := _COMMAND.search(text):
                yield Setting(place, "launcher", command["tool"], text.strip())
                for option in _OPTION.finditer(_own_options(command["rest"])):
                    value = (option["value"] or "true").strip("\"'")
                    yield Setting(place, _SAME.get(option["name"], option["name"]), value, text.strip())
        number += 1 + line.count("\x00")


def _own_options(rest: str) -> str:
    """The launcher's own options end where the script's name begins."""
    script = re.search(r"(?:^|\s)(?:-m\s+\S+|\S+\.py)(?:\s|$)", rest)
    return rest[: script.start()] if script else rest


def _json(script: Script) -> Iterator[Setting]:
    """DeepSpeed's configuration, flattened with dots."""
    try:
        data = json.loads(script.source)
    except (ValueError, RecursionError):
        return
    if isinstance(data, dict):
        for name, value in _flat(data, "", 0):
            yield Setting(script.path, name, value, f"{name}: {value}")


def _flat(data: Mapping[str, object], prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        if isinstance(value, dict) and depth < 8:
            yield from _flat(value, f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", str(value)
