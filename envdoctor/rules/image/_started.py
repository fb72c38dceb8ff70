"""What is said of containers that are started: with GPUs or without, as root or as somebody."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.images.dockerfile import Dockerfile
from envdoctor.facts.images.services import BindMount, Service
from envdoctor.knowledge.base_images import base
from envdoctor.rules.rule import Pattern

_KEPT = Pattern(
    r"(?i)cache|checkpoint|ckpt|output|result|runs\b|logs?\b|model|weights|artifact|wandb|mlruns|huggingface"
)


def for_gpus(service: Service) -> bool:
    """Is it meant to train or serve on GPUs?"""
    if service.gpu is not None or service.nameless is not None:
        return True
    return service.runtime is not None and service.runtime.text == "nvidia"


def gpu_image(service: Service) -> bool:
    """Was its image made for GPUs?"""
    made = base(service.image.text) if service.image is not None else None
    return made is not None and made.gpu


def is_root_in(file: Dockerfile) -> bool:
    """Does the image of a Dockerfile run as root? An unknown base that says nothing may have a user of its own."""
    steps = [step for stage in file.shipped for step in stage.instructions]
    user = next((step.words[0].text for step in reversed(steps) if step.name == "USER" and step.words), "")
    made = base(file.shipped[0].base.text)
    if user.partition(":")[0] not in ("", "root", "0") or made is None:
        return False
    return bool(user) or made.maker != "other" or made.nvcc is not None


def _is_root(service: Service) -> bool:
    """Where it is built from a Dockerfile, that may say otherwise: only a mount into root's home tells."""
    if service.user is not None:
        return service.user.text.partition(":")[0] in ("root", "0")
    return not service.builds or any(mount.target.startswith("/root") for mount in service.mounts)


def root_mounts(service: Service) -> Iterator[BindMount]:
    """Folders of the host into which it writes, as root, what outlives the container."""
    for mount in service.mounts if _is_root(service) else ():
        if not mount.read_only and _KEPT.search(f"{mount.source} {mount.target}"):
            yield mount
