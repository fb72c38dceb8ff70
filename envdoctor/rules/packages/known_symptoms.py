from envdoctor.knowledge.questions import installed, names, symptoms
from envdoctor.rules.packages import _callers, _copies, _install_log, _meanings, _ranges
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Target, error_lines, finding, remedies, rule

_PINNED = Pattern(r"(?:^|, or )([\w-]+[<>=]=?[\w.]+(?:,<[\w.]+)?)$|^([\w-]+[<>=]=?[\w.]+(?:,<[\w.]+)?),")
_UNTOLD = "the two are of different times (one was upgraded alone), or the call has a slip in the name"
_ANOTHER_PYTHON = (
    "the Python that runs does not see it (it was not started anew since, or the list is another Python's), or another "
    "copy of it is found first"
)
_WHICH = ": an earlier one where it was dropped since, a later one where it came later (the release notes say which)"
_OWN = "the project's own"
_EXTRA = " Its caller bounds it by an extra: {extra} brings a release that goes with it."


@rule(ERROR, kind="package-conflict")
def known_symptoms(facts: Facts, target: Target) -> Findings:
    """An error of the kind that packages out of step with each other make.

    Why: one package calls another in a way that its release does not know: an argument, an attribute or a module
    that came later or was dropped. The error names the thing, seldom the package; the table does.
    Fix: bring both packages to releases of the same time.
    Source: https://huggingface.co/docs/transformers/troubleshooting https://docs.pydantic.dev/latest/migration/
    """
    present = {**installed.with_torch(facts), **installed.versions(facts)}
    told: set[str] = set()
    said = "\n".join((*facts.messages, *facts.remarks.values()))
    for line in error_lines(facts):
        for name, meaning, use, source in _meanings.of_line(line, present, facts.messages, said):
            if name in told:
                continue
            told.add(name)
            if use == _meanings.OTHER_COPY:
                module = name.replace("-", "_")
                yield _copies.another_copy(
                    facts, target, name, present[name], meaning, line, module=module, source=source
                )
                continue
            whole, others = _ranges.ranged_line(facts, line, name)
            use = whole or _ranges.with_an_end(facts, use)
            called = _meanings.ARGUMENT.search(line)
            owners = _may_be_of(called["callee"], name, facts, line) if called else ()
            if called and owners and not source:
                yield from _of_somebody(called["callee"], called["what"], owners, line)
                continue
            meaning = f"Most often {name} is meant, which the report does not show: {meaning}" if owners else meaning
            extra = "" if others else _callers.extra_for(name, facts, line)
            advice = _advice(use, others, name, line) + (_EXTRA.format(extra=extra) if extra else "")
            command = remedies.install(extra) if extra else _command(name, use)
            if name == "setuptools" and _ISOLATED.search(said) and "isolation" not in said:
                advice, command = _BUILT_ALONE.format(use=use), ""  # what of it is typed depends on who builds
            yield finding(
                subject=name,
                actual=present.get(name, "of unknown version"),
                expected=use,
                severity=WARNING if meaning.startswith("Most often") else None,
                certain=False,
                message=f"{meaning}: {line}",
                usually=_reasons(meaning, use, name) or _side(meaning, name not in present),
                fix=remedies.from_lock(facts, target, name, advice, command),
                explains=_EXPLAINED,
                source=source,
            )


_ISOLATED = Pattern(rf"{_install_log.ISOLATED}|Getting requirements to build")
_BUILT_ALONE = (
    "The build runs in an environment that pip or uv makes for it, which a setuptools of yours does not reach. Write "
    "{use} into a file and name it: --build-constraint FILE (uv pip, and pip from 25.3 on; before that "
    'PIP_CONSTRAINT=FILE), in a project of uv build-constraint-dependencies = ["{use}"] under [tool.uv]. Or take a '
    "later release of the package, or one with a wheel; or install {use} and wheel and build with --no-build-isolation."
)
_DROPPED = Pattern(r"^\S{1,60} (?P<release>\d[\w.]{0,20}) dropped ")


