"""What a library's own error asks for: a package that is not there, or another release of one.

Libraries say it in sentences of their own ("requires `peft` >= 0.18", "Pillow is not installed", "please upgrade your
datasets"), and there are more of them than rows could list. The forms are few; which words are packages is a table.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from envdoctor.knowledge.messages import own_words
from envdoctor.knowledge.names import distribution_of, library_of
from envdoctor.knowledge.requirements import normal
from envdoctor.knowledge.table import bundled_table
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Ask:
    """A package that an error asks for. ``package``: its distribution, "" where no index has one; ``specifier``: the
    releases that would do, "" where none is named; ``newer``: it is there, and too old; ``module``: used, and not
    imported."""

    spoken: str
    package: str
    extras: str = ""
    specifier: str = ""
    newer: bool = False
    module: str = ""

    @property
    def requirement(self) -> str:
        return f"{self.package}{self.extras}{self.specifier}"


# Of a program that ended: the name of an exception, and its sentence. What somebody raised it from is cut off.
_SAID = Pattern(r"\b[A-Za-z_][\w.]{0,80}(?:Error|Exception): (?P<text>.{8,1500})$")
_OTHER_SENTENCE = re.compile("[\uff0c\u3002\uff1b]")
"""Where a person goes on after the program's words, in a language that has its own full stops and commas."""
_PERSON = Pattern(r"\b(?:I|I'm|I've|[Ww]e|[Mm]y|[Oo]ur)\b|(?<![A-Za-z'])(?:[A-Za-z']{1,40} ){3}\W{0,8}$")
"""Before the name of an exception: somebody tells of it in a sentence of his own."""
_GOES_ON = Pattern(
    r"[,;.]?\s(?:when|after|while|once|if|as soon as|because) (?:I|we|it|the|you|my|install|run|try|us|execut|launch"
    r"|start|import|call|load|train|updat|upgrad)"
)
"""Where that sentence goes on after the program's words, and its own "install" asks for nothing."""

_NAME = r"""[`'"*]{0,2}(?P<name>[A-Za-z][\w-]{0,40}(?:\.[A-Za-z]\w{0,40})?)(?:\[[\w,-]{1,60}\])?[`'"*]{0,2}"""
_OF = (
    r"(?:the |an? |your |its |latest |newest |recent |newer |at least |installed "
    r"|version of |package |library |module )*"
)
_KIND = r"(?: python)?(?: library| package| module)?"
_RELEASE = r"[`'\"]?v?(?P<version>\d+(?:\.\d+)*(?:[abrc]+\d+|\.?dev\d+|\.?post\d+)?)[`'\"]?(?![\w/])"
_MORE = r"(?P<more>(?: ?, ?[<>=!~]=? ?\d[\w.]{0,20}){0,3})"
_MUST = r"(?:must|should|needs? to|has to|have to)"

