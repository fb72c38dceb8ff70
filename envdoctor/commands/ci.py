"""``envdoctor ci``: a ready, commented snippet that stops a job before its expensive step."""

from __future__ import annotations

from importlib import resources

import click

SNIPPETS = {
    "github": "github.yml",
    "gitlab": "gitlab.yml",
    "slurm": "slurm.sh",
    "k8s": "k8s.yml",
    "docker": "docker.txt",
}


@click.command("ci")
@click.argument("where", type=click.Choice(tuple(SNIPPETS)))
@click.option("--target", "-t", default="auto", show_default=True, metavar="NAME")
def command(where: str, target: str) -> None:
    """Print a complete, commented snippet for a CI system or a scheduler.

    \b
    Examples:
      envdoctor ci github --target h100 > .github/workflows/train.yml
      envdoctor ci slurm > train.sbatch
    """
    text = resources.files("envdoctor").joinpath("snippets", SNIPPETS[where]).read_text("utf-8")
    click.echo(text.replace("@TARGET@", target), nl=False)
