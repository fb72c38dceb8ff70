from collections.abc import Iterator, Mapping

from envdoctor.knowledge.questions import names, symptoms, versions
from envdoctor.rules.packages import _callers, _copies
from envdoctor.rules.packages._ranges import ranged_line, with_an_end
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Skip, Target, finding, known, remedies, rule

_ARGUMENT = Pattern(
    r"(?<![\w.])(?P<callee>[A-Za-z_][\w.]{0,120}?)(?:\.__init__)?(?:\(\))? "
    r"(?:got|has|takes|does not (?:take|know|accept)) "
    r"(?:an |the |no )?(?:unexpected |unknown )?(?:keyword )?argument (?:called |named )?'?(?P<what>\w+)"
)
_POSITIONS = Pattern(r"(?P<callee>[A-Z]\w{1,80})(?:\.\w{1,80})?\(\) (?:takes|missing) .{0,40}positional argument")
_ATTRIBUTE = Pattern(
    r"(?:'(?P<owner>\w+)' object|\b(?P<bare>[A-Z]\w+) (?:object )?)\s?has no attribute '?(?P<what>\w+)"
)
_WANTED = Pattern(r"requires `?(?P<name>[A-Za-z][\w-]{1,40})(?P<specifier>>=[\d.]{1,20}\d)")
_PINNED = Pattern(r"(?:^|, or )([\w-]+[<>=]=?[\w.]+(?:,<[\w.]+)?)$|^([\w-]+[<>=]=?[\w.]+(?:,<[\w.]+)?),")
_UNSEEN = "a fresh start of Python (in a notebook: restart the runtime), and the pip of that very Python"
_GUESSED = "Most often of another time than its caller: "
_OTHER_COPY = "the release that is listed"
_UNTOLD = "the two are of different times (one was upgraded alone), or the call has a slip in the name"
_ANOTHER_PYTHON = (
    "the Python that runs does not see it (it was not started anew since, or the list is another Python's), or another "
    "copy of it is found first"
)
_SAME_TIME = "and its caller of the same time"
_WHICH = ": an earlier one where it was dropped since, a later one where it came later (the release notes say which)"
_OWN = "the project's own"
_EXTRA = " Its caller bounds it by an extra: {extra} brings a release that goes with it."
_OWN_REASONS = frozenset({"ds_opt_adam", "deepspeed_engine_wrapped"})  # which errors.toml explains
_OWNERS = (
    (
        Pattern(
            r"(?:Lora|Peft|Prompt|Prefix|PTuning|IA3|Ada|LoKr|LoHa|OFT|BOFT|Vera|Vera|Poly|XLora|MultitaskPrompt)\w*Config$"
        ),
        "peft",
    ),
    (Pattern(r"(?:Dynamic|Static|Hybrid|EncoderDecoder|Sliding\w*|Quantized)Cache$"), "transformers"),
    (
        Pattern(r"\w{1,80}(?:Config|TokenizerFast|Tokenizer|ForCausalLM|RotaryEmbedding|Attention|ImageProcessor)$"),
        "transformers",
    ),
    (Pattern(r"(?:Seq2Seq)?(?:Trainer|TrainingArguments)$"), "transformers"),
    (Pattern(r"(?:SFT|DPO|PPO|GRPO|KTO|ORPO|CPO|Reward)(?:Trainer|Config)$"), "trl"),
    (Pattern(r"(?:AcceleratorState|Accelerator|PartialState|GradientState|DataLoaderShard)$"), "accelerate"),
    (Pattern(r"(?:Lora\w+|Peft\w+)$"), "peft"),
    (Pattern(r"(?:DeepSpeed\w+)$"), "deepspeed"),
)


