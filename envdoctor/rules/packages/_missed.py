"""What an error line misses of which package: a name that cannot be imported, an attribute, a module or an argument."""

import sys

from envdoctor.knowledge.questions import errors_in, names, normal
from envdoctor.rules.packages import _callers, _labelled
from envdoctor.rules.rule import Facts, Pattern, messages
from envdoctor.values.frozen import frozen

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
    "modules config configs scripts data options network networks layers train dataset helper helpers".split()
)
_HIDDEN = Pattern(
    r"module '(?:datasets|wandb|tokenizers|deepspeed|accelerate|transformers|whisper|evaluate|torch|numpy|peft|trl)' "
    r"has no attribute '(?:load_dataset|Dataset|init|log|initialize|Accelerator|load_model|Tensor|tensor|nn|ndarray"
    r"|array|AutoModel|AutoTokenizer|__version__|Tokenizer|LoraConfig)'"
    r"|is not a package|partially initialized|circular import|cannot import name '_\w+' from 'numpy\._?core\b"
)
"""No release lacks these: another file or folder of that name is imported, or one that was changed meanwhile."""
_LOCATED = Pattern(
    r"\bhydra\b.{0,80}\bError (?:getting|loading)|Error (?:getting class|locating target|loading) (?:at )?['\"]?\w"
)
_PYTHON_2 = Pattern(r"\bImportError: No module named [A-Za-z_]")
"""Without quotes: so words it a Python 2."""
_PRIVATE = Pattern(r"_(?!_|core$)\w")

SEARCHED = frozenset("accelerate datasets diffusers huggingface-hub peft transformers trl".split())
"""Packages whose every release was searched for names that went: what is not in the table did not go."""
_NEW = Pattern(
    r"No module named ['\"]?(?:transformers|diffusers)\.\w+\.|cannot import name ['\"]?(?!DataCollator)[A-Z]\w*"
    r"(?:For[A-Z]\w+|Config|Trainer|Model|Processor|Tokenizer|Pipeline|Transformer\w*|Cache|Scheduler|Interface)\b"
)


def is_of_numba_cuda(module: str) -> bool:
    """numba-cuda brings numba.cuda in the place of numba's own."""
    return f"{module}.".startswith("numba.cuda.")


@frozen
class Missed:
    """``name``: the distribution; ``module``: as the line has it; ``version``: what is listed of it, if anything."""

    name: str
    module: str
    what: str
    version: str | None
    line: str

    @property
    def said(self) -> str:
        return messages.own_words(self.line)

    @property
    def release(self) -> str:
        return self.version or "of unknown version"

    @property
    def rows(self) -> tuple[names.Name, ...]:
        """What the table says of the name: of a module itself, as Python names the outermost that is missing; the one
        above it is meant where it is a module and no package."""
        if "o module named" not in self.line:
            return tuple(row.at(self.version) for row in names.of_name(self.module, self.what))
        above = "is not a package" in self.line
        told = names.of_module(f"{self.module}.{self.what}")
        found = (row for row in told if above or row.is_of(self.module, self.what))
        return tuple(row.at(self.version) for row in found)

    @property
    def is_attribute(self) -> bool:
        return "has no attribute" in self.line

    @property
    def is_asked_by_itself(self) -> bool:
        """Does the package's own code ask for it? Of an attribute the line does not tell."""
        return _callers.caller_of(self.line) == self.name and not self.is_attribute

    @property
    def caller(self) -> str | None:
        """Who asks for it, where the line names another one."""
        named = _callers.caller_of(self.line)
        return named if named and named != self.name else None

    @property
    def is_new(self) -> bool:
        """Is it named as later releases name their parts?"""
        return _NEW.search(self.line) is not None and self.name in SEARCHED

    @property
    def is_own_mistake(self) -> bool:
        """Does somebody's own code import from the top of a package what was never there?"""
        if not self.version or self.name not in SEARCHED or "cannot import name" not in self.line:
            return False
        return "." not in self.module and not _callers.caller_of(self.line) and not _NEW.search(self.line)

    def exact(self, rows: tuple[names.Name, ...]) -> names.Name | None:
        """The row of the very thing: Python names the module that is missing, so the ones above it are there."""
        alone = "o module named" not in self.line
        return next((row for row in rows if alone or row.is_of(self.module, self.what)), None)

    def is_inner_affair(self, row: names.Name | None) -> bool:
        """Is it a private part of the package, of which no row knows more than that it came or went?

        Of torch's private parts (torch._dynamo, torch.utils._pytree) others ask all the time.
        """
        others = row is not None and row.package == "torch" and _callers.caller_of(self.line) != "torch"
        known_well = row is not None and (others or not row.source.startswith("sources of"))
        return self.is_attribute and _PRIVATE.match(self.what) is not None and not known_well


def read(facts: Facts, line: str) -> Missed | None:
    if _HIDDEN.search(line):
        return None  # a file that hides the module: interpreter/shadowed-modules
    if "Unable to initialize backend '" in line:
        return None  # JAX's log of each way that it tries
    if "has no attribute" in line and messages.in_report(facts, _LOCATED) is not None:
        return None  # hydra asks for a module as for an attribute, before it imports it: that failed by another error
    if _PYTHON_2.search(line):
        return None  # another Python runs than the one that has the package: a row of errors.toml
    match = next((m for pattern in _LINES if (m := pattern.search(line))), None)
    if match is None:
        return None
    top = match["module"].partition(".")[0]
    name = _NAMES.get(top.lower(), normal(top))
    if is_of_numba_cuda(match["module"]) and any("numba-cuda" in text for text in messages.everything(facts)):
        name = "numba-cuda"
    if _is_decided(facts, line, name):
        return None
    version = _labelled.version(facts, name)
    if version is None and "unexpected" in line:
        return None  # a function whose package is not known: its caller cannot be named either
    return Missed(name=name, module=match["module"], what=match["what"], version=version, line=line)


def _is_decided(facts: Facts, line: str, name: str) -> bool:
    """Does a row speak of the line because of what stands around it (a fork that took the package's name), or of this
    very package? It knows more than the name tells."""
    every = tuple(errors_in(facts, line))
    if every and (name.replace("-", "_") in sys.stdlib_module_names or "Warning: " in line):
        return True
    rows = [row for row in every if not row.weak]
    torn = _callers.caller_of(line) == name  # a release that asks itself for what it lacks
    return any(row.beside or (row.subject == name and not torn) for row in rows)


def is_told_elsewhere(package: str) -> bool:
    """Is the name one of many projects' folders, or of what another rule or a row of errors judges?"""
    return package in _ELSEWHERE