def _side(meaning: str, unknown: bool) -> str:
    """Which side is out of step, where the release is not known."""
    dropped = _DROPPED.search(meaning) if unknown else None
    return f"it is {dropped['release']} or later here, and the caller is of before it" if dropped else ""


_IN_ITS_PLACE = " in its place, or "
_WRAPPERS = frozenset("accelerate huggingface-hub torch transformers trl".split())
"""Libraries whose decorators stand between a caller and what it calls, so that their frame is not the caller's."""


def _advice(use: str, others: str, name: str, line: str) -> str:
    if others:
        return f"Install {use}: the text has another error of {name}, which asks for {others}."
    if _IN_ITS_PLACE in use:
        written, _, pin = use.partition(_IN_ITS_PLACE)
        caller = _callers.caller_of(line)
        if caller and caller != name and caller not in _WRAPPERS:
            return f"Install {pin}, or a release of {caller} that no longer asks for it."
        return f"In code of your own write {written}; for a program of others install {pin}, or its newer release."
    return f"Use {use}{_WHICH if use.endswith(_meanings.SAME_TIME) else ''}."


def _may_be_of(callee: str, package: str, facts: Facts, line: str) -> tuple[str, ...]:
    """Whose else the callable may be: where the text shows the library, and no other that has one of this name, none's.
    What rows tell of an argument is evidence, too, but for names that any project gives."""
    callee = callee.removesuffix(".__init__")
    others = tuple(name for name in symptoms.rivals(callee) if name != package)
    seen = _callers.is_seen(package, facts, line)
    shown = tuple(name for name in others if _callers.is_seen(name, facts, line))
    if (seen and not shown) or not (others or symptoms.is_everyday(callee)):
        return ()
    known_argument = (found := _meanings.ARGUMENT.search(line)) and any(names.of_argument(callee, found["what"]))
    if known_argument and not shown and not symptoms.is_everyday(callee):
        return ()
    return (*((package,) if seen or not shown else ()), *(shown or others), _OWN)


def _of_somebody(callee: str, what: str, owners: tuple[str, ...], line: str) -> Findings:
    """An argument that is not known, of something of which several libraries have one."""
    who = f"{', '.join(owners[:-1])} or {owners[-1]}"
    seen = "of unknown origin"
    want = f"one that knows {what}, or a call without it"
    text = f"{callee} as it is here does not know the argument {what}: {line}"
    why = _OUT_OF_STEP.format(callee.removesuffix(".__init__"), who)
    fix = _SEE_WHOSE.format(what)
    explains = _EXPLAINED
    yield finding(
        subject=callee, actual=seen, expected=want, certain=False, message=text, usually=why, fix=fix, explains=explains
    )


_EXPLAINED = ("packages/import-mismatch",)
_OUT_OF_STEP = (
    "the library that it is of and its caller are of different times, or the settings that are handed on hold a key "
    "that is none of its arguments ({} may be of {}: the import line at the head of the caller's file tells)"
)
_SEE_WHOSE = (
    "See which library it is imported from, and install the release of it that the project's requirements name, or "
    "that has {0}; in code of your own drop {0} from what is handed to it."
)


def _reasons(meaning: str, use: str, name: str) -> str:
    if use == _meanings.UNSEEN:
        return _ANOTHER_PYTHON
    if use.endswith(_meanings.SAME_TIME):
        return _UNTOLD if meaning.startswith("Most often") else f"it is that of {name}: {_UNTOLD}"
    return next((row.usually for row in symptoms.SYMPTOMS if row.usually and row.meaning == meaning), "")


def _command(name: str, use: str) -> str:
    """Where a requirement stands in the advice, it is installed; the package is upgraded where that is the advice."""
    found = _PINNED.search(use)
    if found:
        return remedies.install(found[1] or found[2])
    if use == _meanings.UNSEEN:
        return remedies.again(name, "--no-deps")
    if use.endswith(_meanings.SAME_TIME):
        # which of the two is the older one is not known: an upgrade may be what brought it
        return f"python -m pip show {name}"
    return remedies.upgrade(name) if "later release" in use and "caller in a later release" not in use else ""
