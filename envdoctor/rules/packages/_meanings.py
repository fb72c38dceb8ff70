"""What an error line of packages out of step is known to mean: of which package it speaks, and which releases do."""

from collections.abc import Iterator, Mapping

from envdoctor.knowledge.questions import names, symptoms
from envdoctor.rules.rule import Pattern, versions

ARGUMENT = Pattern(
    r"(?<![\w.])(?P<callee>[A-Za-z_][\w.]{0,120}?)(?:\.__init__)?(?:\(\))? "
    r"(?:got|has|takes|does not (?:take|know|accept)) "
    r"(?:an |the |no )?(?:unexpected |unknown )?(?:keyword )?argument (?:called |named )?"
    rf"(?:'|(?!{names.NO_NAMES}\b))(?P<what>\w+)"
)
_POSITIONS = Pattern(r"(?P<callee>[A-Z]\w{1,80})(?:\.\w{1,80})?\(\) (?:takes|missing) .{0,40}positional argument")
_ATTRIBUTE = Pattern(
    r"(?:'(?P<owner>\w+)' object|\b(?P<bare>[A-Z]\w+) (?:object )?)\s?has no attribute '?(?P<what>\w+)"
)
_WANTED = Pattern(r"requires `?(?P<name>[A-Za-z][\w-]{1,40})(?P<specifier>>=[\d.]{1,20}\d)")
UNSEEN = "a fresh start of Python (in a notebook: restart the runtime), and the pip of that very Python"
OTHER_COPY = "the release that is listed"
_GUESSED = "Most often of another time than its caller: "
SAME_TIME = "and its caller of the same time"
_OWN_REASONS = frozenset({"ds_opt_adam", "deepspeed_engine_wrapped"})  # which errors.toml explains
_OWNERS = (
    (
        Pattern(
            r"(?:Lora|Peft|Prompt|Prefix|PTuning|IA3|Ada|LoKr|LoHa|OFT|BOFT|Vera|Poly|XLora|MultitaskPrompt)\w*Config$"
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


def of_line(
    line: str, present: Mapping[str, str], lines: tuple[str, ...], said: str
) -> Iterator[tuple[str, str, str, str]]:
    """Distribution, meaning, what to use and source, for what the line is known to mean among the others."""
    for row in symptoms.SYMPTOMS:
        version = present.get(row.package)
        if version and _is_met(line, row.package, version):
            text = f"{row.package} {version} is listed, and what runs asks for it all the same"
            yield row.package, text, UNSEEN, row.source
            continue
        if (
            row.pattern.search(line)
            and not row.is_excepted((*lines, said, *present))
            and (version is None or not row.moved or versions.within(version, row.moved) is not False)
        ):
            yield row.package, row.meaning, row.instead, row.source
    if match := ARGUMENT.search(line):
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
            yield name, text, f"releases of {name} {SAME_TIME}", ""  # an own slip is rarer
    if (match := _POSITIONS.search(line)) and (name := symptoms.callees().get(match["callee"])) and name in present:
        yield (
            name,
            f"{match['callee']} is called in another way than it is defined",
            f"releases of {name} {SAME_TIME}",
            "",
        )
    if match := _ATTRIBUTE.search(line):
        owner = match["owner"] or match["bare"]
        name = next((name for pattern, name in _OWNERS if pattern.match(owner)), None)
        if name and (name in present or name == "accelerate") and match["what"] not in _OWN_REASONS:
            yield (
                name,
                f"{_GUESSED}{_whose(name, owner)} has no {match['what']}, or not yet",
                _upper_bound(name, present) or f"releases of {name} {SAME_TIME}",
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
        return there.package, f"{there.name} of {there.package} takes {what} {span}", OTHER_COPY, there.source
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
