"""What is behind a name that a package lacks, where no table tells of it, and what tells more."""

import sys

from envdoctor.knowledge.questions import is_package
from envdoctor.rules.packages._missed import SEARCHED, Missed, is_of_numba_cuda
from envdoctor.rules.rule import Facts, Pattern, known, remedies, shell, versions

_ASKED = Pattern(
    r"(?:module '(?P<module>[\w.]{1,120})' has no attribute|cannot import name) '?(?P<what>\w{1,80})"
    r"(?:'? from '?(?P<place>[\w.]{1,120}))?"
)
_PRIVATE = Pattern(r"(?:^|\.)_(?!_|core\b)\w")
_MADE_WITH_OTHERS = frozenset({"torch", "numpy", "jax", "jaxlib"})
"""Of whose private parts libraries ask that are made for each of their releases: an older one lacks them as often."""
_PINNERS = {"tokenizers": "transformers"}
"""Packages that go with few releases of another one, and name them."""


def pinned_by(package: str) -> str:
    """The package that names the few releases of this one with which it goes; "" where none is known."""
    return _PINNERS.get(package, "")


def way_out(facts: Facts, missed: Missed) -> tuple[str, ...]:
    """What helps where nobody knows when the name came or went: a sentence and commands."""
    name, version, caller = missed.name, missed.version, missed.caller
    if missed.is_new:
        return _to_the_newest(facts, name, caller)
    mixed = f" If {name} {version} has it, files of two releases are mixed, or Python was not started anew."
    tail = mixed if version else ""
    if caller:
        text, again = _to_the_same_time(name, caller, private=_is_private(missed.line, name))
        return text + tail, remedies.upgrade(*again)
    if version is None and "No module named" in missed.line and name not in SEARCHED:
        look = f"python -c 'import {name.replace('-', '_')} as one; print(one.__file__, one.__path__)'"
        return _WHICH_PACKAGE.format(name=name), look if shell.harmless(look) else ""
    if name == "jax":
        return (f"Bring what asks for {missed.what} and jax to the same time.{remedies.WITH_JAX}",)
    if version is None and f"module '{name}' has no" in missed.line:
        return (_WHICH_FILE.format(what=missed.what),)
    if is_of_numba_cuda(missed.module):
        return (_NUMBA_CUDA.format(what=missed.what), remedies.upgrade("numba-cuda", "numba"))
    return (f"Bring the code and {name} to the same time: look up in which release {name} has {missed.what}.{tail}",)


_WHICH_PACKAGE = (
    "See which {name} is imported (its __file__): a package of that name from the index is not always the project's "
    "own, and another release, or a folder beside the script, may lack the part. Remove it, and install the {name} "
    "that the program's page or requirements name; of a project that you cloned, pip install -e . leaves no part out."
)
_WHICH_FILE = (
    "See which file is imported (its __file__): a file or folder of that name where you start hides the package; if it "
    "is the package, take a release that has {what}."
)


_OF_PYTHON = (
    "this Python is older than the code was written for, or newer, as names went as well, the name is another system's "
    "alone (Windows, Linux, a Mac), or a file of that name hides Python's own module"
)
_OF_ANOTHER_TIME = "is older or newer than what asks (a pin of another package holds it), or is not there"
_NUMBA_CUDA = (
    "See numba-cuda's release (pip show numba-cuda), and take one that has {what}: a later one, as a rule, against a "
    "pin that holds it if need be; or the release of what asks that was made for the one that is there."
)


def _to_the_newest(facts: Facts, name: str, caller: str | None) -> tuple[str, ...]:
    interpreter = known(facts.interpreter)
    old = interpreter is not None and versions.below(interpreter.version, "3.10")
    both = f", and {caller} with it" if caller else ""
    python = ", in a newer Python: its latest releases are for 3.10 and later" if old else ""
    text = f"{name} is older than this part of it: upgrade it{both}{python}."
    return text, "uv venv --python 3.12 .venv" if old else "", remedies.upgrade(*filter(None, (caller, name)))


def _is_private(line: str, name: str) -> bool:
    """Is a part asked for that a package has for itself alone (its name begins with an underscore)?"""
    found = _ASKED.search(line)
    if found is None or name in _MADE_WITH_OTHERS:
        return False
    return any(_PRIVATE.search(part) for part in (found["module"], found["place"], found["what"]) if part)


def _to_the_same_time(name: str, caller: str, *, private: bool) -> tuple[str, tuple[str, ...]]:
    """How a caller and what it calls come to one time, and what of it pip would upgrade: a project that was cloned has
    no release on an index, or another one's of that name."""
    newest = f"the newest {caller}" if is_package(caller) else f"the newest sources of {caller}, where it was cloned"
    if private:
        text = f"Install an earlier {name}, the one that the requirements of {caller} name or that was the newest when "
        return f"{text}it was written; or take {newest}.", (caller,) if is_package(caller) else ()
    if is_package(caller):
        both = f"Bring {caller} and {name} to releases of the same time: the newest of both, or those that {caller}"
        return f"{both} pins.", (caller, name)
    return f"Bring {caller} and {name} to the same time: the releases that {caller} pins, or {newest}.", ()


def behind(missed: Missed) -> str:
    """What is behind a name that is in no table, in most cases."""
    name, caller, line = missed.name, missed.caller, missed.line
    if missed.is_new:
        return f"{name} is older than this part of it"
    if name in ("jax", "jaxlib"):
        asks = caller or "the library that asks (chex, optax, flax, dm-haiku, distrax, trax)"
        return (
            f"{asks} is older than {name}, which drops names with every minor release, {name} is older than what asks, "
            "or its files are of two releases"
        )
    if name.replace("-", "_") in sys.stdlib_module_names:
        return _OF_PYTHON
    if "No module named" in line:
        return (
            f"{name} is of another release than its caller was written for, is not whole (a part that its "
            "installation leaves out, or that has to be built or installed apart), or a folder or another package of "
            "that name is imported in its place"
        )
    if caller is None and missed.version is None and f"module '{name}' has no" in line:
        return f"a file or folder of that name hides {name}, or it is of another release than the code was written for"
    if caller and _is_private(line, name):
        return (
            f"{name} is too new for {caller} (what begins with an underscore changes without notice, and who uses it "
            f"is of an earlier time), {name} is older than {caller}, or its files are of two releases"
        )
    if is_of_numba_cuda(missed.module):
        return f"numba-cuda, which brings numba.cuda in the place of numba's own, {_OF_ANOTHER_TIME}"
    times = f"{caller or 'its caller'} and {name} are of different times"
    return f"{times}, a file or folder of that name hides it, or its files are of two releases"


def breaks(facts: Facts, cure: str) -> str:
    """What the text imports beside it that the release that would help has no more."""
    name, _, release = cure.partition(">=")
    dropped = (key.split() for key in facts.remarks if key.startswith(f"import that {name} "))
    gone = next((key[3] for key in dropped if release and not versions.below(release, key[3])), "")
    return facts.remarks[f"import that {name} {gone} dropped"] if gone else ""
