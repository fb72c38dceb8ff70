from envdoctor.rules.network import _joined
from envdoctor.rules.rule import ERROR, Facts, Findings, finding, need, rule


@rule(ERROR, kind="config-mismatch", subject="MIG", expected="one process on one slice")
def mig_ranks(facts: Facts) -> Findings:
    """Several ranks are to run on slices of a divided GPU (MIG).

    Why: a CUDA process sees one MIG slice only, and NCCL does not work between slices of one GPU. Further names in
    CUDA_VISIBLE_DEVICES are ignored.
    Fix: train with one process on one slice, or have MIG switched off.
    Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    gpus = need(facts.gpus)
    listed = [part for part in _joined.variables(facts).get("CUDA_VISIBLE_DEVICES", "").split(",") if "MIG" in part]
    divided = any(gpu.mig for gpu in gpus.devices) or bool(listed)
    if not divided:
        return
    started = _joined.ranks_here(facts)
    whole = [gpu for gpu in gpus.devices if not gpu.mig]
    if started is not None and started[0] > 1 and len(whole) < started[0]:
        actual = f"{started[0]} processes ({started[1]})"
    elif len(listed) > 1:
        actual = f"{len(listed)} slices in CUDA_VISIBLE_DEVICES"
    else:
        return
    text = f"The GPU is divided into slices (MIG), and there are {actual}: each process sees one slice only"
    yield finding(
        actual=actual,
        who="you" if started else "host",
        message=f"{text}, and NCCL does not work between them.",
        fix="Train with one process on one slice, or have the GPU put together again.",
        run="sudo nvidia-smi -mig 0",
    )
