import sys

from envdoctor.knowledge.questions import is_package, messages
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Pattern, Skip, finding, known, remedies, rule

_SAYS = (
    Pattern(r"partially initialized module '(?!torchvision\b)([\w.]+)'"),
    Pattern(r"since it has the same name as the standard library module named '([\w.]+)'"),
    Pattern(r"since it has the same name as the library you intended to import"),
)


_FILE = Pattern(r"\((?P<file>[^()]{0,200}[/\\][^()]{0,200})\)")
"""Where Python found the module, as an ImportError has it."""
_INSTALLED = Pattern(r"(?:site|dist)-packages[/\\]|[/\\](?:lib|Lib)[/\\]python[\d.]{0,5}[/\\]")


@rule(ERROR, kind="interpreter", expected="no file of this name")
def shadowed_modules(facts: Facts) -> Findings:
    """A file of yours hides a module of Python or of an installed package.

    Why: the working directory and PYTHONPATH come before everything else. A timeit.py, random.py or datasets/
    there is imported in place of the real one, by torch too: the import then fails in strange ways, or quietly
    runs the wrong code.
    Fix: rename the file (and remove its __pycache__), or start from another directory.
    Source: https://docs.python.org/3/library/sys_path_init.html
    https://docs.python.org/3/whatsnew/3.13.html#improved-error-messages
    """
    interpreter = known(facts.interpreter)
    said = messages.in_report(facts, *_SAYS)
    if interpreter is None and said is None:
        raise Skip("the interpreter is not known")
    for path in interpreter.shadowed if interpreter else ():
        name = path.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".py")
        yield _of_a_file(name, path, f"{path} hides the module {name}.")
    if said is not None and not (interpreter and interpreter.shadowed) and not _COMPILED.search(said.string):
        yield _message_of(facts, said.string, said[1] if said.re.groups and said[1] else "a module")


_COMPILED = Pattern(r"cannot import name ['\"]?(?:\w{2,60}_(?:cuda|ext|cpp|gpu)|_C|_ext)['\"]? from partially")
"""By its name a part that was never compiled: rows of errors.toml say so."""


def _of_a_file(name: str, path: str, message: str, guessed: bool = False) -> Finding:
    return finding(
        subject=name,
        actual=path,
        severity=WARNING if guessed else None,
        message=message,
        fix="Rename the file, or start from another directory (python -P leaves the directory out).",
        explains=("torch/", "packages/import-mismatch"),
    )


def _message_of(facts: Facts, line: str, name: str) -> Finding:
    """Python itself takes a loop of imports for the likeliest; which file it found tells whether one hides another."""
    said = messages.own_words(line)
    found = _FILE.search(line)
    if "same name" in line:
        return _of_a_file(name, line, f"A file hides {name}: {said}.")
    top = name.partition(".")[0]
    if found is not None and _INSTALLED.search(found["file"]) is None:
        return _of_no_package(name, top, found["file"], line, said)
    installed = facts.remarks.get(f"module {top}") == "installed"  # a path of the report leads through it
    loop = "." in name or found is not None or installed or _raised_by_itself(line, top)
    if not loop:
        text = f"Most often a file or folder of that name hides {name}: {said}."
        return _of_a_file(name, line, text, guessed=True)
    return finding(
        subject=top,
        actual=line,
        severity=WARNING,
        certain=False,
        message=f"{name} {_AGAIN}: {_IN_A_CIRCLE}: {said}.",
        fix=f"Start Python anew (in a notebook: restart the runtime) and import {top} alone; {_BREAK_IT}",
        run=(f"python -c 'import {top}'", remedies.again(top, "--no-deps --no-cache-dir")),
        explains=("packages/import-mismatch",),
    )


_AGAIN = "is imported again before its first import has ended"
_IN_A_CIRCLE = (
    "a part of it failed to load earlier (the first error of the traceback tells which), its files are of two "
    "releases, or the code imports in a circle"
)
_BREAK_IT = (
    "if that fails, install it again. A circle in code of your own is broken by an import within the function that "
    "needs it."
)


def _of_no_package(name: str, top: str, file: str, line: str, said: str) -> Finding:
    """The module that is still being imported is a file outside of any installation."""
    hides = is_package(top.replace("_", "-")) or top in sys.stdlib_module_names
    circle = "modules of the code import each other in a circle"
    hidden = f"the file hides the package or module of Python's that is called {top}"
    return finding(
        title=f"A module {_AGAIN}",
        subject=name,
        actual=line,
        message=f"{name} {_AGAIN}, and is the file {file}: {said}.",
        usually=f"{hidden}; else {circle}" if hides else f"{circle}; else {hidden}",
        fix=f"Where {top} should be an installed package: {_RENAME_OR_SPLIT}",
        explains=("torch/", "packages/import-mismatch"),
    )


_RENAME_OR_SPLIT = (
    "rename the file, or start from another directory (python -P leaves the directory out). Where it is the code's "
    "own: import within the function that needs it, or move what both modules need into a third one."
)


def _raised_by_itself(line: str, top: str) -> bool:
    """Does the traceback end in the module itself, or is what it lacks its own affair?"""
    by = messages.RAISED_IN.search(line)
    return (by is not None and by["name"] == top) or Pattern(r"has no attribute '_").search(line) is not None
