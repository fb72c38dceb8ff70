"""The image files among the facts, read once; and findings that stand on one of their lines."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

from envdoctor.facts.images import devcontainer, dockerfile, services
from envdoctor.facts.images.dockerfile import Dockerfile
from envdoctor.facts.images.services import Service
from envdoctor.facts.images.shell import Command
from envdoctor.facts.images.words import Word
from envdoctor.facts.model import ImageFile
from envdoctor.knowledge.base_images import Base, base
from envdoctor.knowledge.variables import Variable, left_on
from envdoctor.rules.image import _machine as machines
from envdoctor.rules.image._contents import Contents, ImageTorch, as_facts, contents, every
from envdoctor.rules.image._extensions import is_isolated, sources
from envdoctor.rules.image._installs import HEAVY, Install, RequestedPackage, installs
from envdoctor.rules.image._layers import keeps_downloads
from envdoctor.rules.image._libraries import compat_folders, cuda_folders
from envdoctor.rules.image._locked import differences_by_line
from envdoctor.rules.image._managed_python import refused_install
from envdoctor.rules.image._pins import misfits, pin_findings, pinned_twice
from envdoctor.rules.image._started import for_gpus, gpu_image, is_root_in, root_mounts
from envdoctor.rules.rule import Facts, Finding, Kind, Remedy, Rule, Severity, Skip, Who, finding

__all__ = [
    "HEAVY", "Base", "Command", "Contents", "ImageFile", "ImageTorch", "Install", "Word", "all_dockerfiles",
    "all_recipe_contents", "all_recipes", "all_services", "apt_packages", "as_facts", "at", "base",
    "compat_folders", "contents", "cuda_folders", "differences_by_line", "dockerfiles", "environments", "for_gpus",
    "gpu_image", "installs", "is_isolated", "is_root_in", "keeps_downloads", "machines", "misfits", "on_line",
    "pin_findings", "pinned_twice", "recipe_contents", "recipes", "refused_install", "require", "require_services",
    "root_mounts", "service_bases", "sources", "variables_left_on",
]  # fmt: skip

WIDTH = 160


@functools.lru_cache(maxsize=64)
def _dockerfile(file: ImageFile) -> Dockerfile:
    reader = devcontainer.commands_of if file.kind == "devcontainer" else dockerfile.read
    return reader(file.source, file.path)


@functools.lru_cache(maxsize=64)
def _services(file: ImageFile) -> tuple[Service, ...]:
    reader = services.compose if file.kind == "compose" else devcontainer.services
    return reader(file.source, file.path)


def dockerfiles(facts: Facts) -> Iterator[tuple[ImageFile, Dockerfile]]:
    """The Dockerfiles. Raises `Skip` when there is none."""
    found = [file for file in facts.images if file.kind == "dockerfile"]
    if not found:
        raise Skip("no Dockerfile was given")
    yield from ((file, _dockerfile(file)) for file in found)


def recipes(facts: Facts) -> Iterator[tuple[ImageFile, Dockerfile]]:
    """The Dockerfiles, and the commands of devcontainers as ones. Raises `Skip` when there is neither."""
    found = [file for file in facts.images if file.kind != "compose"]
    if not found:
        raise Skip("no Dockerfile and no devcontainer was given")
    yield from ((file, _dockerfile(file)) for file in found)


def recipe_contents(facts: Facts) -> Iterator[tuple[ImageFile, Contents]]:
    """What each of their stages holds. Raises `Skip` when there is neither."""
    yield from ((file, held) for file, parsed in recipes(facts) for held in every(parsed))


def all_recipe_contents(facts: Facts) -> Iterator[tuple[ImageFile, Contents]]:
    """The same where there may be none."""
    yield from ((file, held) for file, parsed in all_recipes(facts) for held in every(parsed))


def all_recipes(facts: Facts) -> Iterator[tuple[ImageFile, Dockerfile]]:
    """The same where there may be none."""
    yield from recipes(facts) if any(file.kind != "compose" for file in facts.images) else ()


def require_services(facts: Facts) -> Iterator[tuple[ImageFile, Service]]:
    """The services of compose files, and devcontainers. Raises `Skip` when there is neither."""
    found = [file for file in facts.images if file.kind != "dockerfile"]
    if not found:
        raise Skip("no compose file and no devcontainer was given")
    yield from ((file, service) for file in found for service in _services(file))


def all_services(facts: Facts) -> Iterator[tuple[ImageFile, Service]]:
    """The same where there may be none."""
    yield from require_services(facts) if any(file.kind != "dockerfile" for file in facts.images) else ()


def all_dockerfiles(facts: Facts) -> Iterator[tuple[ImageFile, Dockerfile]]:
    yield from dockerfiles(facts) if any(file.kind == "dockerfile" for file in facts.images) else ()


def service_bases(facts: Facts) -> Iterator[tuple[ImageFile, Word, Base]]:
    """The image of each service that starts one, where its name is known, and what that brings."""
    for file, service in all_services(facts):
        if service.image is not None and (made := base(service.image.text)) is not None:
            yield file, service.image, made


def environments(facts: Facts) -> Iterator[tuple[ImageFile, Mapping[str, Word]]]:
    """The variables of each image and each service. Raises `Skip` where no image file was given."""
    require(facts)
    yield from ((file, parsed.last.environment) for file, parsed in all_dockerfiles(facts))
    yield from ((file, service.environment) for file, service in all_services(facts))


def variables_left_on(environment: Mapping[str, Word]) -> Iterator[tuple[Word, Variable]]:
    """Those that were set to find a fault, and act on every run."""
    for name, word in environment.items():
        yield from ((word, row) for row in left_on(name, word.text))


def apt_packages(file: ImageFile) -> Iterator[RequestedPackage]:
    """What the commands of a Dockerfile or a devcontainer install by apt."""
    for held in every(_dockerfile(file)):
        for install in held.installs:
            yield from install.wanted if install.tool == "apt" else ()


def require(facts: Facts) -> None:
    """Raises `Skip` where no image file was given."""
    if not facts.images:
        raise Skip("no image file was given")


def text_at(file: ImageFile, line: int) -> str:
    """The line as it stands, without indentation and continuation."""
    lines = file.source.splitlines()
    text = lines[line - 1].strip().removesuffix("\\").rstrip() if 0 < line <= len(lines) else ""
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def at(
    file: ImageFile,
    line: int,
    *,
    message: str,
    fix: str,
    instead: str = "",
    about: str = "",
    kind: Kind | Literal[""] = "",
    severity: Severity | None = None,
    who: Who = "image",
    certain: bool = True,
    source: str = "",
) -> Finding:
    """A finding on a line of an image file; ``instead`` is what should stand there, ``about`` tells two on one line
    apart. What a Dockerfile's instruction would say, a devcontainer says by a key of its own."""
    if file.kind == "devcontainer":
        instead = _in_devcontainer(instead)
    place = f"{file.path}:{line}"
    return finding(
        subject=f"{place} {about}".rstrip(),
        actual=text_at(file, line),
        expected=instead,
        kind=kind,
        severity=severity,
        certain=certain,
        who=who,
        message=f"{place}: {message}",
        fix=fix,
        source=source,
    )


def _in_devcontainer(text: str) -> str:
    instruction, _, rest = text.partition(" ")
    if instruction == "FROM":
        return f'"image": "{rest.partition(" AS ")[0]}"'
    return rest if instruction == "RUN" else text


def on_line(found: Finding, rule: Rule, file: ImageFile, line: int, *, instead: str = "") -> Finding:
    """What a rule for environments found, on the line of the image file that is its cause."""
    place = f"{file.path}:{line}"
    return replace(
        found,
        kind=found.kind or rule.kind,
        severity=found.severity or rule.severity,
        subject=f"{place} {found.subject or rule.subject}",
        actual=text_at(file, line),
        expected=instead or found.expected or rule.expected,
        message=f"{place}: {found.message}",
        remedy=Remedy(text=found.remedy.text),
        who="image",
        source=found.source or rule.sections.get("Source", ""),
        explains=(),
        repair=(),
    )
