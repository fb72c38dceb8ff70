"""The tables of pairs agree with what lockfiles of real resolutions hold."""

from pathlib import Path

import pytest
from packaging.pylock import Pylock

from envdoctor.document import read_toml
from envdoctor.knowledge import pairs, versions

LOCKS = sorted((Path(__file__).parent.parent.parent / "lockfiles").glob("pylock.*.toml"))


@pytest.mark.parametrize(
    ("torch", "vision", "audio"),
    [
        ("2.13.0+cu130", (0, 28), (2, 13)),
        ("2.0.1", (0, 15), (2, 0)),
        ("1.13.1", (0, 14), (0, 13)),
        ("1.4.0", None, (0, 4)),
        ("x", None, None),
    ],
)
def test_mates_of_torch(torch: str, vision: tuple[int, int] | None, audio: tuple[int, int] | None) -> None:
    assert pairs.torchvision_for(torch) == vision
    assert pairs.torchaudio_for(torch) == audio


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_triton_of_a_real_resolution(path: Path) -> None:
    locked = {package.name: str(package.version) for package in Pylock.from_dict(read_toml(path)).packages}
    if "triton" not in locked:
        return
    release = versions.release(locked["torch"])
    assert release is not None
    wanted = pairs.TRITON.get(release[:2])
    assert wanted is None or locked["triton"].startswith(wanted + ".")


def test_every_row_names_a_release() -> None:
    for torch, triton in pairs.TRITON.items():
        assert versions.release(triton) is not None, torch
    for version, torch in pairs.XFORMERS.items():
        assert versions.parse(version) is not None
        assert versions.release(torch) is not None
