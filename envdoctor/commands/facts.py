"""``envdoctor facts``: what the probes see, for a bug report."""

from __future__ import annotations

from pathlib import Path

import click

from envdoctor import bundle
from envdoctor.commands import _options
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import print_json
from envdoctor.facts import collect


@click.command("facts")
@_options.environment
@click.option("--no-torch", is_flag=True, help="Do not import torch (faster; precision and attention are not judged).")
@click.option("--deep", is_flag=True, help="Hash every installed file against its RECORD.")
@_options.output("json")
@_options.format_of("json")
def command(env: Path | None, no_torch: bool, deep: bool, output: Path | None, format_: str) -> None:  # noqa: ARG001 - JSON is the only one
    """Print the facts of an environment as JSON; attach this to a bug report.

    Secrets, host names and hardware serial numbers are left out or replaced by hashes. `envdoctor check --facts FILE`
    judges such a file on any machine.

    \b
    Example:
      envdoctor facts --output facts.json
    """
    collection = collect.begin(environment_of(env), torch=not no_torch, deep=deep, flags_table=bundle.flags_table())
    facts = collection.finish()
    if output is not None:
        collect.write(facts, output)
    else:
        print_json(collect.to_document(facts))
