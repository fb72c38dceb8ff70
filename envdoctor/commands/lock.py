"""``envdoctor lock``: write stacks, check how far they have drifted, or make one of an environment of your own."""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict
from pathlib import Path

import click

from envdoctor import bundle, doctor
from envdoctor.commands import _options
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import count_noun, paste, print_json, quoted, stderr, stdout
from envdoctor.commands._progress import steps
from envdoctor.errors import Trouble
from envdoctor.facts import collect
from envdoctor.facts.environment import Environment
from envdoctor.facts.model import Facts, Interpreter, Packages, Unavailable
from envdoctor.knowledge.with_extensions import PublishedExtension, find_extensions
from envdoctor.locks import library, own, target
from envdoctor.locks.choice import choose_target
from envdoctor.locks.key import of_target
from envdoctor.locks.lint import lint
from envdoctor.locks.writing import adopt, inputs
from envdoctor.locks.writing.drift import Drift, check_stack
from envdoctor.locks.writing.extensions import write_extended
from envdoctor.locks.writing.lock import Written, write_stack
from envdoctor.locks.writing.new_target import write_target
from envdoctor.rules.checkup import CheckOptions
from envdoctor.rules.finding import Severity
from envdoctor.sources import sources
from envdoctor.sources.sources import Sources


@click.command("lock")
@click.argument("name", required=False)
@click.option("--check", "check_", is_flag=True, help="Say what has drifted and what that makes stale; write nothing.")
@click.option("--lint", "lint_", is_flag=True, help="Hold it to what installing it safely demands; write nothing.")
@click.option("--share", is_flag=True, help="Print the address with which others take this lock; write nothing.")
@_options.force("the environment is broken")
@click.option("--from", "source", metavar="FILE|environment", help="Make a stack and a target of your own from this.")
@click.option(
    "--with",
    "extensions",
    multiple=True,
    metavar="NAMES",
    help="Lock the stack with these extensions as its extras, as a stack and target of your own. Repeatable.",
)
@click.option("--as", "own_name", metavar="NAME", help="Name of the stack and target that --with makes.")
@_options.folder("Default: the bundled ones; your own: ./locks")
@click.option("--keep", is_flag=True, help="Keep the versions of the present lock where the requirements allow it.")
@click.option("--like", metavar="TARGET", default="auto", help="Whose GPU and flags a target of your own takes over.")
@_options.environment
@_options.text_or_json
def command(
    name: str | None,
    check_: bool,
    lint_: bool,
    share: bool,
    force: bool,
    source: str | None,
    extensions: tuple[str, ...],
    own_name: str | None,
    folder: Path | None,
    keep: bool,
    like: str,
    env: Path | None,
    format_: str,
) -> int:
    """Write a stack: exact versions, sizes and hashes of wheels, no addresses.

    Stacks are written from lockfiles/inputs/NAME.in by uv's universal resolver; the same answer gives the same bytes.

    \b
    Examples:
      envdoctor lock cu130
      envdoctor lock cu130 --check
      envdoctor lock team --from uv.lock     # or requirements.txt, or environment
      envdoctor check --target team          # found by its name in ./locks
      envdoctor lock cu130 --with liger-kernel,bitsandbytes --as mine
      envdoctor lock team --share            # its address and hash

    Exit codes: 0 done, or nothing has drifted; 1 (--check, --lint) something has, or the environment is too broken to
    be locked; 2 wrong usage; 3 nothing resolves.
    """
    if source is not None:
        place = folder or Path(own.FOLDER)
        return _adopt(source, name, place, like, env, force=force, format_=format_)
    if share:
        return _share(name, folder, format_)
    if extensions:
        return _extend(name, find_extensions(extensions), own_name, folder or Path(own.FOLDER), like, format_=format_)
    folder = folder or bundle.lockfiles()
    if name is None:
        raise Trouble("which stack?", where="NAME", remedy=f"One of: {', '.join(_stacks(folder))}")
    if lint_:
        return _lint(folder / f"pylock.{name}.toml", format_)
    _require_inputs(name, folder)
    found = sources.read(folder, variables=os.environ, folder=Path.cwd())
    wanted = inputs.read(folder / "inputs" / f"{name}.in")
    with steps(stderr()) as progress:
        progress(f"resolving {name}")
        if check_:
            targets = [target.load(path) for path in sorted((folder / "targets").glob("*.toml"))]
            lock = library.sound(folder / f"pylock.{name}.toml")
            drift = check_stack(lock, wanted, sources=found, targets=targets)
        else:
            written = write_stack(name, wanted, folder=folder, sources=found, upgrade=not keep)
    return _show_drift(drift, format_) if check_ else _show_written(written, format_)


