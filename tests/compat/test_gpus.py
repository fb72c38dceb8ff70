"""Names as nvidia-smi, NVML, torch and people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.compat import pci
from envdoctor.compat.generations import generation
from envdoctor.compat.gpus import capability_of, identify, models


@pytest.mark.parametrize(
    ("name", "model", "capability"),
    [
        ("NVIDIA H100 80GB HBM3", "H100", "9.0"),
        ("NVIDIA H100 PCIe", "H100", "9.0"),
        ("NVIDIA H100 NVL", "H100", "9.0"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "H100", "9.0"),
        ("NVIDIA GH200 480GB", "GH200", "9.0"),
        ("NVIDIA H200", "H200", "9.0"),
        ("NVIDIA H20", "H20", "9.0"),
        ("NVIDIA H800", "H800", "9.0"),
        ("NVIDIA A100-SXM4-80GB", "A100", "8.0"),
        ("A100-PCIE-40GB", "A100", "8.0"),
        ("NVIDIA A100 80GB PCIe", "A100", "8.0"),
        ("NVIDIA A100-PG509-200", "A100", "8.0"),
        ("GRID A100-10C", "A100", "8.0"),
        ("NVIDIA A800-SXM4-80GB", "A800", "8.0"),
        ("NVIDIA A30", "A30", "8.0"),
        ("NVIDIA A10G", "A10G", "8.6"),
        ("NVIDIA A40-48Q", "A40", "8.6"),
        ("NVIDIA A16", "A16", "8.6"),
        ("NVIDIA RTX A6000", "RTX A6000", "8.6"),
        ("NVIDIA RTX A2000 12GB", "RTX A2000", "8.6"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "RTX 3060", "8.6"),
        ("Nvidia GeForce RTX 3050 laptop GPU", "RTX 3050", "8.6"),
        ("NVIDIA GeForce RTX 2050", "RTX 2050", "8.6"),
        ("RTX3090", "RTX 3090", "8.6"),
        ("Orin", "Orin", "8.7"),
        ("NVIDIA L4", "L4", "8.9"),
        ("NVIDIA L40S", "L40S", "8.9"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090", "8.9"),
        ("NVIDIA GeForce RTX 4090 D", "RTX 4090", "8.9"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090 Laptop", "8.9"),
        ("rtx 4070ti super", "RTX 4070 Ti Super", "8.9"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", "8.9"),
        ("NVIDIA RTX 4000 SFF Ada Generation", "RTX 4000 SFF Ada", "8.9"),
        ("Quadro RTX 6000", "Quadro RTX 6000", "7.5"),
        ("NVIDIA Quadro RTX 5000 with Max-Q Design", "Quadro RTX 5000", "7.5"),
        ("NVIDIA TITAN RTX", "TITAN RTX", "7.5"),
        ("Tesla T4", "T4", "7.5"),
        ("NVIDIA GeForce RTX 2080 SUPER", "RTX 2080 Super", "7.5"),
        ("NVIDIA GeForce GTX 1660 Ti with Max-Q Design", "GTX 1660 Ti", "7.5"),
        ("NVIDIA GeForce GTX 1650", "GTX 1650", "7.5"),
        ("Tesla V100-SXM2-16GB", "V100", "7.0"),
        ("Tesla V100-SXM3-32GB", "V100", "7.0"),
        ("NVIDIA TITAN V", "TITAN V", "7.0"),
        ("Tesla P100-PCIE-16GB", "P100", "6.0"),
        ("TITAN Xp", "TITAN Xp", "6.1"),
        ("NVIDIA TITAN X (Pascal)", "TITAN X Pascal", "6.1"),
        ("NVIDIA GP102 GeForce GTX 1080 Ti", "GTX 1080 Ti", "6.1"),
        ("GTX 1080Ti", "GTX 1080 Ti", "6.1"),
        ("NVIDIA GeForce GTX 1080 with Max-Q Design", "GTX 1080", "6.1"),
        ("NVIDIA GeForce MX150", "MX150", "6.1"),
        ("GeForce GTX TITAN X", "GTX TITAN X", "5.2"),
        ("Tesla M40 24GB", "Tesla M40", "5.2"),
        ("GeForce GTX 980 Ti", "GTX 980 Ti", "5.2"),
        ("Tesla K80", "Tesla K80", "3.7"),
        ("Tesla K40m", "Tesla K40m", "3.5"),
        ("NVIDIA B200", "B200", "10.0"),
        ("NVIDIA GB200", "GB200", "10.0"),
        ("NVIDIA B300 SXM6 AC", "B300", "10.3"),
        ("NVIDIA GeForce RTX 5090 D", "RTX 5090", "12.0"),
        ("NVIDIA GeForce RTX 5070 Ti Laptop GPU", "RTX 5070 Ti", "12.0"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX PRO 6000", "12.0"),
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
    assert [model.name for model in models().values() if generation(model.capability) is None] == []


def test_pci_names_are_models() -> None:
    found = pci.names(["0000:01:00.0 10de:2330", "0000:41:00.0 10DE:1EB8", "0000:03:00.0 1002:73bf", "10de:ffff"])
    assert found == ("NVIDIA H100 80GB HBM3", "Tesla T4")
    assert all(identify(name) for name in found)
