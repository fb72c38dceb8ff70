"""``envdoctor explain NAME``: a rule's own documentation, or the rules of a family."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import click

from envdoctor.commands import _options
from envdoctor.commands._output import print_json, say, stdout
from envdoctor.errors import Trouble
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.rule import Rule


@click.command("explain")
@click.argument("name", shell_complete=_options.complete_rule)
@_options.text_or_json
def command(name: str, format_: str) -> None:
    """Explain a rule: what it costs when it is broken, how to mend it, and how that is known; or list a family.

    \b
    Examples:
      envdoctor explain precision/float32-matmul
      envdoctor explain precision
    """
    found = _find_rules(name, load_rules())
    if format_ == "json":
        print_json({"schema": 1, "rules": [as_document(rule) for rule in found]})
    elif len(found) == 1:
        _show(found[0])
    else:
        for rule in found:
            say(stdout(), f"{rule.name}  ({rule.severity.word})  {rule.title}", hang=4)


def as_document(rule: Rule) -> dict[str, str]:
    return {"rule": rule.name, "severity": rule.severity.word, "title": rule.title, **rule.sections}


def _find_rules(name: str, rules: Sequence[Rule]) -> list[Rule]:
    """The rule of this name, with or without its family, or all rules of a family. Raises `Trouble` for neither."""
    found = [r for r in rules if r.name == name] or [r for r in rules if r.name.endswith(f"/{name}")][:1]
    if found := found or [r for r in rules if r.family == name.rstrip("/")]:
        return found
    families = dict.fromkeys(rule.family for rule in rules)
    words = [*families, *(rule.name for rule in rules), *(rule.name.rpartition("/")[2] for rule in rules)]
    near = difflib.get_close_matches(name, words, n=3)
    remedy = f"Did you mean {' or '.join(near)}?" if near else "See: envdoctor rules"
    raise Trouble(f"there is no rule or family {name!r}", where="NAME", remedy=remedy)


def _show(rule: Rule) -> None:
    from rich.text import Text

    console = stdout()
    console.print(Text.assemble((rule.name, "bold"), f"  ({rule.severity.word})\n"))
    console.print(f"{rule.title}.", markup=False)
    for head, text in rule.sections.items():
        console.print()
        console.print(Text(head, "bold"))
        # Each source in a line of its own, and no line of ours ends inside an address: it is there to be copied.
        for part in re.split(r"\s+(?=https?://)", text) if head == "Source" else text.splitlines():
            say(console, f"  {part}", hang=2)
