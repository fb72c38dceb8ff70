"""What an error leaves out and the code beside it shows: the class that was called, the module that had no such name.

Before Python 3.10 a TypeError names no class ("__init__() got an unexpected keyword argument"), before 3.7 an
ImportError no module, before 3.5 an AttributeError none either ("'module' object has no attribute"); and who writes a
heading from memory leaves out all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from envdoctor.facts.pasted.page import Page
from envdoctor.facts.pasted.wording import TOOLS_WORDS
from envdoctor.knowledge import names
from envdoctor.knowledge.errors import ERRORS
from envdoctor.values.pattern import Pattern

_ARGUMENT = Pattern(rf"\bunexpected keyword argument (?:[`'\"]|(?!{names.NO_NAMES}\b))(?P<what>[A-Za-z_]\w{{1,60}})")
_NAMED = Pattern(r"(?<!__init__)(?<!__new__)\(\) got an unexpected|\w\.__(?:init|new)__\(\) got an unexpected")
_OF_A_CLASS = Pattern(r"(?<![\w.])(?=__(?:init|new)__\(\) (?:got|missing|takes))")
_IMPORT = Pattern(r"cannot import name ['\"`]?(?P<what>[A-Za-z_]\w{1,80})['\"`]?(?! ?from\b)(?=$|[\s.,:;)\[(])")
_LACKING = Pattern(r"(?<!\w )'module' object has no attribute [`'\"](?P<what>[A-Za-z_]\w{1,80})[`'\"]")
_CALL = Pattern(r"(?<![\w.])(?P<name>(?:\w{1,60}\.){0,4}[A-Z]\w{1,80})\(")
_CALL_LINE = Pattern(r"[A-Za-z_0-9]\((?!\) got)")
_EATEN = Pattern(r"(?<=\w)\.(?:\*\*)?(?P<name>init|new)(?:\*\*)?(?=\(\) (?:got|missing|takes))")
_BEFORE = Pattern(r"(?P<name>[A-Za-z_][\w.]{0,120})\s*$")
_ARROW = Pattern(r"-{2,4}> ?\d{1,5} ")
"""The line of code at which a notebook says that it stopped."""
_MARK = Pattern(r"^\s*(?:-{2,4}> ?)?\d{1,5} ")
_HANDED_ON = Pattern(r"\([\w., ]{0,60}\*\w{1,40}, ?\*\*\w{1,40}\)\s*$")
"""A wrapper's line: it hands on whatever it is given, and says nothing of whom it calls."""
_PLAIN = Pattern(r"(?<![\w.])(?P<callee>[a-z_]\w{0,60})\(\) got an unexpected keyword argument")
_CUT = Pattern(
    r"(?:No module named|cannot import name|attribute|argument|package|module) (?P<quote>['\"])(?P<name>[\w.]{0,80})$"
)
"""A last line that ends within a name."""
_NEAR = 12
_FAR = 1_500
"""How many characters of arguments may stand between a call's name and one of them."""


class Beside:
    """The line of code that stands before a message: the one that a notebook points at, else the line before."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._before = self._pointed_at = ""
        self._pointed = -_NEAR
        self._called: tuple[int, str] = (-_NEAR, "")

    @cached_property
    def _code(self) -> str:
        return code_of(self._page)

    def with_whole_name(self, line: str) -> str:
        """The last line of a report that ends within a name: with the name's end where the code line before it has it
        as a whole and no longer one, or where it is an argument that tables know; else without it, since what it
        would have been cannot be told."""
        cut = _CUT.search(line.rstrip())
        if cut is None:
            return line
        name = cut["name"]
        told = set(re.findall(rf"(?<![\w.]){re.escape(name)}[\w.]*", self._before)) if name else set()
        whole = told == {name} or (not told and "argument" in cut[0] and names.is_argument(name))
        return line.rstrip() + cut["quote"] if whole else line[: cut.start()].rstrip(" :(")

    def complete(self, number: int, text: str) -> str:
        """The message of this line with what it leaves out; lines come in their order."""
        if _ARROW.match(text):
            self._pointed_at, self._pointed = text, number
        near = self._pointed_at if number - self._pointed < _NEAR else self._before
        if _HANDED_ON.search(near) and number - self._called[0] < _NEAR:
            near = self._called[1]
        self._before = text
        if _CALL_LINE.search(text) and not _HANDED_ON.search(text):
            self._called = (number, text)
        return complete_message(text, self._code, near)


def complete_message(text: str, code: str, near: str) -> str:
    """The message with what it leaves out, where the report's ``code`` shows it; ``near``: the line of code that stands
    before it. The two underscores that Markdown takes for bold print come back."""
    text = _EATEN.sub(r".__\g<name>__", text)
    if (found := _IMPORT.search(text)) is not None and (
        module := _module_of(found["what"], near) or _module_of(found["what"], code)
    ):
        return f"{text[: found.start()]}cannot import name '{found['what']}' from '{module}'{text[found.end() :]}"
    if (found := _LACKING.search(text)) is not None and (module := _module_with(found["what"], code)):
        return f"{text[: found.start()]}module '{module}' has no attribute '{found['what']}'{text[found.end() :]}"
    if (found := _PLAIN.search(text)) is not None and (owner := _asked_of(found["callee"], near, code)):
        return f"{text[: found.start()]}{owner}.{text[found.start() :]}"
    bare = _OF_A_CLASS.search(text)
    argument = _ARGUMENT.search(text)
    if argument is not None and _NAMED.search(text) is None and (bare or "() got" not in text):
        callee = _called_with(argument["what"], code) or (_called_on(near) if bare else None)
        return (
            f"TypeError: {callee}.__init__() got an unexpected keyword argument '{argument['what']}'"
            if callee
            else text
        )
    if bare is not None and argument is None and (callee := _called_on(near)):
        return f"{text[: bare.end()]}{callee}.{text[bare.end() :]}"
    return text


def _module_of(name: str, code: str) -> str | None:
    """The module that a line of the report imports the name from, where it is one."""
    pattern = rf"\bfrom ([A-Za-z_][\w.]{{0,120}}) import (?:\([^()]{{0,2000}}?\b{name}\b|[^\n(]{{0,500}}?\b{name}\b)"
    modules = set(re.findall(pattern, code))
    return modules.pop() if len(modules) == 1 else None


def _module_with(name: str, code: str) -> str | None:
    """The module on which the report's code looks for the name, by what it was imported as, where it is one."""
    heads = {found[1] for found in re.finditer(rf"(?<![\w.])([A-Za-z_]\w{{0,60}})\.{name}\b", code)}
    paths = {
        found[1] or found[2]
        for head in sorted(heads)[:20]
        for found in re.finditer(rf"\bimport ([A-Za-z_][\w.]{{0,120}}) as {head}\b|\bimport ({head})(?![\w.])", code)
    }
    return paths.pop() if len(paths) == 1 else None


