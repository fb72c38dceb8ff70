from collections.abc import Iterable

from envdoctor.knowledge.questions import errors_in, installed, messages, names, symptoms
from envdoctor.rules.packages import _callers, _ranges
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Target, error_lines, finding, remedies, rule

_MEMBER = Pattern(
    r"(?:'(?P<owner>[A-Z]\w{1,80})' object|type object '(?P<type>[A-Z]\w{1,80})') has no attribute '(?P<what>\w{2,80})'"
)
_ARGUMENT = Pattern(
    r"(?<![\w.])(?P<callee>[A-Za-z_][\w.]{1,120})\(\) got (?:an unexpected keyword|multiple values "
    r"for) argument '(?P<what>\w{2,80})'"
)
_COMMON = frozenset("__init__ __call__ forward wrapper main run train test predict call step".split())


@rule(ERROR, kind="package-conflict")
def changed_calls(facts: Facts, target: Target) -> Findings:
    """A member or an argument is missed that other releases of a library have.

    Why: what is called by another name, moved into another class, or dropped after a deprecation, is missing for code
    of another time. The error names the class and never the library; in which releases each class had what is read
    from the libraries' sources.
    Fix: the releases that have it, or the code of today's.
    Source: https://docs.python.org/3/library/exceptions.html#AttributeError
    """
    told: set[tuple[str, str]] = set()
    for line in error_lines(facts):
        rows = _rows(line, facts)
        told_of = _is_told(facts, line)
        if told_of and _UNNAMED.search(line):
            continue  # of a call whose class nobody names a row that knows what stands beside it knows more
        seen = [
            row
            for row in rows
            if _callers.is_seen(row.package, facts, line)
            or _is_its_own(row)
            or (_is_singular(row) and not (told_of or _UNNAMED.search(line) or _is_anothers(row, facts, line)))
        ]
        concerned = seen or rows
        if not rows:
            yield from _of_several(line)
        if len({row.package for row in concerned}) != 1:
            continue  # classes of one name in several libraries, of which none is seen
        row = concerned[0]
        version = next(filter(None, (installed.version(facts, name) for name in names.shown_as(row.package))), None)
        row = row.at(version)
        if (row.name, row.argument) in told or (row.package, "") in told:
            continue
        if not row.argument and row.direction == "added" and seen and _is_there(row, version, line):
            told.add((row.name, row.argument))
            yield from _older_object(row, version, line)
            continue
        if not row.fits(version) or (not seen and told_of):
            continue
        told.add((row.name, row.argument))
        whole, others = _ranges.range_of_all(facts, row)
        if whole:
            told.add((row.package, ""))  # one range serves all
        doubt = "" if seen else f"Most often {row.package} is meant, {_how_known(row, facts)}: "
        use = whole or row.pin or _ranges.from_release(facts, row.package, row.release)
        command = remedies.install_releases(row.package, use, facts)
        yield finding(
            subject=row.package,
            actual=version or "of unknown version",
            expected=use,
            severity=None if seen else WARNING,
            certain=bool(seen or whole),
            message=f"{doubt}{_meaning(row, version)}: {messages.own_words(line)}",
            usually=_usually(row, version),
            fix=remedies.from_lock(facts, target, row.package, _advice(row, use, others), command),
            explains=(*_EXPLAINED, f"packages/asked-for {row.package}", f"packages/known-errors {row.package}"),
            source=row.source,
        )


_UNNAMED = Pattern(r"(?<![\w.])(?:__init__|init)\(\) got an unexpected")
_CONSTRUCTOR = frozenset({"__init__", "init"})
"""How a class that is not named is called; Markdown makes the underlines bold letters."""


def _of_several(line: str) -> Findings:
    """An argument of a class that nobody names, which two or three libraries dropped."""
    called = _ARGUMENT.search(line)
    if called is None or called["callee"] not in _CONSTRUCTOR:
        return
    rows = _ranges.rows_of_several(called["what"])
    if not rows:
        return
    pins = _either(row.pin for row in rows)
    yield finding(
        subject=_either(row.package for row in rows),
        actual="of unknown version",
        expected=pins,
        severity=WARNING,
        certain=False,
        message=f"What is made here does not know the argument {called['what']}: {messages.own_words(line)}",
        usually=f"it is {_either(_from(row) for row in rows)}, which dropped it",
        fix=_SEVERAL.format(what=called["what"], pins=pins),
        explains=_EXPLAINED,
        source=rows[0].source,
    )


def _from(row: names.Name) -> str:
    return f"{row.name} of {row.package} {row.release} or later"


def _either(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} or {last}"


_SEVERAL = (
    "Take a later release of the library that passes {what} (the traceback's last frames show it); or, to stay with "
    "it, the one that it calls from before: {pins}."
)


def _how_known(row: names.Name, facts: Facts) -> str:
    named = f"library named {row.package}" in facts.remarks
    return "which the text names" if named else "which the report does not show"


