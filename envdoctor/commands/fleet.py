"""``envdoctor fleet``: which machine differs from the others."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

import click

from envdoctor.commands import _options
from envdoctor.commands._output import print_json, write
from envdoctor.errors import Trouble
from envdoctor.facts import cards
from envdoctor.facts.cards import SeenCard
from envdoctor.facts.fleet import NAMES, Fleet, FleetComparison
from envdoctor.facts.fleet_files import reports
from envdoctor.render import fleet as render
from envdoctor.render.page import laid_out, terminal


@click.command("fleet")
@click.argument("places", nargs=-1, required=True, metavar="FILES...|FOLDER|URL")
@_options.format_of("text", "json", "html")
@_options.outputs("text", "json", "html")
@click.option(
    "--cards",
    "cards_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Remember in this file which GPUs (by hashed ids) were slow, and say so when one is seen again.",
)
def command(
    places: tuple[str, ...], format_: str, outputs: tuple[tuple[str, Path], ...], cards_file: Path | None
) -> int:
    """Compare the reports of many machines and name the odd one out, per fact and per speed.

    Reports are written by `envdoctor facts -o NAME.json` and `envdoctor verify --format json > NAME.speed.json`, one on
    each machine; the file's name is the machine's. A folder is read with all below it; addresses (s3://, gs://, hf://)
    through fsspec, where that is installed.

    \b
    Examples:
      for host in gpu1 gpu2; do ssh $host envdoctor facts > $host.json; done
      envdoctor fleet gpu*.json
      envdoctor fleet reports/ --output html=fleet.html --cards cards.json

    Exit codes: 0 all alike, 1 differences or slow machines, 2 wrong usage, 3 reports that could not be read.
    """
    known = None if cards_file is None else cards.read(cards_file)
    fleet, unread, unread_count, count = Fleet(), dict[str, str](), 0, 0
    identities: dict[str, tuple[str, ...]] = {}
    for name, report in reports(places):
        if isinstance(report, str):
            unread_count += 1
            if len(unread) < NAMES:
                unread[name] = report
            continue
        count += 1
        fleet.add(name, report)
        if known is not None and (found := cards.identities(report)):
            identities[name] = found
    if count < 2:
        raise Trouble(
            f"a fleet is at least two machines, and {'one report was' if count else 'no report was'} found",
            remedy="Give the reports of all of them: files, or a folder that holds them.",
            exit_code=3 if unread_count else 2,
        )
    comparison = fleet.compared()
    seen_before = _seen_before(known or {}, identities)
    document = render.document(comparison, seen_before, unread, unread_count)
    if known is not None and cards_file is not None:
        _remember(known, identities, comparison, cards_file)
    for kind, path in outputs:
        write(path, _text(document, kind))
    if format_ == "json":
        print_json(document)
    elif format_ == "html":
        click.echo(_text(document, "html"), nl=False)
    else:
        width, colour = terminal(sys.stdout, os.environ)
        click.echo(laid_out(render.lines(document), width=width, colour=colour), nl=False)
    if not comparison.alike:
        return 1
    return 3 if unread_count else 0


def _text(document: Mapping[str, object], kind: str) -> str:
    if kind == "html":
        from envdoctor.render.html.fleet import page

        return page(document)
    return (
        json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        if kind == "json"
        else laid_out(render.lines(document))
    )


def _seen_before(known: Mapping[str, SeenCard], identities: Mapping[str, tuple[str, ...]]) -> dict[str, list[SeenCard]]:
    """Machines with cards that were slow in an earlier comparison."""
    found = {
        machine: [known[name] for name in names if name in known and known[name].slow]
        for machine, names in sorted(identities.items())
    }
    return {machine: slow for machine, slow in found.items() if slow}


def _remember(
    known: Mapping[str, SeenCard], identities: Mapping[str, tuple[str, ...]], comparison: FleetComparison, path: Path
) -> None:
    slow = {name for speed in comparison.speeds for name in speed.slow}
    day = datetime.now(timezone.utc).date().isoformat()
    if comparison.speeds:  # without a speed nobody was slow, and nobody was found to be fast
        cards.write(cards.remember(known, identities, slow, day), path)
