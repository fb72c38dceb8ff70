"""The tables of pairs agree with what lockfiles of real resolutions hold."""

from pathlib import Path

import pytest
from packaging.pylock import Pylock

from envdoctor.knowledge import pairs, versions
from envdoctor.knowledge.table import bundled_table
from envdoctor.values.document import read_toml

LOCKS = sorted((Path(__file__).parent.parent.parent / "lockfiles").glob("pylock.*.toml"))


@pytest.mark.parametrize(
    ("torch", "vision", "audio"),
    [
        ("2.15.0+cu132", (0, 29), (2, 15)),
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
    wanted = pairs.triton_for(locked["torch"])
    assert wanted is None or locked["triton"].startswith(wanted + ".")


def test_every_row_names_a_release() -> None:
    for kind, rows in read_toml(bundled_table("pairs").path).items():
        for row in rows if isinstance(rows, list) else ():
            for key, value in row.items():
                assert key == "package" or versions.parse(value) is not None, (kind, row)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pairs.triton_for("2.9.1+cu128"), "3.5"),
        (pairs.triton_for("9.0"), None),
        (pairs.torch_of_torchao("0.14.1"), "2.9"),
        (pairs.torch_of_torchao("0.17.0"), None),
        (pairs.torch_of_xformers("0.0.29.post2"), "2.6"),
        (pairs.torch_of_xformers("0.0.29.post1+cu124"), "2.5"),
        (pairs.first_with_numpy_2()["torch"], "2.3.0"),
    ],
)
def test_rows_are_found(found: str | None, expected: str | None) -> None:
    assert found == expected


def test_what_is_compiled_for_each_torch() -> None:
    assert pairs.release_for_torch("fbgemm-gpu", "2.4.0+cu121") == "0.8"
    assert pairs.release_for_torch("torchcodec", "2.9.1") == "0.9"
    assert pairs.release_for_torch("torchcodec", "2.3.0") is None
    assert pairs.release_for_torch("numpy", "2.4.0") is None
    assert pairs.releases_by_torch("intel-extension-for-pytorch")["1.12"] == "1.12"


@pytest.mark.parametrize("torch", [f"1.{minor}" for minor in range(5, 14)] + [f"2.{minor}" for minor in range(15)])
def test_both_directions_of_torch_and_its_mates_agree(torch: str) -> None:
    for mate, made in (("torchvision", pairs.torchvision_for(torch)), ("torchaudio", pairs.torchaudio_for(torch))):
        assert made is not None
        assert pairs.torch_of(mate, f"{made[0]}.{made[1]}.1") == torch
