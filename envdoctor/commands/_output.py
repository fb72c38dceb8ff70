"""Where results go: data on stdout, everything else on stderr, files where asked."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
from rich.console import Console


def stdout() -> Console:
    """For reports: colours only on a terminal, the terminal's width, or 100 columns into a file."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 100, soft_wrap=False)


def stderr() -> Console:
    return Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    click.echo(json.dumps(document, indent=1, ensure_ascii=False))
