from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Remedy, anywhere, finding, need, rule

_SAYS = (
    Pattern(r"CUDA driver initialization failed|you might not have a CUDA gpu"),
    Pattern(r"No CUDA GPUs are available|no CUDA-capable device is detected"),
    Pattern(r"devices? (?:is|are|\(s\) is/are) busy or unavailable"),
    Pattern(r"cudaGetDeviceCount"),
)


_EXPLAINED = ("driver/", "torch/cuda-unavailable", "torch/cuda-error", "gpu/")


@rule(ERROR, kind="config-mismatch", expected="a MIG instance, or MIG off", who="host", explains=_EXPLAINED)
def mig_without_instance(facts: Facts) -> Findings:
    """MIG is on, and CUDA finds no instance of the GPU that it may use.

    Why: with MIG on, the whole card is no device any more: CUDA starts only on an instance, which must have been made
    (graphics and compute instance) and handed to the container. nvidia-smi lists the card all the same.
    Fix: make an instance and pass it on by its UUID, or switch MIG off.
    Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    gpus = need(facts.gpus)
    divided = [gpu for gpu in gpus.devices if gpu.mig]
    said = anywhere(facts, *_SAYS)
    if not divided or said is None or any("MIG" in gpu.name for gpu in gpus.devices):
        return
    gpu = divided[0]
    message = f'MIG is on for {gpu.name}, and CUDA finds no instance of it ("{said[0]}").'
    yield finding(subject=f"GPU {gpu.index}", actual=_NO_INSTANCE, message=message, fix=_make_one(gpu.index))


_NO_INSTANCE = "MIG on, and no instance that CUDA may use"


def _make_one(index: int) -> Remedy:
    return Remedy(
        text="Make an instance and hand it on (CUDA_VISIBLE_DEVICES=MIG-UUID), or switch MIG off on the host.",
        commands=("sudo nvidia-smi mig -cgi 0 -C", "nvidia-smi -L"),
        instead=(f"sudo nvidia-smi -i {index} -mig 0",),
    )
