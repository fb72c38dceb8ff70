"""What is said of containers that are started with GPUs."""

from __future__ import annotations

from envdoctor.facts.images.services import Service
from envdoctor.knowledge.base_images import base


def for_gpus(service: Service) -> bool:
    """Is it meant to train or serve on GPUs?"""
    if service.gpu is not None or service.nameless is not None:
        return True
    return service.runtime is not None and service.runtime.text == "nvidia"


def gpu_image(service: Service) -> bool:
    """Was its image made for GPUs?"""
    made = base(service.image.text) if service.image is not None else None
    return made is not None and made.gpu
