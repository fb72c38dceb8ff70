from envdoctor.rules.gpu._cards import full, subject
from envdoctor.rules.rule import ERROR, NOTE, Facts, Findings, Remedy, Skip, finding, need, rule


@rule(ERROR, expected="default", who="host")
def compute_mode(facts: Facts) -> Findings:
    """A GPU's compute mode forbids or restricts CUDA programs.

    Why: "prohibited" lets no CUDA program in. "exclusive process" lets in one, so that a second process on the same
    GPU (an evaluation, a loader that touches CUDA) fails with "devices are busy or unavailable".
    Fix: set the default mode, as root on the host.
    Source: https://docs.nvidia.com/deploy/nvidia-smi/ (compute mode)
    """
    gpus = need(facts.gpus)
    if all(gpu.compute_mode is None for gpu in gpus.devices):
        raise Skip("the compute mode was not read")
    for gpu in gpus.devices:
        if gpu.compute_mode in (None, "default"):
            continue
        closed = gpu.compute_mode == "prohibited"
        who = "no CUDA program" if closed else "only one process at a time"
        yield finding(
            subject=subject(gpu),
            actual=gpu.compute_mode,
            kind="cuda-init-failed" if closed else "gpu-limited",
            severity=None if closed else NOTE,
            message=f"{full(gpu)} is in compute mode {gpu.compute_mode}: {who} may use it.",
            fix=Remedy(text="Set the default mode.", commands=(f"sudo nvidia-smi -i {gpu.index} -c 0",)),
            explains=("driver/cuda-init", "torch/cuda-unavailable", "torch/cuda-error") if closed else (),
        )