_OTHER_RELEASE = (
    Pattern(rf"{_NAME}{_KIND}(?: version)? ?(?P<op>>=|<=|==|~=|<|>) ?{_RELEASE}{_MORE}", re.IGNORECASE),
    Pattern(rf"\bvalid {_NAME} version \((?P<op>>=|==) ?{_RELEASE}\)", re.IGNORECASE),
    Pattern(rf"\b(?:requires?|needs?) {_OF}{_NAME}(?: version)?,? (?:at least |version )?{_RELEASE}", re.IGNORECASE),
    Pattern(rf"{_NAME}{_KIND} version {_MUST} be (?:at least |>= ?|(?:greater|higher|newer) (?:than )?(?:or equal )?"
            rf"(?:to |than )?)?{_RELEASE}", re.IGNORECASE),
    Pattern(rf"\b(?:upgrade|update) {_OF}{_NAME}{_KIND}(?: version)? to (?:at least |version |the latest |>= ?)*"
            rf"{_RELEASE}", re.IGNORECASE),
)  # fmt: skip
_NEWER = (
    Pattern(rf"(?:\bplease |\byou should |\bneed to |[.;,] |^)(?:upgrade|update) {_OF}{_NAME}{_KIND}(?: version)?"
            r"(?=[.,;:!)]|$| (?:to|and|in|or|via|with|together|before|on)\b)", re.IGNORECASE),
    Pattern(rf"\byour (?:version of |installed )?{_NAME}{_KIND}(?: version)? (?:is too old|is outdated"
            r"|does not support)", re.IGNORECASE),
    Pattern(rf"\bincompatible version of {_NAME}", re.IGNORECASE),
    Pattern(rf"\b(?:installed|current) {_NAME}{_KIND}(?: version)?(?: is)? too old", re.IGNORECASE),
)  # fmt: skip
_BY_COMMAND = Pattern(
    r"\b(?:pip3?|conda) install (?:-c \S+ |--?[\w-]+[ =]|\"|'|`)*(?P<name>(?!git\+)[A-Za-z][\w.-]{1,60})"
    r"(?P<extras>\[[\w,-]{1,60}\])?"
    r"(?:(?P<op>>=|<=|==|~=|<|>)(?P<version>\d[\w.]{0,20}))?(?![/:+\w])"
)
_ABSENT = (
    Pattern(rf"{_NAME}{_KIND}(?:,? which)? (?:is|are|was|were) (?:not (?:currently )?(?:installed|found|available)"
            rf"|required|needed|missing|unavailable|selected, but it is not installed)", re.IGNORECASE),
    Pattern(rf"{_NAME}{_KIND} (?:{_MUST} be|(?:does(?: not|n't) seem|do not seem) to be) (?:installed|available)",
            re.IGNORECASE),
    Pattern(rf"{_NAME}{_KIND} (?:is |was )?(?:not (?:installed|found)"
            r"|(?:can ?not|could not|can't) be (?:imported|found))", re.IGNORECASE),
    Pattern(rf"\b(?:install|installing|installation of|have|having) {_OF}{_NAME}{_KIND} "
            r"(?:to|for|in order|first|before|installed|and|via|with|by)\b", re.IGNORECASE),
    Pattern(rf"\b(?:requires?|needs?|depends on) {_OF}{_NAME}(?: library| package| to be installed| installation"
            r"| installed|(?= *[.,;:!)]|$)| for\b| to\b| but\b)", re.IGNORECASE),
    Pattern(rf"\b(?:make sure|ensure)(?: that)? (?:either )?{_OF}{_NAME}{_KIND} (?:is|are) installed", re.IGNORECASE),
    Pattern(rf"\b(?:please|you (?:need|have) to|must|should|make sure to),? install {_OF}{_NAME}", re.IGNORECASE),
    Pattern(rf"\b(?:failed to|could not|couldn't|cannot|can't|unable to) (?:import|find) {_OF}{_NAME}(?![.\w])",
            re.IGNORECASE),
    Pattern(rf"^(?:no|missing) {_OF}{_NAME}{_KIND}(?: found| installed| available)?(?=[.,;:!)]|$)", re.IGNORECASE),
)  # fmt: skip
_ASKS = Pattern(
    r"requir|need|install|upgrad|updat|\bmust\b|\bshould\b|missing|not found|(?:in)?compatible|depend|too old|outdated"
    r"|support|available|import|\bplease\b|\bat least\b|\bminimum\b|\bexpect|\bwant|\bvalid\b|\bno\b|without|\buse\b",
    re.IGNORECASE,
)
_NO_ASKING = Pattern(r"^[\w.]{1,80}\(\) got an unexpected keyword argument|^Command ['\"\[(]")
"""Python's own sentence, whole as it is: what follows it on the line is somebody's own words; a command that failed
asks for what it was to install, which is not what ails it."""
_UNDEFINED = Pattern(r"\bNameError: (?:global )?name ['\"`]?(?P<name>\w{2,60})['\"`]? is not defined")
# What stands before a release that somebody has, not wants.
_HAS = Pattern(
    r"(?:\bfound|\bhave|\bdetected|\bgot|\binstalled:?|\busing|\bis|\bwith|\bcurrent(?:ly)?)(?: version)?:? ?[`'\"(]?$",
    re.IGNORECASE,
)


