"""``envdoctor mcp``: the doctor as tools of an assistant."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from envdoctor.errors import Trouble


@click.command("mcp")
@click.option(
    "--env",
    "environments",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Only environments at or below PATH; the first is the default. Repeatable. Default: the active one, and those "
    "below the working directory.",
)
@click.option("--allow-changes", is_flag=True, help="Offer `fix` too, which has to name the plan that was agreed to.")
def command(environments: tuple[Path, ...], allow_changes: bool) -> None:
    """Serve check, diagnose, explain, plan, fit and verify to an assistant (Model Context Protocol, stdio).

    Started by the assistant, not by hand. Nothing is changed without --allow-changes.

    \b
    Examples:
      claude mcp add envdoctor -- envdoctor mcp --env ./env
      envdoctor mcp --env ./env --allow-changes
    """
    if importlib.util.find_spec("mcp") is None or importlib.util.find_spec("mcp_types") is None:
        raise Trouble(
            "the Python SDK of the Model Context Protocol is not installed",
            remedy="Install it: pip install 'gpu-envdoctor[mcp]'",
        )
    import functools

    import anyio

    from envdoctor.assistants.server import serve

    anyio.run(functools.partial(serve, changes=allow_changes, environments=environments))
