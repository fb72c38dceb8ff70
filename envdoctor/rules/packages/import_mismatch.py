import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from envdoctor.knowledge.questions import names, normal, versions
from envdoctor.rules.finding import Finding, finding
from envdoctor.rules.packages._callers import CALLER, asker_of, caller_of, is_seen
from envdoctor.rules.packages._copies import another_copy
from envdoctor.rules.packages._elsewhere import elsewhere, home_of, of_python
from envdoctor.rules.packages._out_of_step import behind, breaks, is_decided, is_private, pinned_by, to_the_same_time
from envdoctor.rules.packages._ranges import from_release, too_new_a_python
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Packages, Pattern, Target, known, remedies, rule
from envdoctor.values import shell

_LINES = (
    Pattern(
        r"cannot import (?:name )?['\"]?(?P<what>\w+)['\"]? from ['\"]?\S{0,200}?-packages[/\\]{1,2}"
        r"(?P<module>[A-Za-z_]\w*)"
    ),
    Pattern(
        r"cannot import (?:name )?['\"]?(?P<what>\w+)['\"]? from ['\"]?(?P<module>[A-Za-z_][\w.]*)"
        r"(?![\w.]|:[/\\])"
    ),
    Pattern(r"ImportError: (?P<module>[A-Za-z_][\w.]*)(?: \([^)]*\))? has no name '?(?P<what>\w+)"),
    Pattern(r"module '(?P<module>[A-Za-z_][\w.]*)' has no attribute '(?P<what>\w+)'"),
    Pattern(r"type object '(?P<module>[A-Za-z_]\w*\.[\w.]*)' has no attribute '(?P<what>\w+)'"),
    Pattern(r"[Nn]o module named ['\"]?(?P<module>[A-Za-z_]\w*)\.(?P<what>[\w.]+)"),
    Pattern(r"\b(?P<module>[A-Za-z_]\w{0,80})\S{0,80} got an unexpected (?:keyword )?argument '?(?P<what>\w+)"),
)
_NAMES = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "pil": "pillow",
    "yaml": "pyyaml",
    "google": "protobuf",
    "swift": "ms-swift",
    "flashinfer": "flashinfer-python",
}
# `packages/triton-pair`, `interpreter/unsupported`, rows of errors.toml
_ELSEWHERE = frozenset(
    "triton python distutils apex comfy llava transformers-modules src util utils model models tools lib core common "
    "modules "
    "config configs scripts data options network networks layers train dataset helper helpers".split()
)
_SEARCHED = frozenset("accelerate datasets diffusers huggingface-hub peft transformers trl".split())
"""Packages whose every release was searched for names that went: what is not in the table did not go."""
_FIRST_WITHOUT_3_8 = {
    "transformers": "4.47",
    "trl": "0.13",
    "accelerate": "1.2",
    "peft": "0.14",
    "huggingface-hub": "1.0",
}
_NEW = Pattern(
    r"No module named ['\"]?(?:transformers|diffusers)\.\w+\.|cannot import name ['\"]?(?!DataCollator)[A-Z]\w*"
    r"(?:For[A-Z]\w+|Config|Trainer|Model|Processor|Tokenizer|Pipeline|Transformer\w*|Cache|Scheduler|Interface)\b"
)
_HIDDEN = Pattern(
    r"module '(?:datasets|wandb|tokenizers|deepspeed|accelerate|transformers|whisper|evaluate|torch|numpy|peft|trl)' "
    r"has no attribute '(?:load_dataset|Dataset|init|log|initialize|Accelerator|load_model|Tensor|tensor|nn|ndarray"
    r"|array|AutoModel|AutoTokenizer|__version__|Tokenizer|LoraConfig)'"
    r"|is not a package|partially initialized|circular import|cannot import name '_\w+' from 'numpy\._?core\b"
)
"""No release lacks these: another file or folder of that name is imported, or one that was changed meanwhile."""
_PYTHON_2 = Pattern(r"\bImportError: No module named [A-Za-z_]")
"""Without quotes: so words it a Python 2."""
_PRIVATE = Pattern(r"_(?!_|core$)\w")
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
    packages = known(facts.packages)
    told: set[tuple[str, str]] = set()
    for line in sorted(facts.messages, key=lambda text: (_EXCEPTION.search(text) is None, caller_of(text) is None)):
        if _HIDDEN.search(line):
            continue  # a file that hides the module: interpreter/shadowed-modules
        if "Unable to initialize backend '" in line:
            continue  # JAX's log of each way that it tries
        if _PYTHON_2.search(line):
            continue  # another Python runs than the one that has the package: a row of errors.toml
        match = next((m for pattern in _LINES if (m := pattern.search(line))), None)
        if match is None:
            continue
        module, what = match["module"], match["what"]
        top = module.partition(".")[0]
        name = _NAMES.get(top.lower(), normal(top))
        if is_decided(facts, line, name):
            continue
        version = packages.version(name) if packages else None
        if version is None and "unexpected" in line:
            continue  # a function whose package is not known: its caller cannot be named either
        if (name, what) in told:
            continue
        told.add((name, what))
        rows = tuple(_rows(line, module, what))
        row = next((row for row in rows if row.fits(version)), None)
        if name in _ELSEWHERE or (row is not None and row.package in _ELSEWHERE):
            continue
        own = caller_of(line) == name and "has no attribute" not in line
        if own and row is not None and row.direction == "added" and _LAZY.search(line):
            yield _asked_through(name, version, what, row, line)
        elif own and (row is None or "cannot import name" in line):  # a release asks itself for nothing that it lacks
            yield _incomplete_package(target, packages, name, version, what, line)
        elif version is None and _is_inner_affair(line, what, row):
            yield replace(_incomplete_package(target, packages, name, version, what, line), severity=WARNING)
        elif row is not None:
            yield _known_side(facts, target, row, line, version)
        elif version and "has no attribute" in line and names.is_module(f"{module}.{what}"):
            yield _not_imported(name, version, f"{module}.{what}", rows, line)
        elif version and (exact := _exact(rows, line, module, what)):
            yield _another_copy(target, packages, name, version, exact[0], line)
        elif "has no attribute" in line and what in _PYTHONS_OWN:
            yield of_python(name, version, what, line)
        elif home := home_of(name, what, searched=_SEARCHED):
            yield elsewhere(name, version, what, home, line)
        elif not (version and name in _SEARCHED and _own_mistake(line, module)):
            public = "cannot import name" in line and not what.startswith("_")
            read = names.neither_came_nor_went(module) if public else ()
            within = version is None or (versions.at_least(version, read[0]) if read else False)
            if read and within and not (version and versions.below(read[-1], version)):
                yield _not_of_any_time(name, version, what, read, line)
            elif (name, "") not in told:
                told.add((name, ""))  # once of each package
                yield _unknown_side(facts, target, name, version, what, line)


