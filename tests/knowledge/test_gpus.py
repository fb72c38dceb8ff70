"""Names as nvidia-smi, NVML, torch and people write them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.knowledge.generations import generation
from envdoctor.knowledge.gpus import ChipFamily, GpuModel, Models, capability_of, identify, models, on_bus
from envdoctor.knowledge.table import Table, bundled_table
from envdoctor.values.document import read_toml


@pytest.mark.parametrize(
    ("name", "model", "capability"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3", "9.0"),
        ("NVIDIA H100 PCIe", "H100 PCIe", "9.0"),
        ("NVIDIA H100 NVL", "H100 NVL", "9.0"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "H100 80GB HBM3", "9.0"),
        ("NVIDIA GH200 480GB", "GH200 480GB", "9.0"),
        ("NVIDIA H200", "H200", "9.0"),
        ("NVIDIA H20", "H20", "9.0"),
        ("NVIDIA H800", "H800", "9.0"),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB", "8.0"),
        ("A100-PCIE-40GB", "A100-PCIE-40GB", "8.0"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe", "8.0"),
        ("NVIDIA A100-PG509-200", "A100-SXM4-40GB", "8.0"),
        ("GRID A100-10C", "A100-SXM4-40GB", "8.0"),
        ("NVIDIA A800-SXM4-80GB", "A800-SXM4-80GB", "8.0"),
        ("NVIDIA A30", "A30", "8.0"),
        ("NVIDIA A10G", "A10G", "8.6"),
        ("NVIDIA A40-48Q", "A40", "8.6"),
        ("NVIDIA A16", "A16", "8.6"),
        ("NVIDIA RTX A6000", "RTX A6000", "8.6"),
        ("NVIDIA RTX A2000 12GB", "RTX A2000 12GB", "8.6"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "GeForce RTX 3060 Laptop GPU", "8.6"),
        ("Nvidia GeForce RTX 3050 laptop GPU", "GeForce RTX 3050 Laptop GPU", "8.6"),
        ("NVIDIA GeForce RTX 2050", "GeForce RTX 2050", "8.6"),
        ("RTX3090", "GeForce RTX 3090", "8.6"),
        ("Orin", "Orin", "8.7"),
        ("NVIDIA L4", "L4", "8.9"),
        ("NVIDIA L40S", "L40S", "8.9"),
        ("NVIDIA GeForce RTX 4090", "GeForce RTX 4090", "8.9"),
        ("NVIDIA GeForce RTX 4090 D", "GeForce RTX 4090 D", "8.9"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "GeForce RTX 4090 Laptop GPU", "8.9"),
        ("rtx 4070ti super", "GeForce RTX 4070 Ti SUPER", "8.9"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada Generation", "8.9"),
        ("NVIDIA RTX 4000 SFF Ada Generation", "RTX 4000 SFF Ada Generation", "8.9"),
        ("Quadro RTX 6000", "Quadro RTX 6000", "7.5"),
        ("NVIDIA Quadro RTX 5000 with Max-Q Design", "Quadro RTX 5000 with Max-Q Design", "7.5"),
        ("NVIDIA TITAN RTX", "TITAN RTX", "7.5"),
        ("Tesla T4", "Tesla T4", "7.5"),
        ("NVIDIA GeForce RTX 2080 SUPER", "GeForce RTX 2080 SUPER", "7.5"),
        ("NVIDIA GeForce GTX 1660 Ti with Max-Q Design", "GTX 1660 Ti with Max-Q Design", "7.5"),
        ("NVIDIA GeForce GTX 1650", "GeForce GTX 1650", "7.5"),
        ("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB", "7.0"),
        ("Tesla V100-SXM3-32GB", "Tesla V100-SXM3-32GB", "7.0"),
        ("NVIDIA TITAN V", "TITAN V", "7.0"),
        ("Tesla P100-PCIE-16GB", "Tesla P100-PCIE-16GB", "6.0"),
        ("TITAN Xp", "TITAN Xp", "6.1"),
        ("NVIDIA TITAN X (Pascal)", "TITAN X (Pascal)", "6.1"),
        ("NVIDIA GP102 GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti", "6.1"),
        ("GTX 1080Ti", "GeForce GTX 1080 Ti", "6.1"),
        ("NVIDIA GeForce GTX 1080 with Max-Q Design", "GeForce GTX 1080", "6.1"),
        ("NVIDIA GeForce MX150", "MX150", "6.1"),
        ("GeForce GTX TITAN X", "GTX TITAN X", "5.2"),
        ("Tesla M40 24GB", "Tesla M40", "5.2"),
        ("GeForce GTX 980 Ti", "GTX 980 Ti", "5.2"),
        ("Tesla K80", "Tesla K80", "3.7"),
        ("Tesla K40m", "Tesla K40m", "3.5"),
        ("NVIDIA B200", "B200", "10.0"),
        ("NVIDIA GB200", "GB200", "10.0"),
        ("NVIDIA B300 SXM6 AC", "B300 SXM6 AC", "10.3"),
        ("NVIDIA GeForce RTX 5090 D", "GeForce RTX 5090 D", "12.0"),
        ("NVIDIA GeForce RTX 5070 Ti Laptop GPU", "GeForce RTX 5070 Ti Laptop GPU", "12.0"),
        (
            "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            "RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            "12.0",
        ),
        ("NVIDIA GB10", "GB10", "12.1"),
        ("NVIDIA Thor", "Thor", "11.0"),
    ],
)
def test_known(name: str, model: str, capability: str) -> None:
    found = identify(name)
    assert found is not None
    assert (found.name, found.capability) == (model, capability)


@pytest.mark.parametrize(
    "name",
    [
        "AMD Radeon RX 7900 XTX",
        "Intel Arc A770",
        "NVIDIA Graphics Device",
        "NVIDIA DGX Display",
        "NVIDIA GeForce RTX 509 On",  # cut off by nvidia-smi's column: could be any of its line
        "RTX 6000",  # Turing or Ada: the bare name does not say
        "",
    ],
)
def test_unknown(name: str) -> None:
    assert identify(name) is None


@given(st.text())
def test_any_text_is_answered(name: str) -> None:
    assert capability_of(name) is None or generation(capability_of(name)) is not None


def test_every_model_has_a_known_architecture() -> None:
    assert [model.name for model in models().every() if generation(model.capability) is None] == []


def test_the_bus_is_read_by_device_and_by_board() -> None:
    found = on_bus(["0000:01:00.0 10de:2330", "0000:41:00.0 10DE:1EB8", "0000:03:00.0 1002:73bf", "10de:ffff"])
    assert [model.printed for model in found] == ["NVIDIA H100 80GB HBM3", "Tesla T4"]
    # one device id, two boards: only the subsystem tells them apart
    assert [model.name for model in on_bus(["10de:25b6 10de:14a9", "10de:25b6 10de:157e"])] == ["A16", "A2"]
    assert on_bus(["10de:25b6"]) == ()
    (family,) = on_bus(["0000:01:00.0 10de:102d"])
    assert (family.chip, family.capability) == ("GK210", "3.7")


def test_a_part_of_a_card_has_its_capability_and_not_its_figures() -> None:
    for name in ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA A40-48Q", "GRID A100D-40C"):
        assert capability_of(name) is not None
        assert models().board(name) is None


def whole() -> dict[str, Any]:
    return read_toml(bundled_table("gpus").path)


def test_rows_parsed_one_by_one_are_those_of_the_file() -> None:
    rows = whole()["gpu"]
    for row, model in zip(rows, models().every(), strict=True):
        for key, value in row.items():
            known = getattr(model, key)
            assert (list(known) if isinstance(known, tuple) else known) == value
        assert model.source, model.name


def test_every_spelling_means_its_own_row_and_no_other() -> None:
    table = whole()
    seen: dict[tuple[str, ...], str] = {}
    for row in table["gpu"]:
        for text in (row["name"], *row.get("aliases", ())):
            for printed in (text, f"NVIDIA {text}"):
                found = identify(printed)
                assert found is not None
                assert found.name == row["name"], printed
                board = models().board(printed)
                assert board is not None, printed
    for owner, text in [
        *((row["name"], text) for row in table["gpu"] for text in (row["name"], *row.get("aliases", ()))),
        *((family["chip"], text) for family in table["family"] for text in family["names"]),
    ]:
        assert seen.setdefault(models().words(text), owner) == owner, text


def test_no_two_rows_share_a_pci_id() -> None:
    numbers = [number for kind in ("gpu", "family") for row in whole()[kind] for number in row.get("pci", ())]
    assert len(numbers) == len(set(numbers)) > 300
    assert [n for n in numbers if not re.fullmatch(r"[0-9a-f]{4}(:[0-9a-f]{4}:[0-9a-f]{4})?", n)] == []


def test_a_chip_has_one_capability_and_generation() -> None:
    table = bundled_table("gpus")
    families = [table.parse(block, ChipFamily) for block in table.blocks if block.kind == "family"]
    rows: list[GpuModel | ChipFamily] = [*models().every(), *families]
    for row in rows:
        known = generation(row.capability)
        assert known is not None
        assert row.generation == known.name, row
    assert len({(row.chip, row.capability) for row in rows if row.chip}) == len({row.chip for row in rows if row.chip})


def test_a_row_that_does_not_fit_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "gpus.toml"
    head = 'left_out = ["NVIDIA"]\nanother = []\n\n[[gpu]]\nname = "A1"\ncapability = "8.6"\n'
    path.write_text(head + 'generation = "Ampere"\nsmms = 3\n')
    with pytest.raises(Trouble) as caught:
        Models(Table(path)).identify("NVIDIA A1")
    assert str(caught.value) == f"{path}, line 4, [[gpu]] 'A1': smms: unknown field"
    path.write_text(head + "generation = Ampere\n")
    with pytest.raises(Trouble, match=r"line 7, column 14: not valid TOML"):
        Models(Table(path)).identify("NVIDIA A1")


def test_a_name_of_thousands_of_words_is_looked_up_like_a_short_one() -> None:
    """A pasted report may put anything where a GPU's name belongs."""
    assert identify("a " * 15_000 + "NVIDIA H100 PCIe " + "b " * 15_000) == identify("H100 PCIe")
    assert identify("a " * 100_000) is None
