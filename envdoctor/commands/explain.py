"""``envdoctor explain NAME``: a rule's own documentation."""

from __future__ import annotations

import difflib

import click

from envdoctor.commands._output import stdout
from envdoctor.errors import Trouble
from envdoctor.rules.catalog import load_rules


@click.command("explain")
@click.argument("name")
def command(name: str) -> None:
    """Explain a rule: what it costs when it is broken, how to mend it, and how that is known.

    \b
    Example:
      envdoctor explain precision/float32-matmul
    """
    from rich.padding import Padding
    from rich.text import Text

    rules = {rule.name: rule for rule in load_rules()}
    rule = rules.get(name) or next((r for r in rules.values() if r.name.endswith(f"/{name}")), None)
    if rule is None:
        near = difflib.get_close_matches(name, [*rules, *(r.rpartition("/")[2] for r in rules)], n=3)
        remedy = f"Did you mean {' or '.join(near)}?" if near else "See: envdoctor rules"
        raise Trouble(f"there is no rule {name!r}", remedy=remedy)
    console = stdout()
    console.print(Text.assemble((rule.name, "bold"), f"  ({rule.severity.word})\n"))
    console.print(f"{rule.title}.")
    for head, text in rule.sections.items():
        console.print()
        console.print(Text(head, "bold"))
        console.print(Padding(Text(text), (0, 0, 0, 2)))
