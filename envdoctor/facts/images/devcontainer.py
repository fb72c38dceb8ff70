"""A devcontainer: how its container is started, and what its commands do in it, as a Dockerfile would.

Sources: https://containers.dev/implementors/json_reference/, https://containers.dev/implementors/spec/#lifecycle
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.images.dockerfile import Dockerfile, Instruction, Stage
from envdoctor.facts.images.documents import Node, read_with_comments
from envdoctor.facts.images.features import features
from envdoctor.facts.images.services import BindMount, Service, environment, setting
from envdoctor.facts.images.shell import Command, commands, in_shell
from envdoctor.facts.images.words import Word

LIFECYCLE = ("onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand")
"""In the order in which they run, wherever they stand. `initializeCommand` runs on the host, which is not the image."""


def services(source: str, path: str) -> tuple[Service, ...]:
    """Its one container. Raises `Trouble` with the line of what cannot be read."""
    return (_service(read_with_comments(source, path)),)


def commands_of(source: str, path: str) -> Dockerfile:
    """Its commands as the steps of a Dockerfile that starts from its image. The base has no name where that is built
    from a Dockerfile: what it holds is not known then. Raises `Trouble` with the line of what cannot be read."""
    root = read_with_comments(source, path)
    service = _service(root)
    known = {name: word.text for name, word in service.environment.items()}
    stage = Stage(
        number=0,
        name="",
        base=service.image if service.image is not None else Word(text="", line=root.line),
        instructions=tuple(step for key in LIFECYCLE for step in _steps(key, root.at(key), known)),
        variables=known,
        environment=service.environment,
        features=service.features,
    )
    return Dockerfile(path=path, stages=(stage,), lines=tuple(source.splitlines()), gpus=service.gpu is not None)


def _service(root: Node) -> Service:
    arguments = root.at("runArgs")
    items = arguments.items if arguments is not None else ()
    flags = dict(_flags(items))
    variables = {
        name: word for key in ("containerEnv", "remoteEnv") for name, word in environment(root.at(key)).items()
    }
    for item in items:
        if found := re.match(r"(?:-e|--env)[= ](\w+)=(.*)", item.text or ""):
            variables[found[1]] = Word(text=found[2], line=item.line)
    wanted = root.value("hostRequirements", "gpu")
    gpu = flags.get("gpus") or flags.get("device")
    if gpu is None and wanted not in (None, "false"):
        gpu = setting(root, "hostRequirements", "gpu")
    return Service(
        name=root.value("name") or "devcontainer",
        line=root.line,
        image=setting(root, "image"),
        builds=any(root.at(key) is not None for key in ("build", "dockerFile", "dockerComposeFile")),
        gpu=gpu,
        runtime=flags.get("runtime"),
        shm=flags.get("shm-size"),
        ipc=flags.get("ipc"),
        user=setting(root, "remoteUser") or setting(root, "containerUser") or flags.get("user"),
        environment=variables,
        mounts=tuple(_mounts(root.at("mounts"))),
        features=tuple(features(root.at("features"))),
    )


def _steps(key: str, node: Node | None, known: dict[str, str]) -> Iterator[Instruction]:
    """A text goes to a shell, a list is one command, and all values of an object run at the same time."""
    if node is None:
        return
    if node.entries is not None:
        for _, _, value in node.named:
            if value.entries is None:
                yield from (
                    Instruction(name=each.name, line=each.line, text=each.text, commands=each.commands, beside=key)
                    for each in _steps(key, value, known)
                )
        return
    if node.text is not None:
        yield Instruction(name="RUN", line=node.line, text=node.text, commands=_on_line(node, known))
    elif words := tuple(Word(text=item.text, line=item.line) for item in node.items if item.text is not None):
        text = " ".join(word.text for word in words)
        yield Instruction(name="RUN", line=node.line, text=text, commands=tuple(in_shell(Command(words=words), known)))


def _on_line(node: Node, known: dict[str, str]) -> tuple[Command, ...]:
    """The text stands on one line, whatever line ends are written in it."""
    return tuple(
        Command(
            words=tuple(Word(text=word.text, line=node.line) for word in command.words),
            variables=command.variables,
            joined=command.joined,
        )
        for command in commands(node.text or "", node.line, known)
    )


def _flags(items: tuple[Node, ...]) -> Iterator[tuple[str, Word]]:
    """Options of ``docker run``: ``--gpus=all``, or ``--gpus`` with its value behind it, on the value's line."""
    for number, item in enumerate(items):
        if not (found := re.fullmatch(r"--([a-z-]+)(?:=(.*))?", item.text or "")):
            continue
        following = items[number + 1] if number + 1 < len(items) else None
        if found[2] is not None or following is None or (following.text or "").startswith("-"):
            yield found[1], Word(text=found[2] or "", line=item.line)
        else:
            yield found[1], Word(text=following.text or "", line=following.line)


def _mounts(node: Node | None) -> Iterator[BindMount]:
    for item in node.items if node is not None else ():
        if item.text is not None:
            parts = dict(part.partition("=")[::2] for part in item.text.split(","))
            kind = parts.get("type", "volume")
            source, target = parts.get("source", parts.get("src", "")), parts.get("target", parts.get("dst", ""))
            read_only = "readonly" in parts or "ro" in parts
        else:
            kind, source, target = item.value("type") or "", item.value("source") or "", item.value("target") or ""
            read_only = False
        if kind == "bind":
            yield BindMount(source=source, target=target, line=item.line, read_only=read_only)
