"""The commands of a shell text, as far as image files need them: words, quotes, variables, what joins them, and lines.

No shell is imitated: loops and functions come out as commands of their words, which no rule recognises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from envdoctor.facts.images.words import Word, interpolate
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
_OPERATORS = ("&&", "||", ";;", ";", "|", "&", "\n", "(", ")")
_C = Pattern(r"-[a-z]*c")


@frozen
class Command:
    """One command: its words, and the variables set before them for it alone (``MAX_JOBS=4 pip install x``)."""

    words: tuple[Word, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    joined: str = ""  # what ends it: "&&", "||", "|", ";", "\n" or ""

    @property
    def line(self) -> int:
        return self.words[0].line

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)

    @property
    def program(self) -> str:
        """The program's name without its folder."""
        return self.words[0].text.rpartition("/")[2]


def commands(text: str, line: int, variables: Mapping[str, str], escape: str = "\\") -> Iterator[Command]:
    """The commands of a text whose first line is ``line``; what an earlier one exports is known."""
    known = dict(variables)
    words: list[Word] = []
    for word, operator in _pieces(text, line, known, escape):
        if word is not None:
            words.append(word)
        if operator is not None and words:
            command = _command(words, operator)
            words = []
            if command is None:
                continue
            if command.texts[0] in ("export", "declare"):
                known |= dict(_pair(each) for each in command.texts[1:] if _assigns(each))
            yield from in_shell(command, known, escape)
    if words and (command := _command(words, "")) is not None:
        yield from in_shell(command, known, escape)


def in_shell(command: Command, variables: Mapping[str, str], escape: str = "\\") -> Iterator[Command]:
    """What a shell that is started with ``-c`` is told to do; of every other command itself."""
    place = next((number for number, text in enumerate(command.texts) if _C.fullmatch(text)), None)
    if command.program not in SHELLS or place is None or place + 1 >= len(command.words):
        yield command
        return
    told = command.words[place + 1]
    inner = list(commands(told.text, told.line, {**variables, **command.variables}, escape))
    for number, each in enumerate(inner):
        last = number == len(inner) - 1
        yield Command(
            words=each.words,
            variables={**command.variables, **each.variables},
            joined=command.joined if last else each.joined,
        )


def _command(words: list[Word], joined: str) -> Command | None:
    """``sudo`` and assignments stand before the program; nothing but those is no command."""
    rest, set_here = list(words), {}
    while rest and (_assigns(rest[0].text) or rest[0].text in ("sudo", "then", "do", "else", "time", "exec", "{", "!")):
        first = rest.pop(0).text
        if _assigns(first):
            name, value = _pair(first)
            set_here[name] = value
    if len(rest) > 1 and rest[0].text == "env" and _assigns(rest[1].text):
        return _command(rest[1:], joined)
    return Command(words=tuple(rest), variables=set_here, joined=joined) if rest else None


def _assigns(text: str) -> bool:
    return "=" in text and text.partition("=")[0].isidentifier()


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _pieces(
    text: str, line: int, variables: Mapping[str, str], escape: str
) -> Iterator[tuple[Word | None, str | None]]:
    """Words and operators in their order; a word is given when its end is seen."""
    at, size = 0, len(text)
    word: list[str] = []
    begun: int | None = None  # the line on which the word began

    def done() -> Iterator[tuple[Word | None, str | None]]:
        nonlocal begun
        if begun is not None:
            yield Word(text="".join(word), line=begun), None
            word.clear()
            begun = None

    while at < size:
        char = text[at]
        if char == escape and (newline := _line_end(text, at + 1)):
            at, line = newline, line + 1
        elif char == "\\" and at + 1 < size:
            begun = begun or line
            word.append(text[at + 1])
            at += 2
        elif char in "'\"":
            end = _end_of_quote(text, at)
            inside = text[at + 1 : end]
            begun = begun or line
            plain = inside if char == "'" else inside.replace(escape + "\n", "").replace('\\"', '"')
            word.append(plain if char == "'" else interpolate(plain, variables))
            line += inside.count("\n")
            at = end + 1
        elif char == "#" and begun is None:
            while at < size and text[at] != "\n":
                at += 1
        elif char == "$" and text.startswith("$(", at):
            end = _parenthesis(text, at + 1)
            begun = begun or line
            word.append(text[at:end])
            line += text.count("\n", at, end)
            at = end
        elif char == "$":
            end = _variable_end(text, at)
            begun = begun or line
            word.append(interpolate(text[at:end], variables))
            at = end
        elif (operator := next((each for each in _OPERATORS if text.startswith(each, at)), None)) is not None:
            yield from done()
            yield None, operator
            line += operator == "\n"
            at += len(operator)
        elif char.isspace():
            yield from done()
            at += 1
        else:
            begun = begun or line
            word.append(char)
            at += 1
    yield from done()


def _line_end(text: str, at: int) -> int:
    """Behind the line's end if nothing but spaces stands between, else 0."""
    while at < len(text) and text[at] in " \t\r":
        at += 1
    return at + 1 if at < len(text) and text[at] == "\n" else 0


def _end_of_quote(text: str, at: int) -> int:
    """Where the quote that opens at ``at`` ends; the text's end if nowhere."""
    quote, end = text[at], at + 1
    while end < len(text) and text[end] != quote:
        end += 2 if text[end] == "\\" and quote == '"' else 1
    return min(end, len(text))


def _parenthesis(text: str, at: int) -> int:
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if not depth:
            return end + 1
    return len(text)


def _variable_end(text: str, at: int) -> int:
    if text.startswith("${", at):
        return text.find("}", at) + 1 or len(text)
    end = at + 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return max(end, at + 1)
