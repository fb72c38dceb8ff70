"""``envdoctor ci``: a ready, commented snippet that stops a job before its expensive step."""

from __future__ import annotations

import re
from importlib import resources

import click

from envdoctor import __version__
from envdoctor.commands import _options
from envdoctor.errors import Trouble
from envdoctor.sources.own_distribution import PLACEHOLDER, own_requirement, requirement_of

SNIPPETS = {
    "github": "github.yml",
    "gitlab": "gitlab.yml",
    "slurm": "slurm.sh",
    "k8s": "k8s.yml",
    "docker": "docker.txt",
    "skypilot": "skypilot.yml",
    "runpod": "runpod.sh",
}

# As SkyPilot's catalogue calls them (docs.skypilot.co, "sky show-gpus").
ACCELERATORS = {
    "a100": "A100-80GB:1", "b200": "B200:1", "h100": "H100:1", "h200": "H200:1", "l4": "L4:1", "l40s": "L40S:1",
    "rtx3090": "RTX3090:1", "rtx4090": "RTX4090:1", "rtx5090": "RTX5090:1", "t4": "T4:1", "v100": "V100:1",
}  # fmt: skip


@click.command("ci")
@click.argument("where", type=click.Choice((*SNIPPETS, "key")))
@_options.target_alone("auto")
@click.option("--source", metavar="ADDRESS", help="Where jobs install envdoctor from: git+https://...@TAG, or a wheel.")
def command(where: str, target_name: str, source: str | None) -> None:
    """Print a complete, commented snippet for a CI system or a scheduler.

    Without --source, jobs install what you installed here: from the same git commit, wheel or index. `ci key` prints
    the name of an environment made of the target's locks, under which jobs keep it.

    \b
    Examples:
      envdoctor ci github --target h100 > .github/workflows/train.yml
      envdoctor ci slurm --source git+https://git.example/envdoctor > a.sbatch
      envdoctor ci key --target h100
    """
    target = target_name
    if where == "key":
        from envdoctor.locks import library
        from envdoctor.locks.key import key

        click.echo(key(target, library.load_targets()))
        return
    if not re.fullmatch(r"[\w./+-]+", target):
        raise Trouble(f"{target!r} cannot stand in a script", where="--target", remedy="Name it by letters and digits.")
    requirement = requirement_of(source) if source else own_requirement(__version__)
    if requirement is None:
        requirement, about = PLACEHOLDER + __version__, "put your address of envdoctor here (or: envdoctor ci --source)"
        click.echo("envdoctor: not known where jobs can install envdoctor from: see --source", err=True)
    else:
        about = "where jobs install the doctor from"
    text = (resources.files("envdoctor") / "snippets" / SNIPPETS[where]).read_text("utf-8")
    values = {
        "SOURCE": requirement,
        "ABOUT_SOURCE": about,
        "ACCELERATOR": ACCELERATORS.get(target, "H100:1"),
        "TARGET": target,
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    click.echo(text, nl=False)