def _require_inputs(name: str, folder: Path) -> None:
    if (folder / "inputs" / f"{name}.in").exists():
        return
    path = folder / f"pylock.{name}.toml"
    if path.is_file():
        words = f"{quoted(name)} --from FILE|environment --folder {quoted(str(folder))}"
        remedy = f"Write it again: envdoctor lock {words}"
        raise Trouble(f"was not made from inputs/{name}.in", file=path, remedy=remedy)
    known = sorted(one.stem for one in (folder / "inputs").glob("*.in"))
    words = f"{quoted(name)} --from requirements.txt --folder {quoted(str(folder))}"
    own = f"Make one of your own: envdoctor lock {words}"
    remedy = f"Known: {', '.join(known)}." if known else own
    raise Trouble(f"there is no stack {name!r} in {folder}", where="NAME", remedy=remedy)


def _stacks(folder: Path) -> list[str]:
    return sorted(path.name.split(".")[1] for path in folder.glob("pylock.*.toml"))


def _lint(path: Path, format_: str) -> int:
    if not path.is_file():
        raise Trouble("there is no such lock", file=path, remedy=f"One of: {', '.join(_stacks(path.parent))}")
    flaws = lint(path)
    if format_ == "json":
        print_json({"schema": 1, "lock": str(path), "flaws": [asdict(flaw) for flaw in flaws]})
        return int(any(flaw.fatal for flaw in flaws))
    for flaw in flaws:
        stdout().print(f"{'✗' if flaw.fatal else '!'} {flaw.where}: {flaw.problem}", markup=False)
    if not flaws:
        stdout().print(f"✓ {path.name}: nothing to object to", markup=False)
    return int(any(flaw.fatal for flaw in flaws))


def _adopt(
    source: str, name: str | None, folder: Path, like: str, env: Path | None, *, force: bool, format_: str
) -> int:
    if name is None:
        raise Trouble(
            "how shall the stack be called?",
            where="NAME",
            remedy=f"Name it: envdoctor lock mine --from {quoted(source)}",
        )
    environment = environment_of(env).require()
    with steps(stderr()) as progress:
        progress("examining the environment")
        facts = collect.begin(environment, torch=False).finish()
        interpreter = _interpreter(facts, environment)
        found: Sources = sources.read(environment.path, variables=os.environ, folder=Path.cwd())
        progress(f"locking {source}")
        if source == "environment":
            if isinstance(facts.packages, Unavailable):
                raise Trouble(facts.packages.reason, file=environment.path, exit_code=3)
            packages: Packages = facts.packages
            if not force:
                _refuse_broken(facts, environment)
            adopted = adopt.adopt_environment(packages, interpreter, name, folder=folder, sources=found, force=force)
        else:
            adopted = adopt.adopt_file(Path(source), name, folder=folder, interpreter=interpreter, sources=found)
        model, _ = choose_target(like, facts, library.load_targets())
        path = write_target(name, folder=folder, like=model, origin=source)
    for line in adopted.left_out:
        stderr().print(f"left out: {line}", markup=False)
    code = _show_written(adopted.written, format_)
    by_name = folder.absolute() == Path.cwd() / own.FOLDER
    paste(stderr(), "  Use it: ", f"envdoctor check --target {quoted(name if by_name else str(path))}")
    elsewhere = "" if by_name else f" --folder {quoted(str(folder))}"
    paste(stderr(), "  Share it: ", f"envdoctor lock {quoted(name)} --share{elsewhere}")
    return code


def _extend(
    name: str | None,
    wanted: tuple[PublishedExtension, ...],
    own_name: str | None,
    folder: Path,
    like: str,
    *,
    format_: str,
) -> int:
    """A stack of one's own: the requirements of a bundled one with extensions beside them, resolved together."""
    if name is None or own_name is None:
        where, example = ("NAME", "cu130") if name is None else ("--as", "mine")
        raise Trouble("which stack, and how is the new one called?", where=where, remedy=f"For example: {example}")
    bundled = bundle.lockfiles()
    _require_inputs(name, bundled)
    lock, requirements = library.sound(bundled / f"pylock.{name}.toml"), inputs.read(bundled / "inputs" / f"{name}.in")
    found = sources.read(folder, variables=os.environ, folder=Path.cwd())
    with steps(stderr()) as progress:
        progress(f"resolving {name} with {', '.join(one.name for one in wanted)}")
        written = write_extended(own_name, requirements, lock, wanted, folder=folder, sources=found)
        targets = library.load_targets()
        stacked = (one for one in targets.values() if name in one.stacks)
        model = targets[like] if like in targets else next(stacked, targets["cpu"])
        path = write_target(
            own_name, folder=folder, like=model, origin=f"{name} with extras", extras=[one.name for one in wanted]
        )
    code = _show_written(written, format_)
    by_name = folder.absolute() == Path.cwd() / own.FOLDER
    paste(stderr(), "  Use it: ", f"envdoctor fix --target {quoted(own_name if by_name else str(path))}")
    return code