def ask_of(line: str) -> Ask | None:
    """The package that an error line asks for, if its sentence is of a known form and names one."""
    if (unknown := _UNDEFINED.search(line)) is not None:
        module = bundled_table("spoken").head["undefined"].get(unknown["name"])
        return Ask(spoken=module, package=package_spoken(module) or "", module=module) if module else None
    if (said := _SAID.search(line)) is None:
        return None
    if _NO_ASKING.search(said["text"]):
        return None
    text = _join_names(own_words(_OTHER_SENTENCE.split(_programs(line, said))[0]))
    if _ASKS.search(text) is None:
        return None
    for pattern in _OTHER_RELEASE:
        for found in pattern.finditer(text):
            package = package_spoken(found["name"])
            if package is not None and _HAS.search(text[: found.start()]) is None:
                groups = found.groupdict()
                specifier = f"{groups.get('op') or '>='}{found['version']}{(groups.get('more') or '').replace(' ', '')}"
                return Ask(spoken=found["name"], package=package, specifier=specifier, newer=True)
    for pattern in _NEWER:
        if (one := _first(pattern, text)) is not None:
            return Ask(spoken=one[0], package=one[1], newer=True)
    if (command := _BY_COMMAND.search(text)) is not None and not command["name"].endswith((".txt", ".whl", ".toml")):
        specifier = f"{command['op']}{command['version'].rstrip('.')}" if command["op"] else ""
        return Ask(
            spoken=command["name"],
            package=normal(command["name"].rstrip(".-")),
            extras=command["extras"] or "",
            specifier=specifier,
        )
    for pattern in _ABSENT:
        if (one := _first(pattern, text)) is not None:
            return Ask(spoken=one[0], package=one[1])
    return None


def _programs(line: str, said: re.Match[str]) -> str:
    """The program's own words, without a person's around them: up to the mark that they are set in (quotes, a
    backtick, Markdown's emphasis), else to where his sentence goes on."""
    before, text = line[: said.start()], said["text"]
    mark = before[-1:] if before[-1:] in tuple("\"'`*_") else line[said.start()] if line[said.start()] == "_" else ""
    if mark and (closed := re.search(re.escape(mark) + r"(?=[\s,.;:!?)*_`]|$)", text)):
        return text[: closed.start()]
    told = _PERSON.search(before) is not None and _GOES_ON.search(text)
    return text[: told.start()] if told and told.start() > 8 else text


def _first(pattern: Pattern, text: str) -> tuple[str, str] | None:
    """The first word in that place that is a package, and its distribution."""
    found = ((match["name"], package_spoken(match["name"])) for match in pattern.finditer(text))
    return next(((name, package) for name, package in found if package is not None), None)


def package_spoken(word: str) -> str | None:
    """The distribution that is meant, "" for one that no index has, None where the word is no package's."""
    plain = word.lower()
    spoken = _words()
    if plain in spoken:
        return spoken[plain]
    if plain.replace("_", "-") in _packages():
        return plain.replace("_", "-")
    return distribution_of(word)


def _join_names(text: str) -> str:
    """With names of two words made one, so that each name is a word."""
    for phrase, package in _words().items():
        if " " in phrase and phrase in text.lower():
            text = re.sub(re.escape(phrase), package or phrase.replace(" ", "-"), text, flags=re.IGNORECASE)
    return text


@functools.cache
def _words() -> Mapping[str, str]:
    found: Mapping[str, str] = bundled_table("spoken").head["words"]
    return {
        **found,
        **{phrase.replace(" ", "-"): "" for phrase, package in found.items() if " " in phrase and not package},
    }


@functools.cache
def _packages() -> frozenset[str]:
    return frozenset(bundled_table("spoken").head["packages"].split())


def is_package(name: str) -> bool:
    """Is this known as the name of a distribution that an index has?"""
    return bool(package_spoken(name)) or bool(library_of(name.replace("-", "_")))


def every_word() -> Iterator[str]:
    """All that is taken for a package: for the tests of the table."""
    yield from _packages()
    yield from _words()
