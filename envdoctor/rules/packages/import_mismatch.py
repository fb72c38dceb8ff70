from envdoctor.knowledge.questions import names
from envdoctor.rules.packages import _callers, _copies, _elsewhere, _missed, _out_of_step, _who_moves
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Target, finding, remedies, rule, versions

_PYTHONS_OWN = frozenset(
    "warnings os sys math json re time copy pickle functools itertools subprocess shutil glob logging threading".split()
)
_EXCEPTION = Pattern(r"^[\w.]*(?:Error|Exception)\b")


@rule(ERROR, kind="package-conflict")
def import_mismatch(facts: Facts, target: Target) -> Findings:
    """A package is asked for something that it does not have.

    Why: a name that cannot be imported, an attribute or an argument that does not exist, mean that the caller was
    written for an older or newer release of the package it calls. Which of the two to move follows from who dropped
    the name, or brought it, and when: read from the wheels themselves for the names that are met most.
    Fix: bring both to releases of the same time, or to the target's stack.
    Source: https://docs.python.org/3/library/exceptions.html#ImportError
    """
    told: set[tuple[str, str]] = set()
    for line in sorted(facts.messages, key=_by_evidence):
        missed = _missed.read(facts, line)
        if missed is None or (missed.name, missed.what) in told:
            continue
        name, what, version = missed.name, missed.what, missed.version
        told.add((name, what))
        rows = missed.rows
        row = next((row for row in rows if row.fits(version)), None)
        if _missed.is_told_elsewhere(name) or (row is not None and _missed.is_told_elsewhere(row.package)):
            continue
        own = missed.is_asked_by_itself
        if own and row is not None and row.direction == "added" and _LAZY.search(line):
            yield from _asked_through(missed, row)
        elif own and (row is None or "cannot import name" in line):  # a release asks itself for nothing that it lacks
            yield from _incomplete_package(facts, target, missed)
        elif version is None and missed.is_inner_affair(row):
            yield from _incomplete_package(facts, target, missed, sure=False)
        elif row is not None:
            yield from _known_side(facts, target, missed, row)
        elif version and missed.is_attribute and names.is_module(f"{missed.module}.{what}"):
            yield from _not_imported(missed, f"{missed.module}.{what}", rows[0].source if rows else "")
        elif version and (exact := missed.exact(rows)):
            has, top = _who_moves.span_of(exact), exact.module.partition(".")[0]
            torn = _copies.torn_between(facts, name, version, has, line, source=exact.source)
            yield torn or _copies.another_copy(facts, target, name, version, has, line, module=top, source=exact.source)
        elif missed.is_attribute and what in _PYTHONS_OWN:
            yield _elsewhere.of_python(name, version, what, line)
        elif home := _elsewhere.home_of(name, what, searched=_missed.SEARCHED):
            yield _elsewhere.elsewhere(name, version, what, home, line)
        elif not missed.is_attribute and (other := names.in_other_capitals(missed.module, what)):
            yield _elsewhere.in_other_capitals(name, version, what, other, line)
        elif not missed.is_own_mistake:
            if span := _without_it(missed):
                yield from _not_of_any_time(missed, span)
            elif (name, "") not in told:
                told.add((name, ""))  # once of each package
                yield from _unknown_side(facts, target, missed)


def _by_evidence(line: str) -> tuple[bool, bool]:
    """A program's own words first, of these the lines that name who asks."""
    return _EXCEPTION.search(line) is None, _callers.caller_of(line) is None


def _without_it(missed: _missed.Missed) -> str:
    """The releases of which it is known that none brought or dropped the name, where the listed one is among them."""
    public = "cannot import name" in missed.line and not missed.what.startswith("_")
    read = names.neither_came_nor_went(missed.module) if public else ()
    if not read or (missed.version and not versions.at_least(missed.version, read[0])):
        return ""
    return "" if missed.version and versions.below(read[-1], missed.version) else f"from {read[0]} to {read[-1]}"


def _not_of_any_time(missed: _missed.Missed, span: str) -> Findings:
    """A name that every release has, or none."""
    name, what, top = missed.name, missed.what, missed.name.replace("-", "_")
    doubt = f"No release of {name} {span} is known to bring or drop {what}"
    seen = f"{missed.release}, without {what}"
    expected = f"what the code that imports {what} was written for"
    text = f"{doubt}: {_CHANGED.format(name)}: {missed.said}."
    fix = f"See what is imported; install the copy of {name} that the project's instructions name, or {name} anew."
    run = f"python -c 'import {top}; print({top}.__file__, {top}.__version__)'"
    yield finding(
        subject=name, actual=seen, expected=expected, severity=WARNING, certain=False, message=text, fix=fix, run=run
    )


