from envdoctor.rules.gpu._cards import busy, for_bandwidth, full, subject
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Gpu, Skip, finding, need, rule

# GB/s of one lane in one direction, by PCIe generation (PCI-SIG; after encoding): what a link can carry at most
_LANE = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}


@rule(WARNING, kind="gpu-limited", who="host")
def pcie_link(facts: Facts) -> Findings:
    """A GPU hangs on a narrow or slow PCIe link.

    Why: batches, checkpoints and (without NVLink) gradients pass through it. Mining boards and risers give one lane
    where sixteen belong. At rest a link saves power: what is read then is only a note.
    Fix: another slot or machine: the host's.
    Source: https://docs.nvidia.com/deploy/nvidia-smi/ ("may be reduced when the GPU is not in use");
    https://github.com/vast-ai/vast-cli (self-test: at least 2.85 GB/s)
    """
    gpus = need(facts.gpus)
    if all(gpu.pcie_width is None for gpu in gpus.devices):
        raise Skip("PCIe links were not read")
    for gpu in gpus.devices:
        narrow = bool(gpu.pcie_width and gpu.pcie_width_max and gpu.pcie_width < gpu.pcie_width_max)
        loaded = busy(gpu, gpus)
        slow = bool(
            loaded and gpu.pcie_generation and gpu.pcie_generation_max and gpu.pcie_generation < gpu.pcie_generation_max
        )
        if not narrow and not slow:
            continue
        full_speed = _speed(gpu.pcie_generation_max, gpu.pcie_width_max)
        now = _speed(gpu.pcie_generation if loaded else gpu.pcie_generation_max, gpu.pcie_width)
        lanes = f"{gpu.pcie_width or '?'} of {gpu.pcie_width_max or '?'} lanes"
        generation = f", generation {gpu.pcie_generation} of {gpu.pcie_generation_max}" if slow else ""
        most = f": at most {now:.1f} of {full_speed:.1f} GB/s" if now and full_speed else ""
        # At rest a link may save power; and half the lanes are usual on consumer boards with two cards.
        proved = loaded and now and full_speed and now < full_speed / 2
        yield finding(
            subject=subject(gpu),
            actual=_describe_link(gpu, now_generation=loaded),
            expected=f"PCIe {gpu.pcie_generation_max or '?'} x{gpu.pcie_width_max or '?'}",
            severity=None if proved else NOTE,
            message=f"{full(gpu)} has a PCIe link of {lanes}{generation}{most}.",
            fix=f"The slot or riser is the host's. {for_bandwidth((full_speed or 12) / 2)}",
        )


def _speed(generation: int | None, width: int | None) -> float | None:
    lane = _LANE.get(generation or 0)
    return lane * width if lane and width else None


def _describe_link(gpu: Gpu, *, now_generation: bool) -> str:
    generation = gpu.pcie_generation if now_generation else gpu.pcie_generation_max
    return f"PCIe {generation or '?'} x{gpu.pcie_width or '?'}"