def _called_with(argument: str, code: str) -> str | None:
    """The class to which code of the report passes this argument, where it is one."""
    places = [found.start() for found in re.finditer(rf"\b{argument} ?=(?!=)", code)][:20]
    callees = {callee for place in places if (callee := _callee_before(code[max(0, place - _FAR) : place]))}
    return callees.pop() if len(callees) == 1 else None


def _callee_before(text: str) -> str | None:
    """What stands before the parenthesis that is open at the end."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[place], 0)
        if depth < 0:
            found = _BEFORE.search(text[:place])
            name = found["name"].rpartition(".")[2] if found else ""
            return name if name[:1].isupper() else None
    return None


def _asked_of(function: str, line: str, code: str) -> str | None:
    """The module on which a line of code calls the function, where it is a library's ("@hydra.main(", "pl.load(")."""
    pattern = rf"(?<![\w.])((?:[A-Za-z_]\w{{0,40}}\.){{1,4}}){re.escape(function)}\("
    heads = {found[1].rstrip(".") for found in re.finditer(pattern, line)}
    if len(heads) != 1:
        return None
    head, _, rest = heads.pop().partition(".")
    module = re.search(rf"^\W{{0,12}}import ([A-Za-z_][\w.]{{0,120}}) as {head}\b", code, re.MULTILINE)
    owner = ".".join(filter(None, (module[1] if module else head, rest)))
    return owner if names.library_of(owner) else None


def _called_on(line: str) -> str | None:
    """The one class that a line of code calls."""
    called = {found["name"].rpartition(".")[2] for found in _CALL.finditer(line)}
    return called.pop() if len(called) == 1 else None


def code_of(page: Page) -> str:
    """The lines without the marks that a notebook puts before them."""
    return "\n".join(_MARK.sub("", line) for line in page.lines)[:200_000]


_CUT_OFF = Pattern(r"(?:[\w.]{1,80}: ){0,2}(?P<words>[A-Z`'\"][^\n]{9,200}?)[.…]{0,3}")
_ALTERNATIVE = Pattern(r"(?:[^\\|()\[\]{}?*+.^$]|\\[^\w\s]){16,160}")
"""Of an expression: what stands in it letter by letter at its beginning."""
_SEVERAL_WORDS = Pattern(r"(?:[^ |()\[\]{}?*+^$]{1,40} ){3}")
_LEAST_WORDS = 3


def _sentences(words: str) -> Iterator[str]:
    """Sentences that rows know letter by letter and that begin with these words."""
    for said in chain((row.said for row in ERRORS), TOOLS_WORDS):
        plain = said.replace("\\", "").lower()
        if words in plain:
            parts = (part.replace("\\", "") for part in _alternatives(said))
            yield from (part for part in parts if part.lower().startswith(words) and len(part) > len(words))


def whole_sentences(said: str) -> list[str]:
    """The alternatives of an expression that stand in it letter by letter from their beginning to their end."""
    if _SEVERAL_WORDS.search(said) is None:
        return []
    return [part.replace("\\", "") for part in _branches(said) if _ALTERNATIVE.fullmatch(part)]


def _alternatives(said: str) -> list[str]:
    """The parts between bars outside of parentheses, as far as they stand there letter by letter."""
    return [found[0].rstrip() for part in _branches(said) if (found := _ALTERNATIVE.match(part))]


def _branches(said: str) -> list[str]:
    if "(" not in said:
        return said.replace("\\|", "\0").replace("|", "\1").replace("\0", "\\|").split("\1")
    depth, parts = 0, [""]
    for place, sign in enumerate(said):
        escaped = place > 0 and said[place - 1] == "\\"
        depth += 0 if escaped else {"(": 1, ")": -1}.get(sign, 0)
        if sign == "|" and not depth and not escaped:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def whole_of(line: str) -> str | None:
    """The sentence of an error of which this line, the last of a report, is the beginning alone; None where it is whole
    or several sentences go on from there."""
    found = _CUT_OFF.fullmatch(line.strip())
    if found is None or len(found["words"].split()) < _LEAST_WORDS:
        return None
    whole = sorted(set(_sentences(found["words"].lower())), key=len)
    same = bool(whole) and all(text.lower().startswith(whole[0].lower()) for text in whole)
    return whole[0] if same else None
