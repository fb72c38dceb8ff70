"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from envdoctor.errors import Trouble

if TYPE_CHECKING:
    from envdoctor.speed.cost import Price

F = TypeVar("F", bound=Callable[..., Any])

FAIL_ON = ("error", "warning", "note", "never")
CHECKUP_FORMATS = ("text", "json", "junit", "sarif", "github", "markdown", "svg")
ENDINGS = {
    ".txt": "text", ".json": "json", ".xml": "junit", ".sarif": "sarif", ".md": "markdown", ".svg": "svg",
    ".html": "html", ".toml": "toml",
}  # fmt: skip
"""What a file is written as when no format stands before it."""


def environment(command: F) -> F:
    return click.option(
        "--env",
        "env",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="The environment: a venv, a conda prefix or a python. Default: the active one.",
    )(command)


def complete_target(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """For a shell: the targets whose names begin so."""
    from envdoctor.locks import library

    targets = library.load_targets()
    return [name for name in ("auto", "none", *targets.own, *targets) if name.startswith(begun)]


def complete_rule(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """For a shell: the rules and families whose names begin so."""
    from envdoctor.rules.catalog import load_rules

    names = [rule.name for rule in load_rules()]
    families = dict.fromkeys(name.partition("/")[0] for name in names)
    return [name for name in (*families, *names) if name.startswith(begun)]


def target(command: F) -> F:
    command = click.option(
        "--stack", metavar="NAME", help="Take this stack instead of the first one that the machine can run."
    )(command)
    return target_alone("auto")(command)


def target_alone(default: str) -> Callable[[F], F]:
    """``--target`` of a command that chooses no stack."""
    return click.option(
        "--target",
        "-t",
        "target_name",
        default=default,
        show_default=True,
        metavar="NAME",
        shell_complete=complete_target,
        help="A GPU (h100, cpu, ...), a target file, or auto: the GPU found.",
    )


def selection(command: F) -> F:
    def rules(name: str, help_: str) -> Callable[[F], F]:
        return click.option(name, multiple=True, metavar="RULE", shell_complete=complete_rule, help=help_)

    select = rules("--select", "Only this rule or family. Repeatable.")
    return select(rules("--ignore", "Leave out a rule or family. Repeatable.")(command))


def fail_on(command: F) -> F:
    return click.option(
        "--fail-on",
        type=click.Choice(FAIL_ON),
        default="warning",
        show_default=True,
        help="Exit 1 from this severity on.",
    )(command)


def verbose(command: F) -> F:
    return click.option("--verbose", "-v", is_flag=True, help="Everything: notes, skipped rules, each figure.")(command)


def folder(help_: str, *, required: bool = False) -> Callable[[F], F]:
    return click.option(
        "--folder", type=click.Path(path_type=Path), required=required, metavar="PATH", help=f"Of lockfiles. {help_}"
    )


def force(obstacle: str) -> Callable[[F], F]:
    return click.option("--force", is_flag=True, help=f"Do it although {obstacle}.")


def python(command: F) -> F:
    return click.option(
        "--python", metavar="PYTHON", help="Interpreter for what does not exist yet. Default: one that the lock is for."
    )(command)


def workload(command: F) -> F:
    return click.option("--workload", metavar="NAME", help="What to time. Default: the target's own.")(command)


def yes(command: F) -> F:
    return click.option("--yes", "-y", is_flag=True, help="Do not ask before changing anything.")(command)


def formats(command: F) -> F:
    format_ = click.option(
        "--format",
        "format_",
        type=click.Choice(CHECKUP_FORMATS),
        help="Of what is printed. Default: text, or annotations under GitHub Actions.",
    )
    return format_(outputs(*CHECKUP_FORMATS)(command))


def text_or_json(command: F) -> F:
    return format_of("text", "json")(command)


def format_of(*names: str) -> Callable[[F], F]:
    """``--format`` with these choices, the first of them the default. With json, errors are JSON on stdout too."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(names),
        default=names[0],
        show_default=True,
        help="Of what is printed.",
    )


def outputs(*names: str) -> Callable[[F], F]:
    """``--output``, any number of them: the answer into files as well, in any of these formats."""
    return click.option(
        "--output",
        "-o",
        "outputs",
        type=OutputType(names),
        multiple=True,
        metavar="[FORMAT=]PATH",
        help=f"Write the answer into a file too: {', '.join(names)}. Repeatable.",
    )


def output(name: str, *, default: str | None = None) -> Callable[[F], F]:
    """``--output`` of a command that writes one file, in its one format; the parameter is a path, or None."""
    return click.option(
        "--output",
        "-o",
        "output",
        type=OutputType((name,), alone=True),
        default=default,
        show_default=default is not None,
        metavar=f"[{name}=]PATH",
        help=f"Write the answer into this file ({name}).",
    )


def cost(command: F) -> F:
    steps = click.option(
        "--steps", "steps_", type=click.IntRange(1), metavar="N", help="Steps of your run: shows its time."
    )
    price = click.option(
        "--price", type=PriceType(), metavar="2.49/h", help="What the machine costs: shows the run's cost."
    )
    return steps(price(command))


class OutputType(click.ParamType[Any]):
    """``FORMAT=PATH``, or a path alone where its ending, or the command's one format, says which."""

    name = "output"

    def __init__(self, names: tuple[str, ...], *, alone: bool = False) -> None:
        self.names, self.alone = names, alone

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):  # a default that has been one before
            return value
        name, path = self._parts(value)
        if name not in self.names or not path:
            example = f"{self.names[0]}=PATH" if self.alone else "FORMAT=PATH"
            remedy = f"FORMAT is one of {', '.join(self.names)}; or end the path in {self._endings()}"
            raise Trouble(f"expected {example}, found {value!r}", where="--output", remedy=remedy)
        return Path(path) if self.alone else (name, Path(path))

    def _parts(self, value: str) -> tuple[str, str]:
        name, separator, path = value.partition("=")
        if separator and name.isalnum():  # ./a=b.json is a path
            return name, path
        return (self.names[0] if self.alone else ENDINGS.get(Path(value).suffix.lower(), "")), value

    def _endings(self) -> str:
        return ", ".join(ending for ending, name in ENDINGS.items() if name in self.names)


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
