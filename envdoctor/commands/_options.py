"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from envdoctor.speed.cost import Price

F = TypeVar("F", bound=Callable[..., Any])

FAIL_ON = ("error", "warning", "note", "never")


def environment(command: F) -> F:
    return click.option(
        "--env",
        "env",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="The environment: a venv, a conda prefix or a python. Default: the active one.",
    )(command)


def target(command: F) -> F:
    command = click.option(
        "--stack", metavar="NAME", help="Take this stack instead of the first one that the machine can run."
    )(command)
    return click.option(
        "--target",
        "-t",
        "target_name",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="A GPU (h100, cpu, ...), a target file, or auto: the GPU found.",
    )(command)


def selection(command: F) -> F:
    select = click.option("--select", multiple=True, metavar="RULE", help="Only this rule or family. Repeatable.")
    ignore = click.option("--ignore", multiple=True, metavar="RULE", help="Leave out a rule or family. Repeatable.")
    return select(ignore(command))


def fail_on(command: F) -> F:
    return click.option(
        "--fail-on",
        type=click.Choice(FAIL_ON),
        default="warning",
        show_default=True,
        help="Exit 1 from this severity on.",
    )(command)


def verbose(command: F) -> F:
    return click.option("--verbose", "-v", is_flag=True, help="Notes and skipped rules too.")(command)


def yes(command: F) -> F:
    return click.option("--yes", "-y", is_flag=True, help="Do not ask before changing anything.")(command)


def formats(command: F) -> F:
    output = click.option(
        "--output",
        "-o",
        "outputs",
        multiple=True,
        metavar="FORMAT=PATH",
        help="Write a format into a file as well. Repeatable.",
    )
    format_ = click.option(
        "--format",
        "format_",
        type=click.Choice(("text", "json", "junit", "sarif", "github", "markdown", "svg")),
        help="Of the output. Default: text, or annotations under GitHub Actions.",
    )
    return format_(output(command))


def cost(command: F) -> F:
    steps = click.option(
        "--steps", "steps_", type=click.IntRange(1), metavar="N", help="Steps of your run: shows its time."
    )
    price = click.option(
        "--price", type=PriceType(), metavar="2.49/h", help="What the machine costs: shows the run's cost."
    )
    return steps(price(command))


class PriceType(click.ParamType[Any]):
    """Money per hour: ``2.49``, ``2.49/h``, ``$2.49/h`` or ``2.49 EUR/h``."""

    name = "price"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Price:
        from envdoctor.speed.cost import Price

        if isinstance(value, Price):
            return value
        try:
            return Price.parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
