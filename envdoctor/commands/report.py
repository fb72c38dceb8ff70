"""``envdoctor report``: one HTML file that says everything, for a colleague or a support ticket."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from envdoctor import doctor
from envdoctor.commands import _options
from envdoctor.commands._dialogue import TerminalDialogue
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import print_json, stderr, write
from envdoctor.errors import Trouble
from envdoctor.render.document import document
from envdoctor.render.html import page
from envdoctor.render.speed import document as speed_document
from envdoctor.rules.checkup import CheckOptions
from envdoctor.speed.timing import TimingOptions
from envdoctor.values.document import SIZE_LIMIT, read_json


@click.command("report")
@_options.environment
@_options.target
@_options.output("html", default="envdoctor.html")
@click.option("--no-speed", is_flag=True, help="Do not train: findings only.")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="Show the JSON of an earlier check or preflight."
)
@click.option("--before", type=click.Path(path_type=Path), help="JSON of the check or preflight before the fix.")
@click.option("--speed", type=click.Path(path_type=Path), help="JSON of verify (--why), instead of training now.")
@click.option("--ablation", type=click.Path(path_type=Path), help="JSON of envdoctor ablate.")
@_options.text_or_json
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    output: Path,
    no_speed: bool,
    source: Path | None,
    before: Path | None,
    speed: Path | None,
    ablation: Path | None,
    format_: str,
) -> None:
    """Write one self-contained HTML file: findings, speed, breakdown, conditions; light and dark, no network.

    It trains a short workload first: one to three times, about a minute each. --no-speed takes seconds.

    \b
    Examples:
      envdoctor report --target cpu --env ./env
      envdoctor preflight --format json > run.json
      envdoctor report --from run.json --output run.html
      envdoctor report --from after.json --before before.json
    """
    if source is not None:
        found = _read_document(source)
    else:
        found = _now(env, CheckOptions(target=target_name, stack=stack), no_speed or speed is not None)
    earlier = _read_document(before) if before is not None else {}
    text = page(
        found["check"],
        speed=_read_document(speed, "verdict") if speed is not None else found.get("speed"),
        change=found.get("change"),
        before=earlier.get("check"),
        before_speed=earlier.get("speed"),
        ablation=_read_document(ablation, "rows") if ablation is not None else None,
        made=time.strftime("%Y-%m-%d %H:%M"),
    )
    write(output, text)
    if format_ == "json":
        print_json({"schema": 1, "file": str(output)})
    stderr().print(f"✓ {output}", markup=False)


def _now(env: Path | None, options: CheckOptions, no_speed: bool) -> dict[str, Any]:
    environment = environment_of(env).require()
    with TerminalDialogue().shown() as dialogue:
        if no_speed:
            dialogue.step("examining the environment")
            return {"check": document(doctor.examine(environment, options))}
        told = doctor.verify(environment, options, TimingOptions(), dialogue)
    return {"check": document(told.checkup), "speed": speed_document(told.verdict)}


def _read_document(path: Path, key: str = "check") -> dict[str, Any]:
    """A document of ours: a preflight as it is, a check wrapped into one. Raises `Trouble` for anything else."""
    data = read_json(path, limit=16 * SIZE_LIMIT)
    if isinstance(data, dict) and data.get("schema") == 1:
        if key in data:
            return data
        if key == "check" and "findings" in data and "target" in data:
            return {"check": data}
    raise Trouble(f"holds no {key}", file=path, remedy="Make one: envdoctor preflight --format json > run.json")