@rule(ERROR, kind="package-conflict")
def known_symptoms(facts: Facts, target: Target) -> Findings:
    """An error of the kind that packages out of step with each other make.

    Why: one package calls another in a way that its release does not know: an argument, an attribute or a module
    that came later or was dropped. The error names the thing, seldom the package; the table does.
    Fix: bring both packages to releases of the same time.
    Source: https://huggingface.co/docs/transformers/troubleshooting https://docs.pydantic.dev/latest/migration/
    """
    if not facts.messages:
        raise Skip("the report has no error lines")
    packages, torch = known(facts.packages), known(facts.torch)
    present = {d.name: d.version for d in packages.distributions} if packages else {}
    if torch and torch.version:
        present.setdefault("torch", torch.version)
    told: set[str] = set()
    said = "\n".join((*facts.messages, *facts.remarks.values()))
    for line in facts.messages:
        for name, meaning, use, source in _meanings(line, present, facts.messages, said):
            if name in told:
                continue
            told.add(name)
            if use == _OTHER_COPY:
                yield _copies.another_copy(
                    target, packages, name, present[name], meaning, line, module=name.replace("-", "_"), source=source
                )
                continue
            whole, others = ranged_line(facts, line, name)
            use = whole or with_an_end(facts, use)
            called = _ARGUMENT.search(line)
            owners = _may_be_of(called["callee"], name, facts, line) if called else ()
            if called and owners and not source:
                yield from _of_somebody(called["callee"], called["what"], owners, line)
                continue
            meaning = f"Most often {name} is meant, which the report does not show: {meaning}" if owners else meaning
            locked = remedies.locked_pins(target, packages, name)
            extra = "" if others else _callers.extra_for(name, facts, line)
            advice = _advice(use, others, name, line) + (_EXTRA.format(extra=extra) if extra else "")
            yield finding(
                subject=name,
                actual=present.get(name, "of unknown version"),
                expected=use,
                severity=WARNING if meaning.startswith("Most often") else None,
                certain=False,
                message=f"{meaning}: {line}",
                usually=_reasons(meaning, use, name),
                fix=remedies.choose(target, locked, advice, remedies.install(extra) if extra else _command(name, use)),
                repair=locked,
                explains=("packages/import-mismatch",),
                source=source,
            )


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
    return f"Use {use}{_WHICH if use.endswith(_SAME_TIME) else ''}."


def _may_be_of(callee: str, package: str, facts: Facts, line: str) -> tuple[str, ...]:
    """Whose else the callable may be: where the text shows the library, and no other that has one of this name, none's.
    What rows tell of an argument is evidence, too, but for names that any project gives."""
    callee = callee.removesuffix(".__init__")
    others = tuple(name for name in symptoms.rivals(callee) if name != package)
    seen = _callers.is_seen(package, facts, line)
    shown = tuple(name for name in others if _callers.is_seen(name, facts, line))
    if (seen and not shown) or not (others or symptoms.is_everyday(callee)):
        return ()
    known_argument = (found := _ARGUMENT.search(line)) and any(names.of_argument(callee, found["what"]))
    if known_argument and not shown and not symptoms.is_everyday(callee):
        return ()
    return (*((package,) if seen or not shown else ()), *(shown or others), _OWN)


def _of_somebody(callee: str, what: str, owners: tuple[str, ...], line: str) -> Findings:
    """An argument that is not known, of something of which several libraries have one."""
    who = f"{', '.join(owners[:-1])} or {owners[-1]}"
    which = (
        f"{callee.removesuffix('.__init__')} may be of {who}: the import line at the head of the caller's file tells"
    )
    yield finding(
        subject=callee,
        actual="of unknown origin",
        expected=f"one that knows {what}, or a call without it",
        severity=None,
        certain=False,
        message=f"{callee} as it is here does not know the argument {what}: {line}",
        usually=f"the library that it is of and its caller are of different times, or the settings that are handed on "
        f"hold a key that is none of its arguments ({which})",
        fix=f"See which library it is imported from, and install the release of it that the project's requirements "
        f"name, or that has {what}; in code of your own drop {what} from what is handed to it.",
        explains=("packages/import-mismatch",),
    )


def _reasons(meaning: str, use: str, name: str) -> str:
    if use == _UNSEEN:
        return _ANOTHER_PYTHON
    if use.endswith(_SAME_TIME):
        return _UNTOLD if meaning.startswith("Most often") else f"it is that of {name}: {_UNTOLD}"
    return next((row.usually for row in symptoms.SYMPTOMS if row.usually and row.meaning == meaning), "")


def _command(name: str, use: str) -> str:
    """Where a requirement stands in the advice, it is installed; the package is upgraded where that is the advice."""
    found = _PINNED.search(use)
    if found:
        return remedies.install(found[1] or found[2])
    if use == _UNSEEN:
        return remedies.again(name, "--no-deps")
    if use.endswith(_SAME_TIME):  # which of the two is the older one is not known: an upgrade may be what brought it
        return f"python -m pip show {name}"
    return remedies.upgrade(name) if "later release" in use and "caller in a later release" not in use else ""


