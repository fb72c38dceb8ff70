import re
from collections.abc import Collection, Iterable, Sequence
from typing import cast

from envdoctor.knowledge.errors import ERRORS, KnownError
from envdoctor.knowledge.names import distribution_of
from envdoctor.knowledge.questions import headers_package, is_log_line, messages, newest_python, normal, platform_of
from envdoctor.knowledge.refuted import without_refuted
from envdoctor.knowledge.state_dicts import lists_tell
from envdoctor.rules.causes import ONLY_SLOW
from envdoctor.rules.finding import Finding, Severity
from envdoctor.rules.packages import _callers, _listed, _open
from envdoctor.rules.rule import ERROR, Facts, Findings, Kind, Pattern, Skip, Target, finding, known, remedies, rule


@rule(ERROR, kind="package-conflict")
def known_errors(facts: Facts, target: Target) -> Findings:
    """An error whose words alone say what is wrong.

    Why: compilers, installers and libraries stop with sentences of their own. What each of them means, and what helps,
    is kept in a table with its source; where a rule knows more of the machine, its finding comes first.
    Fix: depends on the error.
    Source: https://pip.pypa.io/en/stable/topics/dependency-resolution/
    https://docs.astral.sh/uv/reference/troubleshooting/build-failures/
    https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    if not facts.messages:
        raise Skip("the report has no error lines")
    everything = messages.everything(facts)
    mended = any(_MENDED.search(line) for line in everything)
    told: set[tuple[str, str]] = set()
    at_once = "\n".join(facts.messages)
    rows = (row for row in ERRORS if row.pattern.may_match(at_once))
    heard = [(row, found) for row in rows if (found := _first(row, facts.messages, everything, mended)) is not None]
    heard.sort(key=lambda pair: pair[0].guess or pair[0].severity == "warning")  # what is sure speaks for its subject
    if mended:
        heard = _without_mended(heard, facts.messages)
    for row, found in heard:
        if row.last and (any(_ends_a_run(other) for other, _ in heard) or _open.is_told_apart(found.string)):
            continue
        if row.alone and any(not other.alone for other, _ in heard):
            continue
        if row.weak and row.subject == "the checkpoint" and lists_tell(facts.messages):
            continue
        one = _finding(facts, target, row, found)
        if (one.kind, one.subject) not in told:
            told.add((one.kind, one.subject))
            yield one


def _is_guess(row: KnownError) -> bool:
    """A warning of these kinds would explain no error."""
    return row.guess and row.kind not in ONLY_SLOW


def _ends_a_run(row: KnownError) -> bool:
    """Does the row name a cause of its own? A warning beside an error is none of it."""
    return not row.last and not row.alone and row.severity == "error"


_MENDED = Pattern(r"(?i)\b(?:fixed|solved|resolved|got past) (?:that|it|this|them) (?:by|with|via)\b")
"""A person tells of errors one after the other, each of which was mended: the last one stands."""


def _without_mended(
    heard: list[tuple[KnownError, re.Match[str]]], lines: Sequence[str]
) -> list[tuple[KnownError, re.Match[str]]]:
    """Of packages that were missing, the one that is told of last."""
    missing = [lines.index(found.string) for row, found in heard if row.kind == "package-missing"]
    last = max(missing, default=-1)
    return [(row, found) for row, found in heard if row.kind != "package-missing" or lines.index(found.string) == last]


def _first(row: KnownError, lines: Iterable[str], everything: Collection[str], mended: bool) -> re.Match[str] | None:
    matches = (match for line in lines if (match := row.match(line)))
    found = next(matches, None)
    if found is None:
        return None
    if row.kind == "package-missing" and mended:
        found = [found, *matches][-1]
    return found if row.besides.stand(everything) else None


_BUILT = Pattern(
    r"(?:Failed building wheel for|Failed to build|not a problem with poetry but with) ['`\"]?"
    r"(?P<name>(?!installable\b)[A-Za-z][\w.-]{1,60}\w)"
)
"""Of installers: what was built when they stopped; the reader of logs says it where they show only its folder."""


def _capital(sentence: str) -> str:
    return f"The{sentence[3:]}" if sentence.startswith("the ") else sentence


def _finding(facts: Facts, target: Target, row: KnownError, found: re.Match[str]) -> Finding:
    names = {key: text.strip("'\"`.,") for key, text in found.groupdict().items() if text}
    asked = next((names[key] for key in ("name", "other", "third", "windows") if key in names), "")
    plain = normal(asked) if re.fullmatch(r"[\w.-]+", asked) else ""
    if row.kind == "package-missing" and "No module named" in found[0]:
        plain = distribution_of(asked) or plain
    words = {"name": plain or "the package", "cuda": _open.cuda_line(facts), **names}
    built = next((each["name"] for text in facts.messages if (each := _BUILT.search(text))), "")
    words["built"] = normal(built) or "the package"
    words["headers"] = headers_package(facts)
    if "{g" in row.remedy:
        words |= _open.compiler(facts)
    words["with_wheels"] = _open.release_with_wheels(facts, plain, names.get("version", ""))
    words["older"] = _open.other_python(facts)
    words["python"] = newest_python(plain, names.get("version") or names.get("wanted", "")) or _open.other_python(facts)
    module = row.kind == "package-missing" and "No module named" in found[0] and distribution_of(asked) is None
    words["name"] = (asked if module else plain) or words["name"]

    def filled(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda hole: words.get(hole[1], ""), text)

    program = (_open.project(facts, asked) or _open.program(facts, asked)) if module and row.last else None
    packages = known(facts.packages)
    version = packages.version(plain) if packages and plain else None
    said = _callers.CALLER.sub("", found.string)
    if (row.kind == "package-missing" or row.subject == "build isolation") and (
        elsewhere := _listed.elsewhere(facts, target, said, normal(built))
    ):
        return elsewhere
    windows = platform_of(facts).startswith("win")
    said_by = program or row
    commands = said_by.windows if windows and said_by.windows else said_by.commands
    instead = row.instead if said_by is row and commands is row.commands else ()
    usable = all("{name}" not in command for command in (*commands, *instead)) or bool(plain)
    commands, instead = (
        tuple(
            filled(one)
            for one in some
            if usable and (built or "{built}" not in one) and (words.get("gxx") or "{gxx}" not in one)
        )
        for some in (commands, instead)
    )
    locked = remedies.locked_pins(target, packages, plain) if plain else ()
    meaning = f"Python does not find the module {{name}} for {program.what}" if program else row.meaning
    usually = "" if program else remedies.on_windows(row.usually) if windows else row.usually
    usually = without_refuted(filled(usually), facts, version or (packages.version(row.subject) if packages else None))
    caller = _callers.caller_of(found.string) if row.alone else None
    if caller and caller not in _COMMON:
        usually = ", ".join(filter(None, (_OUT_OF_STEP.format(name=caller), usually)))
        commands = (*commands, remedies.upgrade(caller))
    remedy = row.windows_remedy if windows and row.windows_remedy and not program else said_by.remedy
    return finding(
        subject=filled(row.subject),
        title=_USUAL if usually or row.weak else "",
        actual=version or said[:300],
        expected="",
        kind=cast(Kind, row.kind),
        severity=min(
            Severity[row.severity.upper()],
            Severity.WARNING if row.alone or _is_guess(row) or is_log_line(found.string) else Severity.ERROR,
        ),
        certain=not row.weak,
        who=row.who,
        message=f"{_capital(filled(meaning))}: {said}",
        usually=usually,
        fix=remedies.choose(target, locked, filled(remedy), *commands, instead=instead),
        repair=locked,
        explains=row.explains
        or (() if row.weak else _EXPLAINED if "triton" in found.string.lower() else _EXPLAINED[:2]),
        source=row.source,
    )


_OUT_OF_STEP = "{name}, in whose code it ends, is older or newer than what it meets here"
_COMMON = frozenset(
    "torch torchvision transformers accelerate datasets numpy pandas pytorch-lightning lightning".split()
)
"""Libraries that fall over whatever they are given wrongly."""
_USUAL = "An error whose usual causes are known"
_EXPLAINED = ("packages/import-mismatch", "packages/known-symptoms", "packages/triton-pair")
"""The last by what speaks of triton."""