def _is_inner_affair(line: str, what: str, row: names.Name | None) -> bool:
    """Does a package miss a private part of its own, of which no row knows more than that it came or went?

    Of torch's private parts (torch._dynamo, torch.utils._pytree) others ask all the time.
    """
    others = row is not None and row.package == "torch" and caller_of(line) != "torch"
    known_well = row is not None and (others or not row.source.startswith("sources of"))
    return "has no attribute" in line and _PRIVATE.match(what) is not None and not known_well


def _not_of_any_time(name: str, version: str | None, what: str, read: tuple[str, ...], line: str) -> Finding:
    """A name that every release has, or none."""
    top = name.replace("-", "_")
    return finding(
        subject=name,
        actual=f"{version or 'of unknown version'}, without {what}",
        expected=f"what the code that imports {what} was written for",
        severity=WARNING,
        certain=False,
        message=f"No release of {name} from {read[0]} to {read[-1]} is known to bring or drop {what}: most often it is "
        f"of a changed copy of {name} that the project brings, came later, or what is imported is not the package "
        f"(a file or folder of that name, an installation that is not whole): {CALLER.sub('', line)}.",
        fix=f"See what is imported; install the copy of {name} that the project's instructions name, or {name} anew.",
        run=(f"python -c 'import {top}; print({top}.__file__, {top}.__version__)'",),
    )


