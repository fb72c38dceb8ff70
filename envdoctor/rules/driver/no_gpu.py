from re import IGNORECASE

from envdoctor.knowledge.messages import in_report
from envdoctor.knowledge.questions import anywhere, in_container, nvidia_gpu, torch_cuda
from envdoctor.rules.driver._kernel_says import REASONS
from envdoctor.rules.finding import Finding, Findings, Who, finding
from envdoctor.rules.rule import ERROR, Facts, Match, Pattern, Skip, Target, known, on_cpu, rule

_SMI = Pattern(r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", IGNORECASE)
_MIGHT = Pattern(r"CUDA driver initialization failed, you might not have a CUDA gpu", IGNORECASE)
_REFUSED = Pattern(r"Key was rejected by service|Required key not available", IGNORECASE)
_SAYS = (
    Pattern(r"Found no NVIDIA driver on your system", IGNORECASE),
    _SMI,
    Pattern(r"nvidia-container-cli: .*(?:driver not loaded|load library failed).*"),
    Pattern(r"no NVIDIA driver (?:was |is )?(?:found|installed|on|in)\b", IGNORECASE),
    Pattern(r"NVIDIA driver (?:was |is )?not (?:found|installed|loaded)", IGNORECASE),
)
_LIBRARY = (
    Pattern(r"^(?!.*libcudnn).*?(?P<name>libcuda\.so(?:\.1)?): cannot open shared object file"),
    Pattern(r"couldn't find (?P<name>libnvidia-ml)|NVML Shared Library Not Found", IGNORECASE),
)
"""The driver's own libraries are not found: it is not there, or only they are not, as in a container."""

_PASSED_OVER = Pattern(r"caught exception .Found no NVIDIA driver")
_BOUND = Pattern(r"\.singularity\.d|\b(?:singularity|apptainer)\b", IGNORECASE)


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
    reason = next((row for row in REASONS if anywhere(facts, row.pattern)), None)
    said = anywhere(facts, *_SAYS, *guess) or (_SMI.search(driver.smi) if driver and driver.smi else None)
    said = said or (anywhere(facts, reason.pattern) if reason and reason.alone else None)
    library = anywhere(facts, *_LIBRARY) if said is None else None
    if said is None and library is None and driver is None:
        raise Skip("the driver was not looked at")
    if in_report(facts, _REFUSED):
        return  # packages/known-errors: to install or load it once more does not help
    on_bus = driver.pci if driver else ()
    unloaded = driver is not None and driver.kernel_module == "" and bool(on_bus)
    if unloaded and in_container(facts) and not torch_cuda(facts):
        unloaded = False  # a container for the CPU, on a host with a GPU
    wsl = host is not None and (host.container or "").startswith("wsl")
    if library is not None and not unloaded:
        bound = anywhere(facts, _BOUND) is not None or (host is not None and host.container == "apptainer")
        yield _library_missing(library, container=in_container(facts), wsl=wsl, bound=bound)
        return
    if wsl or (not unloaded and said is None):
        return  # WSL has neither a kernel module nor a PCI device of its own: `driver/wsl`
    if said is not None and _PASSED_OVER.search(said.string):
        return  # the program said it in passing, as it does wherever it runs on the CPU
    container = in_container(facts)
    who: Who = "host" if container else "you"
    what = f"NVIDIA GPU {on_bus[0]} is on the PCI bus" if on_bus else "No NVIDIA driver answers"
    message = f"{what}, and its kernel module is not loaded." if unloaded else f"{what}: no GPU can be used here"
    if not unloaded:
        message += (f'; {reason.meaning} ("{said[0]}").' if reason else f' ("{said[0]}").') if said else "."
    fix = _FIX
    run: tuple[str, ...] = ("sudo modprobe nvidia", "nvidia-smi")
    if container:
        fix = "Start the container with access to the GPU (--gpus all), on a host whose driver is loaded."
        run = ("docker run --gpus all ...",)
    elif reason is not None:
        fix, run = reason.remedy, reason.commands
    yield finding(
        actual="not loaded" if unloaded else "not found",
        who=who,
        message=message,
        fix=fix,
        run=run,
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/"),
    )


_FIX = (
    "Install the NVIDIA driver, or load it: modprobe says why it does not load (no module for this kernel, Secure "
    "Boot, nouveau); in a container, start that with --gpus all."
)


def _library_missing(said: Match[str], *, container: bool, wsl: bool, bound: bool) -> Finding:
    """The driver may well run, and only its library is not in view."""
    name = said.groupdict().get("name") or "libnvidia-ml"
    run: tuple[str, ...] = ("ldconfig -p | grep -e libcuda.so -e libnvidia-ml.so", "nvidia-smi")
    if bound:
        why = "Singularity binds the host's with --nv, into /.singularity.d/libs"
        fix = (
            "Start with --nv on a machine with a GPU, and keep /.singularity.d/libs in LD_LIBRARY_PATH: what clears "
            "the "
            "environment loses it. Where the host's ldconfig does not know the library, bind its folder by hand (-B)."
        )
        run = ("ldconfig -p | grep libcuda.so", "export LD_LIBRARY_PATH=/.singularity.d/libs:$LD_LIBRARY_PATH")
    elif wsl:
        why = "in WSL it is the one of Windows' driver, in /usr/lib/wsl/lib"
        fix = "Install the NVIDIA driver of Windows and update WSL; then let programs find that folder."
        run = ("ls /usr/lib/wsl/lib", "export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH")
    elif container:
        why = "a container gets the host's when it is started with the GPU"
        fix = "Start the container with access to the GPU (--gpus all), on a host whose driver is loaded."
        run = ("docker run --gpus all ...",)
    else:
        why = "no driver is installed here, the container was started without the GPU, or the linker does not know it"
        fix = (
            "See nvidia-smi. " + _FIX + " Where nvidia-smi works, give the linker the folder of the library (ldconfig)."
        )
    return finding(
        actual=f"{name} not found",
        who="host" if container else "you",
        message=f'{name}, the driver\'s own library, is not found: {why} ("{said[0]}").',
        fix=fix,
        run=run,
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/"),
    )