def _is_told(facts: Facts, line: str) -> bool:
    """Does a row of the errors say what it is?"""
    return any(not row.weak for row in errors_in(facts, line))


def _rows(line: str, facts: Facts) -> tuple[names.Name, ...]:
    if (member := _MEMBER.search(line)) is not None:
        return tuple(names.of_member(member["owner"] or member["type"], member["what"]))
    called = _ARGUMENT.search(line)
    if called is not None and called["callee"] in _CONSTRUCTOR:
        return tuple(_ranges.rows_of_unnamed(called["what"], facts))
    if called is None or called["callee"] in _COMMON or any(names.of_argument(called["callee"], called["what"])):
        return ()  # of the last, known-symptoms knows more
    return tuple(names.of_call(called["callee"], called["what"]))


def _is_there(row: names.Name, version: str | None, line: str) -> bool:
    """Does the class of the installed release have it: by its version, or as its own code asks for it?"""
    own = set(names.shown_as(row.package))
    return not row.fits(version) if version else _callers.caller_of(line) in own


def _older_object(row: names.Name, version: str | None, line: str) -> Findings:
    found = f"{row.package} has {row.name} from {row.release} on, and what is installed has it"
    yield finding(
        subject=row.package,
        actual=f"{version or 'a release'} that has {row.name}",
        expected="an object of this release",
        severity=WARNING,
        message=f"{found}: {_FROM_A_FILE}: {messages.own_words(line)}",
        fix=f"Read the file with the release that wrote it ({row.package}<{row.release}), or make the object anew.",
        explains=("packages/known-symptoms", "packages/known-errors transformers"),
        source=row.source,
    )


_FROM_A_FILE = (
    "most often the object was made by an earlier release and comes from a file (a pickle, a whole model that was "
    "saved)"
)
_EXPLAINED = (
    "packages/known-symptoms",
    "packages/import-mismatch",
    "packages/known-errors __init__",
    "packages/known-errors trl",
)


def _meaning(row: names.Name, version: str | None) -> str:
    what = f"the argument {row.argument} of {row.name}" if row.argument else row.name
    if row.direction == "added":
        return f"{row.package} has {what} from {row.release} on"
    if row.since and not (version and not row.fits(row.since)):
        return f"{row.package} has {what} from {row.since} on and before {row.release}"
    if version is None:
        return f"{row.package} as it is here has not {what}"
    return f"{row.package} dropped {what} in {row.release}"


def _usually(row: names.Name, version: str | None) -> str:
    """Which side is out of step, where the release is not known."""
    if version or row.direction == "added" or row.since:
        return ""
    return f"it is {row.release} or later, which dropped it"


def _advice(row: names.Name, use: str, others: str) -> str:
    if others:
        return f"Install {use}: the text has another error of {row.package}, which asks for {others}."
    code = "leave the argument out" if row.argument else "write it as the library's guide to that release says"
    if row.direction == "added":
        return f"Install {use}."
    return f"In code of your own {code}; for code of others install {use}."


def _is_its_own(row: names.Name) -> bool:
    """Is it known of which library the function or class is, whatever else has one of this name?"""
    if row.argument and "." in row.name and names.library_of(row.name) == row.package:
        return True  # called on the library's own module ("hydra.main")
    callee = row.name.rpartition(".")[2]
    shared = symptoms.rivals(callee) or symptoms.is_everyday(callee)
    return bool(row.argument) and symptoms.callees().get(callee) == row.package and not shared


_SINGULAR = 24
"""Letters of a class and its member (or argument) from which on no class of somebody's own is named like it."""


def _is_singular(row: names.Name) -> bool:
    """Do the names alone tell the library, being long ones (Trainer.accelerator_backend), and no everyday words?"""
    everyday = row.argument and (symptoms.is_everyday(row.name.rpartition(".")[2]) or _is_like_others(row.name))
    return not everyday and len(f"{row.name}.{row.argument}".strip(".")) >= _SINGULAR


def _is_anothers(row: names.Name, facts: Facts, line: str) -> bool:
    """Does the text show another library that has a class of this name, or is the line known of one?"""
    rivals = {rival for part in row.name.split(".") for rival in symptoms.rivals(part)} - {row.package}
    known_of = {one.package for one in symptoms.SYMPTOMS.among(rivals) if one.pattern.search(line)}
    return bool(known_of) or any(_callers.is_seen(rival, facts, line) for rival in rivals)


_TWO_WORDS = Pattern(r"[A-Z]\w{0,80}?[a-z0-9]\w{0,80}?[A-Z]")


def _is_like_others(callee: str) -> bool:
    """Is it a method of a class that others have as well (Conv2d.update_layer), or one that every such class has
    (CrossAttention.forward)?"""
    owner, _, method = callee.rpartition(".")
    if not owner:
        return False
    shared = symptoms.rivals(owner) or symptoms.is_everyday(owner) or not _TWO_WORDS.match(owner)
    return bool(shared) or method in _COMMON