def _meanings(
    line: str, present: Mapping[str, str], lines: tuple[str, ...], said: str
) -> Iterator[tuple[str, str, str, str]]:
    """Distribution, meaning, what to use and source, for what the line is known to mean among the others."""
    for row in symptoms.SYMPTOMS:
        version = present.get(row.package)
        if version and _is_met(line, row.package, version):
            text = f"{row.package} {version} is listed, and what runs asks for it all the same"
            yield row.package, text, _UNSEEN, row.source
            continue
        if (
            row.pattern.search(line)
            and not row.is_excepted((*lines, said, *present))
            and (version is None or not row.moved or versions.within(version, row.moved) is not False)
        ):
            yield row.package, row.meaning, row.instead, row.source
    if match := _ARGUMENT.search(line):
        if told := _argument(match["callee"], match["what"], present, said):
            yield told
            return
        name = symptoms.callees().get(match["callee"]) or symptoms.callees().get(match["callee"].rpartition(".")[2])
        others = {row.package for row in names.of_call(match["callee"], match["what"])}
        if name and not others:  # else changed-calls tells more
            owner = match["callee"].rpartition(".")[0]
            text = f"{match['callee']} does not know the argument {match['what']}"
            if owner and owner not in symptoms.callees() and not names.is_class_of(name, owner):
                text = f"{match['callee']} does not know the argument {match['what']}, and is a method of a class that "
                text += f"{name} itself is not known to have (one that the project builds on a class of {name})"
            yield name, text, f"releases of {name} and its caller of the same time", ""  # an own slip is rarer
    if (match := _POSITIONS.search(line)) and (name := symptoms.callees().get(match["callee"])) and name in present:
        yield (
            name,
            f"{match['callee']} is called in another way than it is defined",
            f"releases of {name} and its caller of the same time",
            "",
        )
    if match := _ATTRIBUTE.search(line):
        owner = match["owner"] or match["bare"]
        name = next((name for pattern, name in _OWNERS if pattern.match(owner)), None)
        if name and (name in present or name == "accelerate") and match["what"] not in _OWN_REASONS:
            yield (
                name,
                f"{_GUESSED}{_whose(name, owner)} has no {match['what']}, or not yet",
                _upper_bound(name, present) or f"releases of {name} and its caller of the same time",
                "",
            )


def _whose(name: str, owner: str) -> str:
    """The class as one of the package, where that is known of it."""
    known_one = owner in symptoms.callees() or names.is_class_of(name, owner) or names.home_of(owner) == name
    return f"{owner} of {name}" if known_one else f"{owner} (of {name}, by its name, or of code that builds on it)"


def _upper_bound(name: str, present: Mapping[str, str]) -> str:
    """Where the newest series is installed, its caller is the older one: upgrading what it calls does not help."""
    if name != "transformers" or versions.within(present.get(name, "0"), ">=5") is not True:
        return ""
    return f"a release of its caller that knows {name} 5, or {name}<5"


def _is_met(line: str, package: str, version: str) -> bool:
    """Does the line ask for a release that is there?"""
    wanted = _WANTED.search(line)
    return (
        wanted is not None
        and wanted["name"].lower() == package
        and versions.within(version, wanted["specifier"]) is True
    )


def _argument(callee: str, what: str, present: Mapping[str, str], said: str) -> tuple[str, str, str, str] | None:
    """Who dropped or brought an argument, and when."""
    rows = tuple(names.of_argument(callee, what))
    if callee == "__init__":  # Python before 3.10 names no class: then only the installed release tells what changed
        unnamed = names.of_unnamed_callable(what, said)
        rows = tuple(row for row in unnamed if (has := present.get(row.package)) is not None and row.fits(has))
    for row in rows:
        if not row.fits(present.get(row.package)):
            continue
        if row.direction == "added":
            use = f"{row.package}>={row.release}"
            return row.package, f"{row.name} of {row.package} knows {what} from {row.release} on", use, row.source
        moved = f"{row.moved_to} in its place, or " if row.moved_to else ""
        if row.moved_to.startswith("drop it"):
            moved = f"the call without {what}, or "
        if not row.module:  # out of the wheels, which do not say what does its work now
            moved = f"the call without {what}, or "
        return row.package, f"{row.package} {row.release} dropped {what} of {row.name}", moved + row.pin, row.source
    exceptions = any(row.note for row in rows)  # which a note tells of: the release alone does not decide
    if not exceptions and (there := next((row for row in rows if row.package in present), None)):
        span = f"from {there.release} on" if there.direction == "added" else f"before {there.release}"
        return there.package, f"{there.name} of {there.package} takes {what} {span}", _OTHER_COPY, there.source
    return _overridden(callee, what, present)


def _overridden(callee: str, what: str, present: Mapping[str, str]) -> tuple[str, str, str, str] | None:
    """What some releases of a package pass to a method that was overridden for others."""
    row = names.overridden_method(callee, what)
    method = row.name.rpartition(".")[2] if row else ""
    if row is None or callee in (row.name, "__init__", "__call__"):
        return None
    version = present.get(row.package)
    if row.direction == "removed":
        if version and row.fits(version):
            return None
        text = f"{row.package} before {row.release} passes {what} to {method}, and {callee} does not take it"
        return row.package, text, f"{what}=None in its signature, or {row.package}>={row.release}", row.source
    if version and row.fits(version):
        return None
    text = f"{row.package} passes {what} to {method} since {row.release}, and {callee} does not take it"
    return row.package, text, f"{what}=None in its signature, or {row.package}<{row.release}", row.source
