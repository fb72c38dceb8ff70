"""GPU names -> compute capability and chip, for the spellings of nvidia-smi, NVML, torch and pasted reports.

A row's words must stand side by side in the name; the row with most words wins, so that "RTX 6000 Ada" is not the
"Quadro RTX 6000". Form factors, memory sizes and "Laptop GPU" are words that no row asks for.

Source: https://developer.nvidia.com/cuda-gpus and https://developer.nvidia.com/cuda-legacy-gpus (capabilities); chips:
NVIDIA's data sheets and the device list in the README of https://github.com/NVIDIA/open-gpu-kernel-modules.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Model:
    """A GPU model as far as compatibility goes."""

    name: str
    capability: str
    chip: str


# capability, chip: models separated by commas
_TABLE = """
3.5  GK110:  Tesla K20, Tesla K20m, Tesla K20c, Tesla K20X, Tesla K20Xm, Tesla K40, Tesla K40m, Tesla K40c, GTX 780,
3.5  GK110:  GTX 780 Ti, GTX TITAN, GTX TITAN Black, GTX TITAN Z, Quadro K6000
3.5  GK208:  GT 710, GT 730
3.7  GK210:  Tesla K80
5.0  GM107:  GTX 745, GTX 750, GTX 750 Ti, GTX 850M, GTX 860M, GTX 950M, GTX 960M, Quadro K620, Quadro K1200,
5.0  GM107:  Quadro K2200, Quadro M1000M, Quadro M2000M, Quadro M1200, Tesla M10
5.0  GM108:  830M, 840M, 930M, 940M, 930MX, 940MX, MX110, MX130, Quadro M500M, Quadro M520
5.2  GM200:  GTX 980 Ti, GTX TITAN X, Quadro M6000, Tesla M40
5.2  GM204:  GTX 970, GTX 980, GTX 970M, GTX 980M, Quadro M4000, Quadro M5000, Quadro M5000M, Tesla M60, Tesla M6
5.2  GM206:  GTX 950, GTX 960, GTX 965M, Quadro M2000, Quadro M2200, Tesla M4
5.3  GM20B:  Tegra X1, Jetson Nano
6.0  GP100:  P100, Quadro GP100
6.1  GP102:  GTX 1080 Ti, TITAN X, TITAN Xp, TITAN X Pascal, P40, Quadro P6000
6.1  GP104:  GTX 1070, GTX 1070 Ti, GTX 1080, P4, P6, Quadro P4000, Quadro P4200, Quadro P5000, Quadro P5200, P104 100
6.1  GP106:  GTX 1060, Quadro P2000, Quadro P2200, Quadro P3000, Quadro P3200, P106 100
6.1  GP107:  GTX 1050, GTX 1050 Ti, Quadro P400, Quadro P600, Quadro P620, Quadro P1000, MX350
6.1  GP108:  GT 1030, GT 1010, MX150, MX230, MX250, MX330, Quadro P500, Quadro P520
6.2  GP10B:  Tegra X2, Jetson TX2
7.0  GV100:  V100, V100S, TITAN V, Quadro GV100
7.2  GV11B:  Xavier
7.5  TU102:  RTX 2080 Ti, TITAN RTX, Quadro RTX 6000, Quadro RTX 8000, RTX 8000
7.5  TU104:  RTX 2070 Super, RTX 2080, RTX 2080 Super, Quadro RTX 4000, Quadro RTX 5000, T4, T4G, T40
7.5  TU106:  RTX 2060, RTX 2060 Super, RTX 2070, Quadro RTX 3000
7.5  TU116:  GTX 1650 Super, GTX 1660, GTX 1660 Super, GTX 1660 Ti
7.5  TU117:  GTX 1630, GTX 1650, GTX 1650 Ti, MX450, MX550, Quadro T1000, Quadro T2000, T400, T500, T550, T600, T1000,
7.5  TU117:  T1200, T2000
8.0  GA100:  A100, A100X, A30, A30X, A800, CMP 170HX, PG506
8.6  GA102:  RTX 3080, RTX 3080 Ti, RTX 3090, RTX 3090 Ti, A10, A10G, A10M, A40, RTX A4500, RTX A5000, RTX A5500,
8.6  GA102:  RTX A6000, CMP 90HX
8.6  GA103:  RTX 3080 Ti Laptop, RTX A5500 Laptop
8.6  GA104:  RTX 3060 Ti, RTX 3070, RTX 3070 Ti, RTX A4000, RTX A3000, CMP 70HX
8.6  GA106:  RTX 3060, RTX A2000
8.6  GA107:  RTX 2050, RTX 3050, RTX 3050 Ti, RTX A400, RTX A500, RTX A1000, A2, A16, MX570
8.7  GA10B:  Orin
8.9  AD102:  RTX 4090, L40, L40S, L40G, L20, RTX 5000 Ada, RTX 5880 Ada, RTX 6000 Ada
8.9  AD103:  RTX 4070 Ti Super, RTX 4080, RTX 4080 Super, RTX 4090 Laptop, RTX 5000 Ada Generation Laptop
8.9  AD104:  RTX 4070, RTX 4070 Super, RTX 4070 Ti, RTX 4000 Ada, RTX 4000 SFF Ada, RTX 4500 Ada, RTX 3500 Ada, L4, L2
8.9  AD106:  RTX 4060 Ti, RTX 4070 Laptop, RTX 3000 Ada
8.9  AD107:  RTX 4050, RTX 4060, RTX 500 Ada, RTX 1000 Ada, RTX 2000 Ada
9.0  GH100:  H100, H200, H800, H20, GH200
10.0 GB100:  B100, B200, GB200
10.3 GB110:  B300, GB300
11.0 GB10B:  Thor
12.0 GB202:  RTX 5090, RTX PRO 5000, RTX PRO 6000
12.0 GB203:  RTX 5070 Ti, RTX 5080, RTX 5090 Laptop, RTX PRO 4000, RTX PRO 4500
12.0 GB205:  RTX 5070, RTX PRO 3000
12.0 GB206:  RTX 5060, RTX 5060 Ti, RTX PRO 2000
12.0 GB207:  RTX 5050, RTX PRO 500, RTX PRO 1000
12.1 GB20B:  GB10
"""


_NOISE = frozenset({"NVIDIA", "TESLA", "GEFORCE"})  # written or left out at will


def _words(name: str) -> tuple[str, ...]:
    """Words in capitals, with "RTX3090" and "1080Ti" taken apart as people and vendors do not."""
    spaced = re.sub(r"\b([RG]TX?)(?=\d)|(?<=\d)(?=(?:TI|SUPER|LAPTOP)\b)", r"\1 ", name.upper())
    return tuple(word for word in re.split(r"[^A-Z0-9]+", spaced) if word and word not in _NOISE)


@functools.cache
def models() -> Mapping[tuple[str, ...], Model]:
    """All rows, by the words they ask for."""
    found: dict[tuple[str, ...], Model] = {}
    for row in _TABLE.strip().splitlines():
        head, _, names = row.partition(":")
        capability, chip = head.split()
        for name in filter(None, (part.strip() for part in names.split(","))):
            found[_words(name)] = Model(name=name, capability=capability, chip=chip)
    return found


def identify(name: str) -> Model | None:
    """The model behind a GPU's name, or None.

    >>> identify("NVIDIA GeForce RTX 3060 Laptop GPU").capability
    '8.6'
    """
    words = _words(name)
    table = models()
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            if (model := table.get(words[start : start + length])) is not None:
                return model
    return None


def capability_of(name: str) -> str | None:
    """The compute capability of a GPU named so, or None."""
    model = identify(name)
    return None if model is None else model.capability
