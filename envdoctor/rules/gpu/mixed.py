from collections import Counter

from envdoctor.rules.rule import NOTE, Facts, Findings, finding, need, rule


@rule(NOTE, kind="gpu-limited", subject="GPUs", expected="one kind")
def mixed(facts: Facts) -> Findings:
    """The machine holds different GPUs.

    Why: data-parallel training runs at the pace of the slowest, and the torch build must have code for all. CUDA also
    numbers them by speed, nvidia-smi by slot, so that index 0 means different cards.
    Fix: choose one kind with CUDA_VISIBLE_DEVICES; CUDA_DEVICE_ORDER=PCI_BUS_ID makes the numbering agree.
    Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#env-vars (CUDA_DEVICE_ORDER)
    """
    gpus = need(facts.gpus)
    counts = Counter(gpu.name for gpu in gpus.devices)
    if len(counts) < 2:
        return
    names = ", ".join(f"{count}x {name}" for name, count in sorted(counts.items()))
    most = counts.most_common(1)[0][0]
    indices = ",".join(str(gpu.index) for gpu in gpus.devices if gpu.name == most)
    yield finding(
        actual=names,
        message=f"Different GPUs in one machine ({names}): together they run at the pace of the slowest.",
        fix="Train on one kind of them.",
        run=f"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={indices}",
    )