def _incomplete_package(
    target: Target, packages: Packages | None, name: str, version: str | None, what: str, line: str
) -> Finding:
    """A package that lacks a part of its own."""
    locked = remedies.locked_pins(target, packages, name)
    exact = f"{name}=={versions.public(version)}" if version and versions.public(version) else name
    return finding(
        subject=name,
        actual=f"{version or 'of unknown version'}, without {what}",
        expected="the files of one release",
        kind="package-damaged",
        certain=False,
        message=f"{name} {version or ''}".rstrip() + f" does not find a part of its own, {what}: "
        f"{CALLER.sub('', line)}.",
        usually="files of two releases are mixed, an upgrade went on under a running Python, or the imports go in a "
        "circle",
        fix=f"Start Python anew (in a notebook: restart the runtime); if that does not help, remove {name}, with its "
        "folder in site-packages, and install it again.",
        run=(remedies.uninstall(name), remedies.again(exact, "--no-deps --no-cache-dir")),
        repair=locked,
    )


_LAZY = Pattern(r"Failed to import transformers\.(?:trainer|integrations|modeling_utils|pipelines)\S{0,40} because")
"""Parts of transformers that import peft and others where these are installed."""


def _asked_through(name: str, version: str | None, what: str, row: names.Name, line: str) -> Finding:
    """A part of transformers fails on a name that later releases have: whom it imports asks for it."""
    return finding(
        subject=name,
        actual=version or "of unknown version",
        expected=f"{name}>={row.release}, or what asks for {what} in a release of its time",
        kind="package-conflict",
        certain=False,
        message=f"{name} has {what} from {row.release} on, and is asked for it where it has not: "
        f"{CALLER.sub('', line)}.",
        usually="peft (or accelerate, sentence-transformers), which this part of it imports where it is installed, was "
        f"upgraded without {name}, which the project holds back",
        fix=f"Where the project pins {name}, take a peft of that time (0.13.2 goes with 4.33 to 4.45, 0.10.0 with 4.37 "
        f"to 4.42); else upgrade {name}.",
        run=("python -m pip show transformers peft accelerate", "python -m pip install 'peft==0.13.2'"),
        source=row.source,
    )


def _own_mistake(line: str, module: str) -> bool:
    """Does somebody's own code import from the top of a package what was never there?"""
    return "cannot import name" in line and "." not in module and not caller_of(line) and not _NEW.search(line)


def _rows(line: str, module: str, what: str) -> Iterator[names.Name]:
    """What the table says of the name."""
    return names.of_module(f"{module}.{what}") if "o module named" in line else names.of_name(module, what)


def _not_imported(name: str, version: str, module: str, rows: tuple[names.Name, ...], line: str) -> Finding:
    """The release that is listed has it as a module, and a module is no attribute before somebody imported it."""
    return finding(
        subject=name,
        actual=f"{version}, with {module} not imported",
        expected=f"import {module}",
        certain=False,
        message=f"{module} is a module of its own, which {name} {version} has, and it is an attribute of its package "
        f"only once it was imported: {CALLER.sub('', line)}",
        fix=f"Write import {module} where the line is. If that fails too, another copy than the listed {version} runs, "
        "or its files are of two releases.",
        run=(f"python -c 'import {module}; print({module}.__file__)'",),
        source=rows[0].source if rows else "",
    )


def _exact(rows: tuple[names.Name, ...], line: str, module: str, what: str) -> tuple[names.Name, ...]:
    """The rows of the very thing: Python names the module that is missing, so the ones above it are there."""
    return tuple(row for row in rows if "o module named" not in line or row.is_of(module, what))


