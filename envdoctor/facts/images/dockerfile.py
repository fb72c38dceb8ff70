"""A Dockerfile: its instructions, stages and variables, as BuildKit reads them.

Own code, because what there is to install reads no here-documents and puts no build arguments in, and lines are needed
inside of continued instructions. Source: https://docs.docker.com/reference/dockerfile/
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.facts.images.features import Feature
from envdoctor.facts.images.shell import SHELLS, Command, commands, in_shell
from envdoctor.facts.images.words import Word, interpolate
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

INSTRUCTIONS = frozenset(
    "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME "
    "WORKDIR".split()
)
_HEREDOC = Pattern(r"<<(?P<dash>-?)(?P<quote>[\"']?)(?P<name>[A-Za-z_][\w.]*)(?P=quote)")
_OPTION = Pattern(r"\s*--(?P<name>[a-z][a-z-]*)(?:=(?P<value>\S+))?(?=\s|\\)")


@frozen
class Instruction:
    """One instruction; ``text`` holds its lines as they stand, comments between them blanked."""

    name: str
    line: int
    text: str
    options: tuple[tuple[str, str], ...] = ()
    commands: tuple[Command, ...] = ()  # of RUN, and of CMD and ENTRYPOINT as a shell reads them
    words: tuple[Word, ...] = ()  # of everything else
    beside: str = ""  # what starts it at the same time as others of this name (in a devcontainer)

    def option(self, name: str) -> tuple[str, ...]:
        return tuple(value for key, value in self.options if key == name)


@frozen
class Stage:
    """One FROM and what follows it. ``parent`` is the stage that it goes on from, None for an image from elsewhere."""

    number: int
    name: str
    base: Word
    instructions: tuple[Instruction, ...] = ()
    parent: int | None = None
    platform: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)  # ENV and ARG as they are at its end
    environment: Mapping[str, Word] = field(default_factory=dict)  # ENV alone, its parents' too, each with its line
    features: tuple[Feature, ...] = ()  # of a devcontainer


@frozen
class Dockerfile:
    path: str
    stages: tuple[Stage, ...]
    lines: tuple[str, ...] = field(repr=False, default=())
    gpus: bool = False  # does the same file start it with GPUs?

    @property
    def last(self) -> Stage:
        return self.stages[-1]

    def chain(self, stage: Stage) -> tuple[Stage, ...]:
        """The stage with those it goes on from, the first one first."""
        found = [stage]
        while (parent := found[-1].parent) is not None:
            found.append(self.stages[parent])
        return tuple(reversed(found))

    @property
    def shipped(self) -> tuple[Stage, ...]:
        """The stages whose layers are in the image."""
        return self.chain(self.last)

    @property
    def used(self) -> tuple[Stage, ...]:
        """All stages from which something comes into the image, by FROM or by COPY --from, in the file's order."""
        todo, seen = [self.last], set[int]()
        while todo:
            stage = todo.pop()
            if stage.number in seen:
                continue
            seen.add(stage.number)
            todo += [self.stages[stage.parent]] if stage.parent is not None else []
            for instruction in stage.instructions:
                sources = instruction.option("from") + tuple(
                    found[1] for mount in instruction.option("mount") if (found := re.search(r"from=([^,]+)", mount))
                )
                todo += [each for each in self.stages[: stage.number] for name in sources if _is(each, name)]
        return tuple(stage for stage in self.stages if stage.number in seen)


def _is(stage: Stage, name: str) -> bool:
    return name == str(stage.number) or (bool(stage.name) and name.lower() == stage.name.lower())


def read(source: str, path: str) -> Dockerfile:
    """The Dockerfile of a text. Raises `Trouble` with the line for what no builder would take."""
    lines = source.replace("\r\n", "\n").split("\n")
    escape = _escape(lines)
    globals_: dict[str, str] = {}
    stages: list[Stage] = []
    known: dict[str, str] = {}
    environment: dict[str, Word] = {}
    for number, name, text, body in _instructions(lines, escape, path):
        if name == "FROM":
            stage = _from(text, number, globals_, stages, path)
            parent = stages[stage.parent] if stage.parent is not None else None
            known = {key: word.text for key, word in parent.environment.items()} if parent else {}
            environment = dict(parent.environment) if parent else {}
            stages.append(stage)
            continue
        if not stages:
            if name != "ARG":
                raise Trouble(f"{name} before the first FROM", file=Path(path), where=f"line {number}")
            globals_ |= dict(_arguments(text, globals_, {}, escape))
            continue
        instruction = _instruction(name, number, text, body, known, escape)
        if name == "ARG":
            # ENV of the same name wins over ARG, whatever their order.
            given = {key: value for key, value in _arguments(text, known, globals_, escape) if key not in environment}
            known |= given
        elif name == "ENV":
            pairs = dict(_pairs(text, number, known, escape))
            known |= {key: word.text for key, word in pairs.items()}
            environment |= pairs
            instruction = replace(instruction, words=tuple(pairs.values()))
        stages[-1] = replace(
            stages[-1],
            instructions=(*stages[-1].instructions, instruction),
            variables=dict(known),
            environment=dict(environment),
        )
    if not stages:
        raise Trouble("there is no FROM in it", file=Path(path), remedy="Is it a Dockerfile?")
    return Dockerfile(path=path, stages=tuple(stages), lines=tuple(lines))


def _escape(lines: list[str]) -> str:
    """``# escape=`` counts among the first comments only."""
    for line in lines:
        if not (match := re.match(r"\s*#\s*([A-Za-z]+)\s*=\s*(\S+)", line)):
            return "\\"
        if match[1].lower() == "escape":
            return match[2][0]
    return "\\"


