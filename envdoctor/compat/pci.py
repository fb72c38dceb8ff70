"""PCI device ids of common training GPUs: names a card even when its driver does not answer.

Source: "Compatible GPUs" in the README of https://github.com/NVIDIA/open-gpu-kernel-modules (Turing and newer) and
https://pci-ids.ucw.cz (vendor 10de; Pascal, Volta, T4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NVIDIA = "10de"

_NAMES = {
    "15f7": "Tesla P100-PCIE-12GB",
    "15f8": "Tesla P100-PCIE-16GB",
    "15f9": "Tesla P100-SXM2-16GB",
    "1b06": "NVIDIA GeForce GTX 1080 Ti",
    "1b38": "Tesla P40",
    "1db1": "Tesla V100-SXM2-16GB",
    "1db4": "Tesla V100-PCIE-16GB",
    "1db5": "Tesla V100-SXM2-32GB",
    "1db6": "Tesla V100-PCIE-32GB",
    "1e02": "NVIDIA TITAN RTX",
    "1e04": "NVIDIA GeForce RTX 2080 Ti",
    "1e07": "NVIDIA GeForce RTX 2080 Ti",
    "1eb8": "Tesla T4",
    "20b0": "NVIDIA A100-SXM4-40GB",
    "20b2": "NVIDIA A100-SXM4-80GB",
    "20b5": "NVIDIA A100 80GB PCIe",
    "20b7": "NVIDIA A30",
    "20f1": "NVIDIA A100-PCIE-40GB",
    "20f3": "NVIDIA A800-SXM4-80GB",
    "20f5": "NVIDIA A800 80GB PCIe",
    "2203": "NVIDIA GeForce RTX 3090 Ti",
    "2204": "NVIDIA GeForce RTX 3090",
    "2230": "NVIDIA RTX A6000",
    "2231": "NVIDIA RTX A5000",
    "2235": "NVIDIA A40",
    "2236": "NVIDIA A10",
    "2237": "NVIDIA A10G",
    "2321": "NVIDIA H100 NVL",
    "2324": "NVIDIA H800",
    "2329": "NVIDIA H20",
    "2330": "NVIDIA H100 80GB HBM3",
    "2331": "NVIDIA H100 PCIe",
    "2335": "NVIDIA H200",
    "2342": "NVIDIA GH200 480GB",
    "2684": "NVIDIA GeForce RTX 4090",
    "26b1": "NVIDIA RTX 6000 Ada Generation",
    "26b5": "NVIDIA L40",
    "26b9": "NVIDIA L40S",
    "27b8": "NVIDIA L4",
    "2901": "NVIDIA B200",
    "2b85": "NVIDIA GeForce RTX 5090",
    "2bb1": "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "2bb5": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
}


def names(devices: Iterable[str]) -> tuple[str, ...]:
    """Names of the known NVIDIA GPUs among ``"0000:01:00.0 10de:2330"`` entries."""
    found = []
    for device in devices:
        match = re.search(rf"\b{NVIDIA}:([0-9a-f]{{4}})\b", device.lower())
        if match and match[1] in _NAMES:
            found.append(_NAMES[match[1]])
    return tuple(found)