def _another_copy(
    target: Target, packages: Packages | None, name: str, version: str, row: names.Name, line: str
) -> Finding:
    """The release that is listed has the name: it is not what runs."""
    has = f"{row.package} has {_whole(row)} " + (
        f"from {row.release} on"
        if row.direction == "added"
        else (f"from {row.since} on and " if row.since else "") + f"before {row.release}"
    )
    top = row.module.partition(".")[0]
    return another_copy(target, packages, name, version, has, line, module=top, source=row.source)


def _known_side(facts: Facts, target: Target, row: names.Name, line: str, version: str | None) -> Finding:
    """Who has to move is known: the caller where it has been mended, else the package, or the line of code."""
    packages = known(facts.packages)
    installed: Mapping[str, str] = {d.name: d.version for d in packages.distributions} if packages else {}
    named = caller_of(line) if caller_of(line) != row.package else None  # numpy itself says that it has no np.int
    caller = row.caller(dict(installed), named)
    what = _whole(row)
    told = caller is not None and (caller.name == named or CALLER.search(line) is None)
    asking = caller.name if caller and told else asker_of(named, line) or "the code that imports it"
    locked = remedies.locked_pins(target, packages, row.package, *([caller.name] if caller else []))
    first = ""
    if row.direction == "added":
        use = from_release(facts, row.package, row.release)
        text, fix = f"{row.package} has {what} from {row.release} on, and {asking} needs it", f"Install {use}."
        if named and named != row.package:
            fix += f" Where the project holds {row.package} back, take an earlier {named} instead."
        if pinner := pinned_by(row.package):
            fix = f"Install {use} together with {pinner}, which goes with few releases of {row.package}: pip takes one "
            fix += f"that fits it, and {row.package} alone may become too new for it."
        if _needs_a_newer_python(facts, row):
            first = "uv venv --python 3.12 .venv"
            fix = f"Install {use}, in a newer Python: its latest releases are for 3.10 and later."
    else:
        text = f"{row.package} dropped {what} in {row.release}, and {asking} still asks for it"
        if row.since and (version is None or versions.below(version, row.since)):
            text = f"{row.package} has {what} from {row.since} on and before {row.release}, and {asking} needs it"
        cure = row.cure(caller.name) if caller else None
        use = cure or row.pin
        moved = f"{row.moved_to} does its work now" if row.moved_to and not row.moved_to.startswith("none") else ""
        if cure and (other := breaks(facts, cure)):
            use = row.pin
            fix = f"Install {row.pin}. Not {cure}, which does without it, as long as the code is as it is: the text "
            fix += f"imports {other} too, which that release no longer has. Where you change that line: pip install "
            fix += f'"{cure}".'
        elif cure:
            fix = f"Install {cure}, which does without it; or, to stay with the old release: pip install "
            fix += f'"{row.pin}".'
        elif caller is None and moved:
            fix = f"In code of your own change it: {moved}. For code of others install {use}."
        else:
            there = [one for one in row.cured_in if is_seen(re.split("[<>=!~]", one)[0], facts, line)]
            cures = f", or what does without it: {', '.join(there)}." if there else ""
            cures = cures or f", or a release of {asking} that does without it."
            fix = f"Install {use}" + (f" ({moved})." if moved else cures)
        if caller is None and not named and row.needed_by:
            asked_by = ", ".join(
                one.replace(",<=", " to ").replace(">=", " ").replace("<=", " up to ") for one in row.needed_by[:6]
            )
            fix += f" Releases that are known to ask for it: {asked_by}" + (
                f"; it was mended in {', '.join(row.cured_in[:6])}." if row.cured_in else "."
            )
    if row.direction == "added" and "has no attribute" in line and names.is_module(f"{row.module}.{row.name}"):
        fix += f" It is a module of its own: write import {row.module}.{row.name} as well."
    if row.direction == "removed" and (python := too_new_a_python(facts, row)):
        fix += (
            f" Releases before {row.release} have wheels for Python up to {python}, and here it is newer: change the "
        )
        fix += f"code, or make an environment with Python {python}."
    if row.package in remedies.TORCH_FAMILY and use:
        fix += " torch, torchvision, torchaudio and xformers are made for each other: install them in one command, and "
        fix += "start Python anew (in a notebook: restart the runtime)."
    return finding(
        subject=row.package,
        actual=version or "of unknown version",
        expected=use or f"a release that has {what}",
        message=f"{text}: {CALLER.sub('', line)}",
        fix=remedies.choose(target, locked, fix, *filter(None, (first, _command(row, use, packages)))),
        repair=locked,
        explains=(f"packages/known-symptoms {row.package}", f"packages/known-errors {row.package}"),
        source=row.source,
    )


