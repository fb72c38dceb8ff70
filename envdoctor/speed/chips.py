"""GPUs that are judged: peak and achievable speed, each with its source.

Peaks are dense (no structured sparsity), in TFLOP/s; bandwidth in GB/s. ``achievable`` is what a plain matrix product
of the best shape reached (MAMF, maximum achievable matmul FLOP/s), in bf16; None where nobody published it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Precision = Literal["float32", "tf32", "bfloat16", "float16"]

_MAMF = "https://github.com/stas00/ml-engineering, compute/accelerator, maximum achievable matmul FLOPS (2026-08)"
_HOPPER = "https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet"
_H200 = "https://resources.nvidia.com/en-us-data-center-overview-mc/en-us-data-center-overview/hpc-datasheet-sc23-h200"
_BLACKWELL = "https://github.com/stas00/ml-engineering, compute/accelerator, peak TFLOPS; NVIDIA HGX data sheet"
_A100 = "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"
_A10 = "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a10/pdf/a10-datasheet.pdf"
_G5 = "https://aws.amazon.com/ec2/instance-types/g5/ (31.5 float32, 70 tensor TFLOPS)"
_V100 = "https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf"
_T4 = "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/tesla-t4/t4-tensor-core-datasheet-951643.pdf"
_ADA = "NVIDIA Ada GPU architecture whitepaper, appendix A; tensor peaks with float32 accumulation"
_AMPERE_RTX = "NVIDIA GA102 architecture whitepaper, table 2; tensor peaks with float32 accumulation"
_RTX_BLACKWELL = "NVIDIA RTX Blackwell architecture whitepaper, appendix A; tensor peaks with float32 accumulation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One GPU model. ``names`` are parts of the name that NVML and torch print; the longest match wins."""

    name: str
    names: tuple[str, ...]
    float32: float
    tf32: float | None
    bfloat16: float | None
    float16: float | None
    bandwidth: float
    source: str
    achievable: float | None = None
    achievable_source: str = ""

    def peak(self, precision: str) -> float | None:
        """Dense peak in FLOP/s, or None where the chip has no unit for that format."""
        tflops = {"float32": self.float32, "tf32": self.tf32, "bfloat16": self.bfloat16, "float16": self.float16}
        value = tflops.get(precision)
        return None if value is None else value * 1e12

    def achievable_share(self) -> float | None:
        """Achievable part of the bf16 peak (0.80: 80 %)."""
        return self.achievable / self.bfloat16 if self.achievable and self.bfloat16 else None


def _chip(
    name: str,
    names: str,
    rates: tuple[float, float | None, float | None, float | None],
    bandwidth: float,
    source: str,
    achievable: float | None = None,
) -> Chip:
    return Chip(
        name=name,
        names=tuple(names.split("|")),
        float32=rates[0],
        tf32=rates[1],
        bfloat16=rates[2],
        float16=rates[3],
        bandwidth=bandwidth,
        source=source,
        achievable=achievable,
        achievable_source=_MAMF if achievable else "",
    )


#     name             as printed                      fp32   tf32   bf16   fp16    GB/s  source  achievable bf16
CHIPS = (
    _chip("B200 SXM", "B200", (75.0, 1125.0, 2250.0, 2250.0), 7700, _BLACKWELL, 1745.0),
    _chip("GB200", "GB200", (80.0, 1250.0, 2500.0, 2500.0), 8000, _BLACKWELL),
    _chip("GH200", "GH200", (67.0, 494.5, 989.5, 989.5), 4000, _HOPPER, 828.6),
    _chip("H200 SXM", "H200", (67.0, 494.5, 989.5, 989.5), 4800, _H200, 794.5),
    _chip("H200 NVL", "H200 NVL", (60.0, 417.5, 835.5, 835.5), 4800, _H200),
    _chip("H100 SXM", "H100", (67.0, 494.5, 989.5, 989.5), 3350, _HOPPER, 794.5),
    _chip("H100 PCIe", "H100 PCIe|H100-PCIE", (51.0, 378.0, 756.5, 756.5), 2000, _HOPPER),
    _chip("H100 NVL", "H100 NVL", (60.0, 417.5, 835.5, 835.5), 3900, _HOPPER),
    _chip("A100 80GB", "A100-SXM4-80GB|A100 80GB|A100-SXM-80GB", (19.5, 156.0, 312.0, 312.0), 2039, _A100, 271.2),
    _chip("A100 40GB", "A100", (19.5, 156.0, 312.0, 312.0), 1555, _A100, 271.2),
    _chip("A10", "NVIDIA A10", (31.2, 62.5, 125.0, 125.0), 600, _A10),
    _chip("A10G", "A10G", (31.5, 35.0, 70.0, 70.0), 600, _G5),
    _chip("A40", "A40", (37.4, 74.8, 149.7, 149.7), 696, _AMPERE_RTX),
    _chip("RTX A6000", "RTX A6000", (38.7, 77.4, 154.8, 154.8), 768, _AMPERE_RTX),
    _chip("RTX 3090", "RTX 3090", (35.6, 35.6, 71.0, 71.0), 936, _AMPERE_RTX),
    _chip("L4", "NVIDIA L4", (30.3, 60.0, 121.0, 121.0), 300, _ADA),
    _chip("L40S", "L40S", (91.6, 183.0, 362.0, 362.0), 864, _ADA),
    _chip("RTX 4090", "RTX 4090", (82.6, 82.6, 165.2, 165.2), 1008, _ADA),
    _chip("RTX 5090", "RTX 5090", (104.8, 104.8, 209.5, 209.5), 1792, _RTX_BLACKWELL),
    _chip("V100 SXM2", "V100", (15.7, None, None, 125.0), 900, _V100),
    _chip("V100 PCIe", "V100-PCIE", (14.0, None, None, 112.0), 900, _V100),
    _chip("T4", "Tesla T4", (8.1, None, None, 65.0), 320, _T4),
)

OTHER_CHIP = {"Laptop", "Max-Q", "Ti", "SUPER", "D", "MIG"}
"""Words after a name that make it another chip than the one without them."""


def find(name: str) -> Chip | None:
    """The chip whose printed name is the longest one contained in ``name`` as whole words; None when it is not listed.

    "NVIDIA L4" must not match an L40S, nor an RTX 4090 its laptop namesake or a part of a chip (MIG).
    """
    if OTHER_CHIP & set(name.split()):
        return None
    padded = f" {name} "
    best: tuple[int, Chip] | None = None
    for chip in CHIPS:
        for printed in chip.names:
            at = padded.find(printed)
            if at < 0 or padded[at - 1].isalnum() or padded[at + len(printed)].isalnum():
                continue
            if best is None or len(printed) > best[0]:
                best = (len(printed), chip)
    return best[1] if best else None
