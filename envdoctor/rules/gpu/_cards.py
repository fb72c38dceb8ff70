"""What rules about single GPUs share: how one of several is named, whether it works, where a sound one is rented."""

from envdoctor.knowledge.renting import RELIABLE, for_bandwidth
from envdoctor.rules.rule import Gpu, Gpus

__all__ = ["RELIABLE", "busy", "for_bandwidth", "full", "gibibytes", "subject"]


def subject(gpu: Gpu) -> str:
    return f"GPU {gpu.index}"


def full(gpu: Gpu) -> str:
    """Index and name: "GPU 3 (NVIDIA H100 80GB HBM3)"."""
    return f"GPU {gpu.index} ({gpu.name})"


def gibibytes(size: int) -> str:
    return f"{size / 2**30:.1f} GiB".replace(".0 GiB", " GiB")


def busy(gpu: Gpu, gpus: Gpus) -> bool:
    """Were clocks and links of this GPU read while it worked? At rest they are low on purpose."""
    return gpus.under_load and (gpu.utilization is None or gpu.utilization >= 50)