def _instructions(lines: list[str], escape: str, path: str) -> Iterator[tuple[int, str, str, str | None]]:
    """Line, name, text behind the name, and the here-document that is a script for the shell, if any."""
    at = 0
    while at < len(lines):
        first, line = at, lines[at]
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = [line]
        while parts[-1].rstrip().endswith(escape) and at < len(lines):
            following = lines[at]
            at += 1
            blank = not following.strip() or following.lstrip().startswith("#")
            parts.append(escape if blank else following)
        text = "\n".join(parts)
        name, _, rest = text.lstrip().partition(" ")
        if "\n" in name or "\t" in name:
            name = re.split(r"\s", name)[0]
            rest = text.lstrip()[len(name) :]
        word = name.upper()
        if word == "ONBUILD":
            name, _, rest = rest.lstrip().partition(" ")
            word = name.upper()
        if word not in INSTRUCTIONS:
            raise Trouble(
                f"{name[:40]!r} is no instruction",
                file=Path(path),
                where=f"line {first + 1}",
                remedy="Correct that line; of a template, give the Dockerfile that is made from it.",
            )
        body = None
        if word in ("RUN", "COPY", "ADD"):
            for found in _HEREDOC.finditer(rest):
                start = at
                while at < len(lines) and (lines[at].lstrip("\t") if found["dash"] else lines[at]) != found["name"]:
                    at += 1
                content = "\n".join(lines[start:at])
                at += 1
                before = _OPTION.sub("", rest[: found.start()]).split()
                if word == "RUN" and body is None and (not before or before[0].rpartition("/")[2] in SHELLS):
                    body = "\n" * (start - first) + content
        yield first + 1, word, rest, body


def _from(text: str, line: int, globals_: Mapping[str, str], stages: list[Stage], path: str) -> Stage:
    words = [interpolate(word, globals_) for word in text.replace("\\\n", " ").split()]
    platform = next((word.partition("=")[2] for word in words if word.startswith("--platform")), "")
    words = [word for word in words if not word.startswith("--")]
    if not words or (len(words) > 1 and (len(words) != 3 or words[1].lower() != "as")):
        raise Trouble("FROM takes one image, and a name after AS", file=Path(path), where=f"line {line}")
    parent = next((each.number for each in reversed(stages) if each.name and _is(each, words[0])), None)
    name = words[2] if len(words) > 1 else ""
    base = Word(text=words[0], line=line)
    return Stage(number=len(stages), name=name, base=base, parent=parent, platform=platform)


def _arguments(
    text: str, known: Mapping[str, str], globals_: Mapping[str, str], escape: str
) -> Iterator[tuple[str, str]]:
    for word in _split(text, 1, known, escape):
        name, equals, value = word.text.partition("=")
        if equals or name in globals_:
            yield name, value if equals else globals_[name]


def _pairs(text: str, line: int, known: Mapping[str, str], escape: str) -> Iterator[tuple[str, Word]]:
    """``ENV A=1 B=2``, or the old ``ENV A everything behind``."""
    words = _split(text, line, known, escape)
    if words and "=" in words[0].text:
        for word in words:
            name, _, value = word.text.partition("=")
            yield name, Word(text=value, line=word.line)
    elif words:
        name, _, value = text.strip().partition(" ")
        yield words[0].text, Word(text=interpolate(value.strip().strip("\"'"), known), line=line)


def _split(text: str, line: int, known: Mapping[str, str], escape: str) -> list[Word]:
    """Words as Docker splits them: operators of the shell are plain text here."""
    found: list[Word] = []
    for number, part in enumerate(text.split("\n")):
        bare = part.rstrip()
        bare = bare[:-1] if bare.endswith(escape) else bare
        for word in re.findall(r"(?:[^\s\"']|\"(?:[^\"\\]|\\.)*\"|'[^']*')+", bare):
            plain = re.sub(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'", lambda m: m[1] or m[2] or "", word)
            found.append(Word(text=interpolate(plain, known), line=line + number))
    return found


def _instruction(
    name: str, line: int, text: str, body: str | None, known: Mapping[str, str], escape: str
) -> Instruction:
    options: list[tuple[str, str]] = []
    rest = text
    while name in ("RUN", "COPY", "ADD") and (found := _OPTION.match(rest)):
        options.append((found["name"], interpolate(found["value"] or "", known)))
        rest = rest[found.end() :]
        while (gap := re.match(rf"[ \t]*{re.escape(escape)}[ \t]*\n", rest)) is not None:
            line_skip = rest[gap.end() :]
            if not line_skip.lstrip().startswith("--"):
                break
            rest, line = line_skip, line + 1
    runs: tuple[Command, ...] = ()
    words: tuple[Word, ...] = ()
    if name in ("RUN", "CMD", "ENTRYPOINT"):
        listed = _json_words(rest, escape)
        if body is not None:
            runs = tuple(commands(body, line, known, escape))
        elif listed is not None:
            whole = Command(words=tuple(Word(text=each, line=line) for each in listed)) if listed else None
            runs = tuple(in_shell(whole, known, escape)) if whole is not None else ()
        else:
            runs = tuple(commands(rest, line, known, escape))
    elif name not in ("ENV", "ARG"):
        listed = _json_words(rest, escape)
        words = (
            tuple(Word(text=interpolate(each, known), line=line) for each in listed)
            if listed is not None
            else tuple(_split(rest, line, known, escape))
        )
    return Instruction(name=name, line=line, text=text, options=tuple(options), commands=runs, words=words)


def _json_words(text: str, escape: str) -> list[str] | None:
    """The words of the JSON form, or None."""
    bare = text.replace(escape + "\n", " ").strip()
    if not bare.startswith("["):
        return None
    try:
        found = json.loads(bare)
    except ValueError:
        return None
    return found if isinstance(found, list) and all(isinstance(each, str) for each in found) else None
