"""Releases of cuDNN: that in use, and as texts have them: cuDNN's own integer, JAX's check, images of CUDA alone."""

from __future__ import annotations

from typing import NamedTuple

from envdoctor.knowledge.questions import Numbers, circumstances, messages, numbers, torch_version, versions
from envdoctor.rules.rule import Facts, Pattern, anywhere, known


def release(text: str | None) -> Numbers:
    """``"9.10.2"``, or cuDNN's integer as torch reports it: 91002 is 9.10.2, 8902 is 8.9.2."""
    parts = numbers(text)
    if len(parts) != 1:
        return parts[:3]
    code = parts[0]
    if code >= 90000:
        return code // 10000, code % 10000 // 100, code % 100
    return (code // 1000, code % 1000 // 100, code % 100) if code >= 1000 else ()


def in_use(facts: Facts) -> Numbers | None:
    """The cuDNN in use: as torch loaded it, else the installed wheel."""
    torch, packages = known(facts.torch), known(facts.packages)
    wheels = [packages.version(f"nvidia-cudnn-cu{major}") for major in (13, 12)] if packages else []
    return next(filter(None, map(release, (torch.cudnn if torch else None, *wheels))), None)


class OutdatedLibrary(NamedTuple):
    """What JAX finds and needs of a library of CUDA, as releases; ``have`` is "" where it is not said."""

    name: str
    have: str
    least: str


_OUTDATED = Pattern(r"(?i)Outdated (?P<library>\w{3,20}) installation")
_INSTALLED = Pattern(r"^Installed version: (?P<have>\d{3,7})")
_BUILT_AGAINST = Pattern(r"Version JAX was built against: (?P<built>\d{3,7})")


def outdated_library(facts: Facts) -> OutdatedLibrary | None:
    """JAX compares the libraries of CUDA that it finds with the ones that it needs, and prints both as numbers."""
    needed = facts.remarks.get("Minimum supported", "")
    said = next((found for text in messages.everything(facts) if (found := _OUTDATED.search(text))), None)
    built = anywhere(facts, _BUILT_AGAINST)
    if said is None or (built is None and not needed):
        return None
    have = next((one["have"] for text in messages.everything(facts) if (one := _INSTALLED.search(text))), "")
    spelled = _with_dots if said["library"].lower() == "cudnn" else str
    return OutdatedLibrary(said["library"], spelled(have), spelled(needed or (built["built"] if built else "")))


def _with_dots(number: str) -> str:
    return ".".join(map(str, release(number))) or number


class ImageWithoutCudnn(NamedTuple):
    """The image that a text names, which is one of CUDA alone; one with cuDNN, the wheel that brings it, and which
    CTranslate2 goes with it."""

    name: str
    with_cudnn: str
    wheel: str
    ctranslate2: str


def image_without_cudnn(facts: Facts, major: str) -> ImageWithoutCudnn | None:
    without = circumstances.IMAGE_WITHOUT_CUDNN
    image = without.found(facts) if without.stands(facts) else None
    if image is None or torch_version(facts) is not None:
        return None  # torch's wheels bring a cuDNN of their own
    cuda, system = image["cuda"], image["rest"].partition("-")[2] or "ubuntu22.04"
    part = {"8": "cudnn8", "9": "cudnn"}.get(major, "cudnn8" if cuda.startswith("11.") else "cudnn")
    if part == "cudnn8" and versions.at_least(cuda, "12.3"):
        cuda, system = "12.2.2", "ubuntu22.04"  # the last with cuDNN 8
    elif part == "cudnn" and versions.below(cuda, "12.4"):
        cuda, system = "12.4.1", "ubuntu22.04"  # the first with cuDNN 9 under this name
    return ImageWithoutCudnn(
        image[0],
        f"nvidia/cuda:{cuda}-{part}-runtime-{system}",
        f"nvidia-cudnn-cu{image['cuda'].partition('.')[0]}{f'=={major}.*' if major else ''}",
        "for CUDA 11 is 3.24.0 and before: later releases are for CUDA 12."
        if image["cuda"].startswith("11.")
        else "up to 4.4.0 asks for cuDNN 8, from 4.5 on for 9.",
    )
