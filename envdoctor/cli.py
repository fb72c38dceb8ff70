"""The command line. Commands load when they are called, so that the doctor answers at once."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from envdoctor import __version__, bundle, configuration
from envdoctor.errors import Trouble, shorten
from envdoctor.system.stopping import stoppable

GROUPS: dict[str, tuple[str, ...]] = {
    "Every day": ("init", "check", "fix", "undo", "preflight", "run"),
    "Speed": ("fit", "train", "verify", "ablate", "baseline", "report"),
    "Lockfiles": ("lock", "fetch", "targets"),
    "Sharing": ("diagnose", "facts", "fleet", "rules", "explain", "ci", "mcp"),
}
_NO_MEMORY = (
    b"envdoctor: there is not enough memory to work in (ulimit -v, or the job's limit)\n"
    b"  Give it more: a check needs about 100 MB of address space, and torch's import several GB.\n"
)
_NO_ROOM = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory", "can't start new thread")
TASKS = ("sft", "rft", "gritlm", "pretrain")  # of the trainer; they stand behind `train`
OPTIONS_OF_THE_PROGRAM = ("--help", "-h", "--version")


class Commands(click.Group):
    """Commands found by name in `envdoctor.commands`; the first word may be left out for ``check``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        folder = os.path.join(os.path.dirname(__file__), "commands")
        present = {name[:-3] for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_")}
        return [name for names in GROUPS.values() for name in names if name in present]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"envdoctor.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name == "help":  # as git and uv have it
            return super().resolve_command(ctx, [*args[1:2], "--help"] if args[1:] else ["check", "--help"])
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            raise click.UsageError(_unknown_command(name, self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        bare = not args and not ctx.resilient_parsing  # a shell that completes the first word has none yet
        if bare or (args and args[0].startswith("-") and args[0] not in OPTIONS_OF_THE_PROGRAM):
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        present = self.list_commands(ctx)
        for title, names in GROUPS.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name) if name in present else None
                if command is not None:
                    rows.append((name, command.get_short_help_str(90)))
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _unknown_command(name: str, known: Sequence[str]) -> str:
    if os.path.exists(name):
        word = "check --env" if os.path.isdir(name) else "diagnose"
        return f"{name!r} is no command. Did you mean: envdoctor {word} {name}"
    import difflib

    words = {**{word: word for word in known}, **{task: f"train {task}" for task in TASKS}}
    near = difflib.get_close_matches(name, words, n=1, cutoff=0.5)
    return f"There is no command {name!r}. " + (f"Did you mean {words[near[0]]}?" if near else "See: envdoctor --help")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="envdoctor")
def envdoctor() -> None:
    """Will this environment train as fast as it should? Check it, repair it, train, and verify the speed.

    \b
    Examples:
      envdoctor                                  check the active environment
      envdoctor fix --target h100 --env ./env    repair it, or create it
      envdoctor preflight --fix --target auto    check, repair, train, judge it

    Exit codes: 0 healthy or as expected; 1 findings at or above --fail-on, or slower; 2 wrong usage or an
    internal error; 3 could not be examined or judged; 130 interrupted.

    Completion: eval "$(_ENVDOCTOR_COMPLETE=bash_source envdoctor)" in ~/.bashrc; zsh_source, fish_source likewise.
    """


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the program and exit; the only place where exceptions become messages and exit codes."""
    code = run(argv)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass  # the reader of our output went away (| head)
    except OSError:
        code = code or 2
    # Everything that was opened is closed; Python's own end would free each of a million values first.
    os._exit(code)


def run(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        defaults = dict.fromkeys((name for names in GROUPS.values() for name in names), configuration.read(Path.cwd()))
        with stoppable():
            result = envdoctor.main(args=words, standalone_mode=False, default_map=defaults)
        return result if isinstance(result, int) else 0
    except SystemExit as stop:
        if not stop.code:  # click has told a shell what completes a word
            return 0
        if not isinstance(stop.code, int) or stop.code <= 128:  # how click tells that nobody reads on
            return _leave_reader()
        # Told to by a signal: everything on the way has been cleared and ended.
        return _report_stop("told to stop; nothing was left half done", stop.code, words)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        return _report_usage(error, words)
    except (KeyboardInterrupt, click.Abort):
        # An object that Ctrl-C met half made (a ZipFile, say) would complain when it is freed.
        sys.unraisablehook = lambda _: None
        return _report_stop("interrupted; nothing was left half done", 130, words)
    except Trouble as trouble:
        return _report_trouble(trouble, words)
    except BrokenPipeError:
        return _leave_reader()
    except OSError as error:
        if error.errno == errno.ENOMEM:
            return _out_of_memory()
        return _tell_refusal(error, words)
    except MemoryError:
        return _out_of_memory()
    except Exception as error:  # noqa: BLE001 - the last resort: a bug gets a paste-ready line, not a wall of text
        return _out_of_memory() if _is_out_of_memory(error) else _bug(error, words)


def _leave_reader() -> int:
    """The reader of our output went away (| head): not an error, but Python would complain while closing.

    The exit code is that of a program that SIGPIPE ended: what was not told to its end is never a clean bill."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 141


_MORE_FILES = "Allow more open files (ulimit -n 1024), or end programs that hold many."
_SCARCE = {  # what the system is out of, told without the file that it was wanted for
    errno.ENOSPC: ("the disk is full", "standard output", "Make room, or write somewhere else."),
    errno.EFBIG: ("a file may not be that large", "standard output", "Allow larger files: ulimit -f unlimited"),
    errno.EMFILE: ("too many open files", "", _MORE_FILES),
    errno.ENFILE: ("too many open files in the whole system", "", _MORE_FILES),
    errno.EAGAIN: ("no program more may be started", "", "Allow more processes (ulimit -u), or end some."),
}


def _tell_refusal(error: OSError, words: Sequence[str]) -> int:
    """What the system refused where nobody expected it to, most often because rights or folders changed meanwhile."""
    if error.errno is None or (error.filename is None and error.errno not in _SCARCE):
        return _bug(error, words)
    if error.filename is None:
        problem, where, remedy = _SCARCE[error.errno]
        return _report_trouble(Trouble(problem, where=where, remedy=remedy, exit_code=3 if not where else 2), words)
    problem = f"cannot be used: {error.strerror}"
    remedy = "Check that it exists, and that this user may reach it."
    return _report_trouble(Trouble(problem, file=_path(error.filename), remedy=remedy, exit_code=3), words)


def _path(given: object) -> str:
    return os.fsdecode(given) if isinstance(given, (str, bytes)) else f"descriptor {given}"


def _report_usage(error: click.ClickException, words: Sequence[str]) -> int:
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None and "unexpected extra argument" in error.message:
        error = click.UsageError(error.message + _suggest_option(error.message, context), context)
    shown = io.StringIO()
    error.show(file=shown)
    _tell_lines(shown.getvalue().removesuffix("\n"))
    code = 2 if isinstance(error, click.UsageError) else error.exit_code
    remedy = f"{context.command_path} --help" if context is not None else "envdoctor --help"
    _told_as_json(words, "usage", shorten(error.format_message()), code, remedy=remedy)
    return code


def _suggest_option(message: str, context: click.Context) -> str:
    """The option that a word without one belongs to: a folder is an environment, h100 a target."""
    word = message.partition("(")[2].partition(")")[0].split()[0]
    known = {option.name for option in context.command.params}
    if "env" in known and (os.path.isdir(word) or os.sep in word):
        return f". Did you mean --env {word}?"
    if "target_name" in known and word.isidentifier() and (bundle.lockfiles() / "targets" / f"{word}.toml").is_file():
        return f". Did you mean --target {word}?"
    return ""


def _report_trouble(trouble: Trouble, words: Sequence[str]) -> int:
    show(trouble)
    kind, code = ("unknown" if trouble.exit_code == 3 else "input"), trouble.exit_code
    file = None if trouble.file is None else shorten(trouble.file)
    _told_as_json(words, kind, trouble.problem, code, file=file, where=trouble.where, remedy=trouble.remedy)
    return code


def _report_stop(what: str, code: int, words: Sequence[str]) -> int:
    click.echo(f"envdoctor: {what}", err=True)
    _told_as_json(words, "interrupted", what, code)
    return code


def _told_as_json(words: Sequence[str], kind: Any, message: str, code: int, **more: Any) -> None:
    from envdoctor.commands import _failure

    if _failure.wants_json(words):
        sys.stdout.flush()
        _failure.tell(_failure.document(kind, message, code, **more))


def _out_of_memory() -> int:
    """One line that was written before there was no memory left to make one."""
    os.write(2, _NO_MEMORY)
    return 2


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Whether want of memory is behind an error: Python says so in several ways, and libraries pass it on."""
    while error is not None:
        words = str(error)
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        if isinstance(error, (ImportError, RuntimeError, OSError, SystemError)) and any(w in words for w in _NO_ROOM):
            return True
        error = error.__cause__ or error.__context__
    return False


def show(trouble: Trouble) -> None:
    """An expected failure on stderr: what, where, and the remedy."""
    _tell_lines(f"envdoctor: {trouble}")
    if trouble.remedy:
        _tell_lines(trouble.remedy, indent="  ")


def _tell_lines(text: str, indent: str = "") -> None:
    """A text that may quote others: nothing in it steers a terminal, or is a command to a pipeline (``::error::``)."""
    import re

    from envdoctor.facts.scrub import printable

    for line in printable(text, keep_lines=True).split("\n"):
        _tell(indent + shorten(re.sub(r"^\s*(?=::|##)", "| ", line)))


def _tell(line: str) -> None:
    """A line on stderr, wrapped at words on a terminal. A command at its end ("...: envdoctor ...") stays in one line:
    it is there to be copied."""
    said, mark, command = line.rpartition(": envdoctor ")
    import shutil  # with its archives it takes as long as all of click's options

    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else 0
    if not 20 <= width < len(line) or len(command) > 10 * width:
        click.echo(line, err=True)
        return
    import textwrap

    hang = " " * (len(line) - len(line.lstrip()) + 2)
    words = said + mark[:1] if mark else line
    rows = textwrap.wrap(
        words, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
    click.echo("\n".join([*rows, f"{hang}{mark[2:]}{command}"] if mark else rows), err=True)


def _bug(error: Exception, words: Sequence[str]) -> int:
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    with tempfile.NamedTemporaryFile(
        "w", prefix="envdoctor-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as log:
        log.write(f"envdoctor {__version__}, Python {sys.version}\n\n{text}")
    click.echo(f"envdoctor: internal error: {type(error).__name__}: {error}", err=True)
    remedy = f"This is a bug of envdoctor. Please report it with {log.name}"
    click.echo(f"  {remedy}", err=True)
    _told_as_json(words, "internal", f"{type(error).__name__}: {error}", 2, remedy=remedy)
    return 2


if __name__ == "__main__":
    main()
