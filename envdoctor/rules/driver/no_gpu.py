from re import IGNORECASE

from envdoctor.knowledge.messages import in_report
from envdoctor.knowledge.questions import anywhere, in_container, nvidia_gpu, torch_cuda
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Skip, Target, Who, finding, known, on_cpu, rule

_SMI = Pattern(r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", IGNORECASE)
_MIGHT = Pattern(r"CUDA driver initialization failed, you might not have a CUDA gpu", IGNORECASE)
_REFUSED = Pattern(r"Key was rejected by service|Required key not available", IGNORECASE)
_SAYS = (
    Pattern(r"Found no NVIDIA driver on your system", IGNORECASE),
    _SMI,
    Pattern(r"^(?!.*libcudnn).*libcuda\.so(?:\.1)?: cannot open shared object file"),
    Pattern(r"nvidia-container-cli: (?!.*(?:mismatch|unsatisfied condition)).*"),
    Pattern(r"no NVIDIA driver (?:was |is )?(?:found|installed|on|in)\b", IGNORECASE),
    Pattern(r"NVIDIA driver (?:was |is )?not (?:found|installed|loaded)", IGNORECASE),
    Pattern(r"couldn't find libnvidia-ml|NVML Shared Library Not Found", IGNORECASE),
)


@rule(ERROR, kind="gpu-not-visible", subject="driver", expected="loaded, and nvidia-smi lists the GPU")
def no_gpu(facts: Facts, target: Target) -> Findings:
    """There is an NVIDIA GPU, or one is wanted, and no driver for it.

    Why: the card is on the PCI bus, but its kernel module is not loaded: not installed, not built for this kernel
    (after a kernel update), refused by Secure Boot, or another driver (nouveau) holds the card. Where nothing is on
    the bus either, the machine or container was started without a GPU.
    Fix: install or rebuild the driver; start the container with access to the GPU.
    Source: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    driver, host = known(facts.driver), known(facts.host)
    guess = () if nvidia_gpu(facts) else (_MIGHT,)  # torch's own guess, wrong where the driver shows the GPU
    said = anywhere(facts, *_SAYS, *guess) or (_SMI.search(driver.smi) if driver and driver.smi else None)
    if said is None and driver is None:
        raise Skip("the driver was not looked at")
    if in_report(facts, _REFUSED):
        return  # packages/known-errors: to install or load it once more does not help
    on_bus = driver.pci if driver else ()
    unloaded = driver is not None and driver.kernel_module == "" and bool(on_bus)
    if unloaded and in_container(facts) and not torch_cuda(facts):
        unloaded = False  # a container for the CPU, on a host with a GPU
    if host is not None and (host.container or "").startswith("wsl"):
        return  # WSL has neither a kernel module nor a PCI device of its own: `driver/wsl`
    if not unloaded and said is None:
        return
    container = in_container(facts)
    who: Who = "host" if container else "you"
    what = f"NVIDIA GPU {on_bus[0]} is on the PCI bus" if on_bus else "No NVIDIA driver answers"
    yield finding(
        actual="not loaded" if unloaded else "not found", who=who,
        message=f"{what}, and its kernel module is not loaded."
        if unloaded
        else f"{what}: no GPU can be used here" + (f' ("{said[0]}").' if said else "."),
        fix="Start the container with access to the GPU (--gpus all), on a host whose driver is loaded."
        if container
        else "Install the NVIDIA driver, or load it: modprobe says why it does not load (no module for this kernel, "
        "Secure Boot, nouveau); in a container, start that with --gpus all.",
        run="docker run --gpus all ..." if container else ("sudo modprobe nvidia", "nvidia-smi"),
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/"),
    )  # fmt: skip