_CHANGED = (
    "most often it is of a changed copy of {} that the project brings, came later, or what is imported is not the "
    "package (a file or folder of that name, an installation that is not whole)"
)


def _incomplete_package(facts: Facts, target: Target, missed: _missed.Missed, *, sure: bool = True) -> Findings:
    """A package that lacks a part of its own."""
    name, version = missed.name, missed.version
    exact = f"{name}=={versions.public(version)}" if version and versions.public(version) else name
    text = "Start Python anew (in a notebook: restart the runtime); if that does not help, remove " + name
    text += ", with its folder in site-packages, and install it again."
    again = remedies.uninstall(name), remedies.again(exact, "--no-deps --no-cache-dir")
    yield finding(
        subject=name,
        actual=f"{missed.release}, without {missed.what}",
        expected="the files of one release",
        kind="package-damaged",
        severity=None if sure else WARNING,
        certain=False,
        message=f"{name} {version or ''}".rstrip() + f" does not find a part of its own, {missed.what}: {missed.said}.",
        usually=_MIXED,
        fix=remedies.by_hand(facts, target, name, text, *again),
    )


_MIXED = "files of two releases are mixed, an upgrade went on under a running Python, or the imports go in a circle"
_LAZY = Pattern(r"Failed to import transformers\.(?:trainer|integrations|modeling_utils|pipelines)\S{0,40} because")
"""Parts of transformers that import peft and others where these are installed."""


def _asked_through(missed: _missed.Missed, row: names.Name) -> Findings:
    """A part of transformers fails on a name that later releases have: whom it imports asks for it."""
    name, since = missed.name, row.release
    yield finding(
        subject=name,
        actual=missed.release,
        expected=f"{name}>={since}, or what asks for {missed.what} in a release of its time",
        certain=False,
        message=f"{name} has {missed.what} from {since} on, and is asked for it where it has not: {missed.said}.",
        usually=_UPGRADED_ALONE.format(name),
        fix=_EARLIER_PEFT.format(name),
        run=("python -m pip show transformers peft accelerate", "python -m pip install 'peft==0.13.2'"),
        source=row.source,
    )


_UPGRADED_ALONE = (
    "peft (or accelerate, sentence-transformers), which this part of it imports where it is installed, was upgraded "
    "without {}, which the project holds back"
)
_EARLIER_PEFT = (
    "Where the project pins {0}, take a peft of that time (0.13.2 goes with 4.33 to 4.45, 0.10.0 with 4.37 to 4.42); "
    "else upgrade {0}."
)


def _not_imported(missed: _missed.Missed, module: str, source: str) -> Findings:
    """The release that is listed has it as a module, and a module is no attribute before somebody imported it."""
    name, version = missed.name, missed.version
    alone = f"{module} is a module of its own, which {name} {version} has"
    actual = f"{version}, with {module} not imported"
    want = f"import {module}"
    message = f"{alone}, and it is an attribute of its package only once it was imported: {missed.said}"
    fix = (
        f"Write import {module} where the line is. If that fails too, another copy than the listed {version} runs, "
        "or its files are of two releases."
    )
    run = f"python -c 'import {module}; print({module}.__file__)'"
    yield finding(
        subject=name, actual=actual, expected=want, certain=False, message=message, fix=fix, run=run, source=source
    )


def _known_side(facts: Facts, target: Target, missed: _missed.Missed, row: names.Name) -> Findings:
    """Who has to move is known: the caller where it has been mended, else the package, or the line of code."""
    move = _who_moves.move_for(facts, row, missed.line, missed.version)
    seen, why = missed.release, move.usually
    want = move.use or f"a release that has {_who_moves.whole(row)}"
    text = f"{move.meaning}: {missed.said}"
    fix = remedies.from_lock(facts, target, move.packages, move.advice, *move.commands)
    explains = (f"packages/known-symptoms {row.package}", f"packages/known-errors {row.package}")
    yield finding(
        subject=row.package,
        actual=seen,
        expected=want,
        message=text,
        usually=why,
        fix=fix,
        explains=explains,
        source=row.source,
    )


def _unknown_side(facts: Facts, target: Target, missed: _missed.Missed) -> Findings:
    """Whatever is more specific explains it."""
    name, listed = missed.name, f" ({missed.name} {missed.version} is listed)" if missed.version else ""
    actual = missed.release
    expected = f"a {name} that has {missed.what}"
    message = f"{missed.module} has no {missed.what} here, where it is asked for{listed}: {missed.said}."
    usually = _out_of_step.behind(missed)
    fix = remedies.from_lock(facts, target, name, *_out_of_step.way_out(facts, missed))
    yield finding(
        subject=name, actual=actual, expected=expected, message=message, usually=usually, fix=fix, certain=False
    )
