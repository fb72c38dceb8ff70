"""What a devcontainer's features bring into an image: Python, and nvcc. Those that are not named here bring neither.

Source: https://github.com/devcontainers/features (options and defaults in each `devcontainer-feature.json`)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from envdoctor.facts.images.features import Feature
from envdoctor.knowledge.base_images import Base

_CUDA = "11.8"  # of nvidia-cuda, where no cudaVersion is given
_OF_THE_BASE = ("os-provided", "none", "")


def python_of(base: Base | None, features: Iterable[Feature]) -> str | None:
    """The Python that commands find first; None where nothing says which."""
    found = base.python if base is not None else None
    for feature in features:
        version = feature.options.get("version", "")
        if feature.name == "python" and version not in _OF_THE_BASE:
            found = ".".join(version.split(".")[:2]) if re.match(r"3\.\d+", version) else None
        elif feature.name in ("conda", "miniconda", "anaconda", "miniforge", "mamba", "micromamba"):
            found = None
    return found


def with_features(base: Base | None, features: Iterable[Feature]) -> Base | None:
    """The base as it is with them: nvcc where the toolkit is asked for, and no Python of the distribution any more
    where a feature puts its own before it."""
    features = tuple(features)
    if base is None or not features:
        return base
    if python_of(base, features) != base.python or any(
        feature.name == "python" and feature.options.get("version", "") not in _OF_THE_BASE for feature in features
    ):
        base = replace(base, python=None)
    for feature in features:
        if feature.name == "nvidia-cuda" and feature.options.get("installToolkit") == "true":
            base = replace(base, nvcc=feature.options.get("cudaVersion") or _CUDA)
    return base
