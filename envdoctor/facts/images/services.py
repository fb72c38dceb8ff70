"""How an image is started, as a compose file says it; a devcontainer says it in the same values.

Source: https://docs.docker.com/reference/compose-file/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from envdoctor.facts.images.documents import Node, read
from envdoctor.facts.images.features import Feature
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
    features: tuple[Feature, ...] = ()


def compose(source: str, path: str) -> tuple[Service, ...]:
    """The services of a compose file. Raises `Trouble` with the line of what cannot be read."""
    root = read(source, path)
    services = root.at("services")
    return tuple(_service(name, line, node) for name, line, node in services.named) if services is not None else ()


def _service(name: str, line: int, node: Node) -> Service:
    gpu, nameless = _devices(node)
    image = setting(node, "image")
    return Service(
        name=name,
        line=line,
        image=image,
        builds=node.at("build") is not None,
        gpu=gpu or setting(node, "gpus"),
        nameless=nameless,
        runtime=setting(node, "runtime"),
        shm=setting(node, "shm_size"),
        ipc=setting(node, "ipc"),
        user=setting(node, "user"),
        environment=environment(node.at("environment")),
        mounts=tuple(_mounts(node.at("volumes"))),
    )


def setting(node: Node, *keys: str) -> Word | None:
    """The setting under these keys with its line; "given" where it is no text."""
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


def environment(node: Node | None) -> dict[str, Word]:
    """Variables, given as a mapping or as a list of NAME=VALUE."""
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
