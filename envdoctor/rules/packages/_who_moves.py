"""A name that came or went with a known release: who has to move, the caller, the package or the line of code."""

from envdoctor.knowledge.questions import installed, names, requirements
from envdoctor.rules.packages import _callers, _labelled, _out_of_step, _ranges
from envdoctor.rules.rule import Facts, Pattern, known, messages, remedies, versions
from envdoctor.values.frozen import frozen

_FIRST_WITHOUT_3_8 = {
    "transformers": "4.47",
    "trl": "0.13",
    "accelerate": "1.2",
    "peft": "0.14",
    "huggingface-hub": "1.0",
}


@frozen
class Move:
    """What happened to the name, which releases would do, and how to come to them. ``packages``: whose lock would do it
    as well."""

    meaning: str
    usually: str
    use: str
    advice: str
    commands: tuple[str, ...]
    packages: tuple[str, ...]


@frozen
class _Asking:
    """Who asks for the name: ``named`` by the line, and ``caller`` where the table knows of an installed one."""

    named: str | None
    caller: requirements.Wanted | None
    text: str


def move_for(facts: Facts, row: names.Name, line: str, version: str | None) -> Move:
    """The caller moves where it has been mended, else the package, or the line of code."""
    named = _callers.caller_of(line)
    named = named if named != row.package else None  # numpy itself says that it has no np.int
    caller = row.caller(dict(installed.versions(facts)), named)
    told = caller is not None and (caller.name == named or messages.RAISED_IN.search(line) is None)
    text = caller.name if caller and told else _callers.asker_of(named, line) or "the code that imports it"
    asking = _Asking(named=named, caller=caller, text=text)
    added = row.direction == "added"
    use, advice = _to_later(facts, row, asking) if added else _to_earlier(facts, row, asking, line)
    later = f"{row.package} has {whole(row)} from {row.release} on, and {text} needs it"
    meaning, usually = (later, "") if added else _ranges.removal(row, whole(row), version, text)
    if added and "has no attribute" in line and names.is_module(f"{row.module}.{row.name}"):
        advice += f" Where it stays, write import {row.module}.{row.name} as well, for it is a module."
    python = "" if added else _ranges.too_new_a_python(facts, row)
    if python:
        advice += f" Releases before {row.release} have wheels for Python up to {python}, and here it is newer: change "
        advice += f"the code, or make an environment with Python {python}."
    if not added and row.package == "jax":
        advice += remedies.WITH_JAX
    if row.package in remedies.TORCH_FAMILY and use:
        advice += _ALL_OF_TORCH
    first = "uv venv --python 3.12 .venv" if added and _needs_a_newer_python(facts, row) else ""
    first = f"uv venv --python {python} .venv" if python else first
    commands = [_labelled.for_this_line(facts, one) for one in (first, _command(facts, row, use)) if one]
    advice = _labelled.for_this_line(facts, advice)
    if _labelled.NO_LINE in advice:
        advice += f" {_labelled.NO_LINE[1:]} is the CUDA line in the name of what is installed (pip list)."
    return Move(
        meaning=meaning,
        usually=usually,
        use=_labelled.for_this_line(facts, use),
        advice=advice,
        commands=tuple(one for one in commands if _labelled.NO_LINE not in one),
        packages=(row.package, *([caller.name] if caller else [])),
    )


_ALL_OF_TORCH = (
    " torch, torchvision, torchaudio and xformers are made for each other: install them in one command, and start "
    "Python anew (in a notebook: restart the runtime)."
)


def _to_later(facts: Facts, row: names.Name, asking: _Asking) -> tuple[str, str]:
    """What the package has from a release on."""
    use = _ranges.from_release(facts, row.package, row.release)
    if _needs_a_newer_python(facts, row):
        return use, f"Install {use}, in a newer Python: its latest releases are for 3.10 and later."
    if pinner := _out_of_step.pinned_by(row.package):
        advice = f"Install {use} together with {pinner}, which goes with few releases of {row.package}: pip takes one "
        return use, f"{advice}that fits it, and {row.package} alone may become too new for it."
    if asking.named:
        back = f" Where the project holds {row.package} back, take an earlier {asking.named} instead."
        return use, f"Install {use}.{back}"
    return use, f"Install {use}."


def _to_earlier(facts: Facts, row: names.Name, asking: _Asking, line: str) -> tuple[str, str]:
    """What the package dropped."""
    caller = asking.caller
    cure = row.cure(caller.name) if caller else None
    moved = f"{row.moved_to} does its work now" if row.moved_to and not row.moved_to.startswith("none") else ""
    if cure and (other := _out_of_step.breaks(facts, cure)):
        advice = f"Install {row.pin}. Not {cure}, which does without it, as long as the code is as it is: the text "
        advice += f"imports {other} too, which that release no longer has. Where you change that line: pip install "
        return row.pin, f'{advice}"{cure}".'
    if cure:
        advice = f"Install {cure}, which does without it; or, to stay with the old release: pip install "
        return cure, f'{advice}"{row.pin}".'
    if caller is None and moved:
        advice = f"In code of your own change it: {moved}. For code of others install {row.pin}."
    elif moved:
        advice = f"Install {row.pin} ({moved})."
    else:
        seen = ", ".join(one for one in row.cured_in if _callers.is_seen(_BOUNDS.sub("", one), facts, line))
        cures = f"what does without it: {seen}" if seen else f"a release of {asking.text} that does without it"
        advice = f"Install {row.pin}, or {cures}."
    if caller is None and not asking.named and row.needed_by:
        asked_by = ", ".join(map(_as_span, row.needed_by[:6]))
        mended = f"; it was mended in {', '.join(row.cured_in[:6])}" if row.cured_in else ""
        advice += f" Releases that are known to ask for it: {asked_by}{mended}."
    return row.pin, advice


_BOUNDS = Pattern(r"[<>=!~].*")


def _as_span(requirement: str) -> str:
    """ "peft>=0.1,<=0.3" as people say it."""
    return requirement.replace(",<=", " to ").replace(">=", " ").replace("<=", " up to ")


def _command(facts: Facts, row: names.Name, use: str) -> str:
    """pip keeps the package that pins the other one, and takes of the other what fits it."""
    pinner = _out_of_step.pinned_by(row.package) if row.direction == "added" else ""
    return remedies.install(pinner, use) if pinner else remedies.install_releases(row.package, use, facts)


def span_of(row: names.Name) -> str:
    """What the package has and in which releases, as a clause."""
    since = f"from {row.since} on and " if row.since else ""
    span = f"from {row.release} on" if row.direction == "added" else f"{since}before {row.release}"
    return f"{row.package} has {whole(row)} {span}"


def whole(row: names.Name) -> str:
    """The name, with its module where that was read: another module of the package may have one of that name."""
    return f"{row.module}.{row.name}" if row.name and row.source.startswith("sources of") else row.name or row.module


def _needs_a_newer_python(facts: Facts, row: names.Name) -> bool:
    """Is what has the name no longer made for a Python as old as this one?"""
    interpreter, floor = known(facts.interpreter), _FIRST_WITHOUT_3_8.get(row.package)
    if interpreter is None or floor is None or versions.below(row.release, floor):
        return False
    return versions.below(interpreter.version, "3.9")