def _command(row: names.Name, use: str, packages: Packages | None) -> str:
    """pip keeps the package that pins the other one, and takes of the other what fits it."""
    pinner = pinned_by(row.package) if row.direction == "added" else ""
    return remedies.install(pinner, use) if pinner else remedies.install_releases(row.package, use, packages)


def _whole(row: names.Name) -> str:
    """The name, with its module where that was read: another module of the package may have one of that name."""
    return f"{row.module}.{row.name}" if row.name and row.source.startswith("sources of") else row.name or row.module


def _needs_a_newer_python(facts: Facts, row: names.Name) -> bool:
    """Is what has the name no longer made for a Python as old as this one?"""
    interpreter, floor = known(facts.interpreter), _FIRST_WITHOUT_3_8.get(row.package)
    if interpreter is None or floor is None or versions.below(row.release, floor):
        return False
    return versions.below(interpreter.version, "3.9")


def _unknown_side(facts: Facts, target: Target, name: str, version: str | None, what: str, line: str) -> Finding:
    packages, interpreter = known(facts.packages), known(facts.interpreter)
    locked = remedies.locked_pins(target, packages, name)
    named = caller_of(line)
    caller = named if named and named != name else None
    new = _NEW.search(line) is not None and name in _SEARCHED
    first: tuple[str, ...] = ()
    again: tuple[str, ...] = (caller, name) if caller else (name,)
    if new:
        text = f"{name} is older than this part of it: upgrade it" + (f", and {caller} with it" if caller else "")
        old = interpreter is not None and versions.below(interpreter.version, "3.10")
        text += ", in a newer Python: its latest releases are for 3.10 and later." if interpreter and old else "."
        first = ("uv venv --python 3.12 .venv",) if old else ()
    elif caller is None and version is None and "No module named" in line and name not in _SEARCHED:
        text = (
            f"See which {name} is imported (its __file__): a package of that name from the index is not always the "
            "project's own, and another release, or a folder beside the script, may lack the part. Remove it, and "
            f"install the {name} that the program's page or requirements name."
        )
        first = (f"python -c 'import {name.replace('-', '_')} as one; print(one.__file__, one.__path__)'",)
    elif caller is None and version is None and f"module '{name}' has no" in line:
        text = (
            "See which file is imported (its __file__): a file or folder of that name where you start hides the "
            f"package; if it is the package, take a release that has {what}."
        )
    elif caller:
        text, again = to_the_same_time(name, caller, private=is_private(line, name))
    else:
        text = f"Bring the code and {name} to the same time: look up in which release {name} has {what}."
    if version and not new:
        text += f" If {name} {version} has it, files of two releases are mixed, or Python was not started anew."
    return finding(
        subject=name,
        actual=version or "of unknown version",
        expected=f"a {name} that has {what}",
        message=f"What is imported as {name} has no {what}, which {asker_of(caller, line) or 'its caller'} expects"
        + (f" ({name} {version} is listed): " if version else ": ")
        + f"{CALLER.sub('', line)}.",
        usually=behind(name, caller, version, line, new=new),
        fix=remedies.choose(
            target, locked, text, *filter(shell.harmless, first), remedies.upgrade(*again) if caller or new else ""
        ),
        certain=False,  # whatever is more specific explains it
        repair=locked,
    )
