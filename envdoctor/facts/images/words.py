"""A word of a file and its line; and variables in words, as Docker and the shell put them in."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

_VARIABLE = Pattern(
    r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?:(?P<how>:?[-+?])(?P<word>[^{}]*))?\})|\$\$"
)


@frozen
class Word:
    """A piece of text with its variables put in; ``line`` counts from 1."""

    text: str
    line: int


def interpolate(text: str, variables: Mapping[str, str]) -> str:
    """``$NAME``, ``${NAME}``, ``${NAME:-default}`` and ``${NAME:+other}``; what is not known stays as it stands.

    Source: https://docs.docker.com/reference/dockerfile/#environment-replacement,
    https://docs.docker.com/reference/compose-file/interpolation/
    """

    def put_in(found: object) -> str:
        whole, plain, name, how, word = found[0], found["plain"], found["name"], found["how"], found["word"]  # type: ignore[index]
        if whole == "$$":
            return "$"
        value = variables.get(plain or name)
        if how in ("-", ":-"):
            return interpolate(word, variables) if value is None or (how == ":-" and not value) else value
        if how in ("+", ":+"):
            return interpolate(word, variables) if value else ""
        return str(whole) if value is None else value

    return _VARIABLE.sub(put_in, text)
