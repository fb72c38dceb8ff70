"""How an image is started: the services of a compose file, and a devcontainer, as one kind of value.

Sources: https://docs.docker.com/reference/compose-file/, https://containers.dev/implementors/json_reference/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from envdoctor.facts.images.documents import Node, read, read_with_comments
from envdoctor.facts.images.words import Word, interpolate
from envdoctor.values.frozen import frozen


@frozen
class BindMount:
    """A folder of the host that is mounted: written to, unless ``read_only``."""

    source: str
    target: str
    line: int
    read_only: bool = False


@frozen
class Service:
    """One container as a file starts it. A ``Word`` is a setting and the line that it stands on."""

    name: str
    line: int
    image: Word | None = None
    builds: bool = False  # from a Dockerfile, which says what this file does not
    gpu: Word | None = None  # what asks for GPUs
    nameless: Word | None = None  # a device reservation without `capabilities`, which compose refuses
    runtime: Word | None = None
    shm: Word | None = None
    ipc: Word | None = None
    user: Word | None = None
    environment: Mapping[str, Word] = field(default_factory=dict)
    mounts: tuple[BindMount, ...] = ()
    installs: tuple[Word, ...] = ()  # command lines that are run in it once


def compose(source: str, path: str) -> tuple[Service, ...]:
    """The services of a compose file. Raises `Trouble` with the line of what cannot be read."""
    root = read(source, path)
    services = root.at("services")
    return tuple(_service(name, line, node) for name, line, node in services.named) if services is not None else ()


def _service(name: str, line: int, node: Node) -> Service:
    gpu, nameless = _devices(node)
    image = _word(node, "image")
    return Service(
        name=name,
        line=line,
        image=image,
        builds=node.at("build") is not None,
        gpu=gpu or _word(node, "gpus"),
        nameless=nameless,
        runtime=_word(node, "runtime"),
        shm=_word(node, "shm_size"),
        ipc=_word(node, "ipc"),
        user=_word(node, "user"),
        environment=_environment(node.at("environment")),
        mounts=tuple(_mounts(node.at("volumes"))),
    )


def _word(node: Node, *keys: str) -> Word | None:
    found = node.at(*keys)
    if found is None:
        return None
    text = found.text if found.text is not None else "given"
    return Word(text=interpolate(text, {}), line=found.line)


def _devices(node: Node) -> tuple[Word | None, Word | None]:
    """What asks for a GPU, and the reservation that forgets ``capabilities``."""
    devices = node.at("deploy", "resources", "reservations", "devices")
    gpu = nameless = None
    for device in devices.items if devices is not None else ():
        capabilities = device.at("capabilities")
        named = [each.text for each in capabilities.items] if capabilities is not None else []
        if capabilities is None:
            nameless = nameless or Word(text=device.value("driver") or "", line=device.line)
        if "gpu" in named or "nvidia" in named or device.value("driver") in ("nvidia", "cdi"):
            gpu = gpu or Word(text="deploy.resources.reservations.devices", line=device.line)
    return gpu, nameless


def _environment(node: Node | None) -> dict[str, Word]:
    if node is None:
        return {}
    found: dict[str, Word] = {}
    for name, _, value in node.named:
        if value.text is not None:
            found[name] = Word(text=interpolate(value.text, {}), line=value.line)
    for item in node.items:
        name, equals, text = (item.text or "").partition("=")
        if equals:
            found[name] = Word(text=interpolate(text, {}), line=item.line)
    return found


def _mounts(node: Node | None) -> Iterator[BindMount]:
    """Bind mounts only: a named volume belongs to the container's own user."""
    for item in node.items if node is not None else ():
        if item.text is not None:
            parts = re.split(r":(?![^{]*\})", item.text)
            if len(parts) > 1 and parts[0].startswith((".", "/", "~", "$")):
                options = parts[2].split(",") if len(parts) > 2 else []
                yield BindMount(source=parts[0], target=parts[1], line=item.line, read_only="ro" in options)
        elif item.value("type") == "bind":
            source, target = item.value("source") or "", item.value("target") or ""
            yield BindMount(source=source, target=target, line=item.line, read_only=item.value("read_only") == "true")


def devcontainer(source: str, path: str) -> tuple[Service, ...]:
    """The container of a devcontainer.json. Raises `Trouble` with the line of what cannot be read."""
    root = read_with_comments(source, path)
    arguments = root.at("runArgs")
    flags = dict(_flags(arguments.items if arguments is not None else ()))
    environment = {
        name: word for key in ("containerEnv", "remoteEnv") for name, word in _environment(root.at(key)).items()
    }
    for item in arguments.items if arguments is not None else ():
        if found := re.match(r"(?:-e|--env)[= ](\w+)=(.*)", item.text or ""):
            environment[found[1]] = Word(text=found[2], line=item.line)
    wanted = root.value("hostRequirements", "gpu")
    gpu = flags.get("gpus") or flags.get("device")
    if gpu is None and wanted not in (None, "false"):
        gpu = _word(root, "hostRequirements", "gpu")
    commands = [_word(root, key) for key in ("onCreateCommand", "updateContentCommand", "postCreateCommand")]
    return (
        Service(
            name=root.value("name") or "devcontainer",
            line=root.line,
            image=_word(root, "image"),
            builds=any(root.at(key) is not None for key in ("build", "dockerFile", "dockerComposeFile")),
            gpu=gpu,
            runtime=flags.get("runtime"),
            shm=flags.get("shm-size"),
            ipc=flags.get("ipc"),
            user=_word(root, "remoteUser") or _word(root, "containerUser") or flags.get("user"),
            environment=environment,
            mounts=tuple(_devcontainer_mounts(root.at("mounts"))),
            installs=tuple(word for word in commands if word is not None and word.text != "given"),
        ),
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


def _devcontainer_mounts(node: Node | None) -> Iterator[BindMount]:
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
