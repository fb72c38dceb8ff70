"""Releases that belong together: torch with torchvision, torchaudio, triton, torchao and xformers."""

from __future__ import annotations

from envdoctor.knowledge import versions

STABLE_TORCHAUDIO = (2, 11)
"""From here on one torchaudio serves its own torch and every later one (https://docs.pytorch.org/audio/2.11.0/installation.html)."""


def torchvision_for(torch: str) -> tuple[int, int] | None:
    """Major and minor of the torchvision made with this torch: 0.(x + 15) for torch 2.x, 0.(x + 1) for 1.5 to 1.13.

    Source: https://github.com/pytorch/vision#installation
    """
    release = versions.release(torch)
    if release is None:
        return None
    major, minor, _ = release
    if major == 2:
        return (0, minor + 15)
    return (0, minor + 1) if major == 1 and minor >= 5 else None


def torchaudio_for(torch: str) -> tuple[int, int] | None:
    """Major and minor of the torchaudio made with this torch: the same for 2.x, 0.x for 1.x.

    Source: https://docs.pytorch.org/audio/2.11.0/installation.html
    """
    release = versions.release(torch)
    if release is None:
        return None
    major, minor, _ = release
    if major == 2:
        return (2, minor)
    return (0, minor) if major == 1 and minor >= 4 else None


TRITON = {
    (2, 0): "2.0",
    (2, 1): "2.1",
    (2, 2): "2.2",
    (2, 3): "2.3",
    (2, 4): "3.0",
    (2, 5): "3.1",
    (2, 6): "3.2",
    (2, 7): "3.3",
    (2, 8): "3.4",
    (2, 9): "3.5",
    (2, 10): "3.6",
    (2, 11): "3.6",
    (2, 12): "3.7",
    (2, 13): "3.7",
    (2, 14): "3.8",
}
"""torch -> the triton that its Linux CUDA wheels require.

Sources: ``Requires-Dist: triton`` of the wheels; https://github.com/triton-lang/triton/issues/4460 (2.4),
https://github.com/woct0rdho/triton-windows/issues/50 (2.5, 2.6), and .ci/docker/triton_version.txt of each
release branch of https://github.com/pytorch/pytorch.
"""

TORCHAO = {
    (0, 13): ("2.8",),
    (0, 14): ("2.9",),
    (0, 15): ("2.9",),
    (0, 16): ("2.10",),
}
"""torchao -> torch releases whose ABI its kernels have; from 0.17 on they use the stable ABI of torch 2.11.

Source: https://github.com/pytorch/ao/issues/2919
"""

XFORMERS = {
    "0.0.24": "2.2",
    "0.0.25": "2.2",
    "0.0.26": "2.3",
    "0.0.27": "2.3",
    "0.0.27.post2": "2.4",
    "0.0.28": "2.4",
    "0.0.28.post1": "2.4",
    "0.0.28.post2": "2.5",
    "0.0.28.post3": "2.5",
    "0.0.29": "2.5",
    "0.0.29.post1": "2.5",
    "0.0.29.post2": "2.6",
    "0.0.29.post3": "2.6",
    "0.0.30": "2.7",
    "0.0.31": "2.7",
    "0.0.31.post1": "2.7",
    "0.0.32.post1": "2.8",
    "0.0.32.post2": "2.8",
    "0.0.33": "2.9",
    "0.0.33.post1": "2.9",
    "0.0.33.post2": "2.9",
}
"""xformers -> torch release that its wheels were built with (their ``Requires-Dist: torch==``).

Source: https://github.com/facebookresearch/xformers/releases
"""