def _refuse_broken(facts: Facts, environment: Environment) -> None:
    """Raises `Trouble` for an environment with errors that a lock would carry to every machine that uses it."""
    options = CheckOptions(target="none", torch=False, select=("packages", "interpreter"))
    errors = [found for found in doctor.judge(facts, options).diagnosis.findings if found.severity is Severity.ERROR]
    if errors:
        more = f" (and {len(errors) - 1} more errors)" if len(errors) > 1 else ""
        raise Trouble(
            f"this environment is broken, and so would be all that are made from its lock: {errors[0].message}{more}",
            file=environment.path,
            remedy="Mend it first (envdoctor check --target none), or lock it as it is: --force",
            exit_code=1,
        )


def _share(name: str | None, folder: Path | None, format_: str) -> int:
    """Print what others type. The hash is over the target's file and its locks, which lie beside it or above it."""
    if name is None:
        raise Trouble("which lock?", where="NAME", remedy="For example: envdoctor lock team --share")
    wanted = name if folder is None else str(folder / "targets" / f"{name}.toml")
    chosen, _ = library.named_target(wanted, library.load_targets())
    shown = chosen.path if chosen.path is not None else Path(name)
    with contextlib.suppress(ValueError):
        shown = shown.absolute().relative_to(Path.cwd())
    digest = of_target(chosen, bundled=False)
    place = shown.as_posix().lstrip("/")
    served = f"https://HOST/{place}#sha256={digest}"
    tracked = f"git+https://HOST/REPOSITORY.git@TAG#path={place}&sha256={digest}"
    if format_ == "json":
        print_json({"schema": 1, "sha256": digest, "https": served, "git": tracked})
        return 0
    click.echo(f"{served}\n{tracked}")
    stderr().print("  Put the folder on a server, or into git. Others: envdoctor check --target ADDRESS,", markup=False)
    stderr().print('  or, to have it by its name, in envdoctor.toml: targets = ["ADDRESS"]', markup=False)
    return 0


def _interpreter(facts: Facts, environment: Environment) -> Interpreter:
    if isinstance(facts.interpreter, Unavailable):
        raise Trouble(facts.interpreter.reason, file=environment.path, exit_code=3)
    return facts.interpreter


def _show_written(written: Written, format_: str) -> int:
    console = stderr()
    for change in written.changes:
        console.print(f"  {change}", markup=False)
    for problem in written.problems:
        console.print(f"  ! {problem}", markup=False)
    if format_ == "json":
        told = {"lock": str(written.stack.path), "changed": written.changed, "changes": list(written.changes)}
        print_json({"schema": 1, **told, "problems": list(written.problems)})
    state = "written" if written.changed else "unchanged, byte for byte"
    packages = count_noun(len(written.stack.lock.packages), "package")
    console.print(f"✓ {written.stack.path}: {state}, {packages}", markup=False)
    return 0


def _show_drift(drift: Drift, format_: str) -> int:
    console = stdout()
    moved = [one for one in drift.newer if not one.held]
    if format_ == "json":
        told = {"newer": [asdict(one) for one in drift.newer], "drifted": bool(moved or drift.stale)}
        pairs = {"at_stake": drift.at_stake, "stale": drift.stale}
        named = {key: [{"target": n, "workload": b.workload} for n, b in rows] for key, rows in pairs.items()}
        print_json({"schema": 1, **told, **named, "unknown": drift.unknown or None})
        return int(bool(moved or drift.stale))
    for one in drift.newer:
        held = " (held back by its own requirements)" if one.held else ""
        console.print(f"  {one.name:<24} {one.locked:>16} → {one.newest}{held}", markup=False)
    for name, baseline in drift.at_stake:
        console.print(f"  a new lock makes {name}'s measured {baseline.workload} baseline a derived one", markup=False)
    for name, baseline in drift.stale:
        console.print(f"  {name}'s {baseline.workload} baseline was measured with an older lock", markup=False)
    if drift.unknown:
        console.print(f"  what is held back is not known: {drift.unknown}", markup=False)
    if not moved and not drift.stale:
        console.print("✓ nothing has drifted")
    return int(bool(moved or drift.stale))
