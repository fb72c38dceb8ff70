"""``envdoctor rules``: every rule, by family."""

from __future__ import annotations

import click

from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stdout
from envdoctor.commands.explain import as_document
from envdoctor.rules.catalog import load_rules


@click.command("rules")
@_options.format_of("text", "json", "markdown")
def command(format_: str) -> None:
    """List the rules, with severity and title. `envdoctor explain NAME` tells more of one.

    \b
    Examples:
      envdoctor rules
      envdoctor rules --format markdown > rules.md
    """
    rules = load_rules()
    if format_ == "json":
        print_json({"schema": 1, "rules": [as_document(rule) for rule in rules]})
    elif format_ == "markdown":
        click.echo("| rule | severity | what it says |\n|---|---|---|")
        for rule in rules:
            click.echo(f"| `{rule.name}` | {rule.severity.word} | {rule.title} |")
    else:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("rule", "severity", "what it says"):
            table.add_column(column, no_wrap=column != "what it says")
        for rule in rules:
            table.add_row(rule.name, rule.severity.word, rule.title)
        stdout().print(table)
