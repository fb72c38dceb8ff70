from envdoctor.rules.gpu._cards import RELIABLE, full, subject
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, Skip, finding, need, rule


@rule(WARNING, kind="gpu-unhealthy", who="host")
def nvlink(facts: Facts) -> Findings:
    """NVLinks of a GPU are down.

    Why: NCCL then takes fewer links, or PCIe: all-reduce becomes several times slower, or hangs. A GPU without any
    link up (a PCIe card without bridge) has none to lose and is not reported.
    Fix: reset the GPUs or exchange the board: the host's.
    Source: https://docs.nvidia.com/deploy/nvml-api/group__NvLink.html; azure_gpu_nvlink.nhc
    """
    gpus = need(facts.gpus)
    if all(gpu.nvlinks_down is None for gpu in gpus.devices):
        raise Skip("NVLinks were not read")
    # Two bridged cards use a part of their links by design; on a board with a switch all must be up.
    severity = None if len(gpus.devices) >= 4 else NOTE
    for gpu in gpus.devices:
        if not gpu.nvlinks_down or not gpu.nvlinks:
            continue
        total = gpu.nvlinks + gpu.nvlinks_down
        yield finding(
            subject=subject(gpu),
            actual=f"{gpu.nvlinks} of {total} links up",
            expected=f"{total} of {total}",
            severity=severity,
            message=f"{full(gpu)} has {gpu.nvlinks_down} of {total} NVLinks down.",
            fix=_EXCHANGE,
        )


_EXCHANGE = Remedy(text=f"The host must reset or exchange it. {RELIABLE}", commands=("nvidia-smi nvlink -s",))
