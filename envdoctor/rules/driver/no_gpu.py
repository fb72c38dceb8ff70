from envdoctor.knowledge.questions import driver_owner, in_container, in_wsl, messages, nvidia_gpu, torch_cuda
from envdoctor.rules.driver import _kernel_says, _unreached
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, Skip, anywhere, finding, known, rule

_SMI = Pattern(r"(?i)NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver")
_MIGHT = Pattern(r"(?i)CUDA driver initialization failed, you might not have a CUDA gpu")
_REFUSED = Pattern(r"(?i)Key was rejected by service|Required key not available")
_SAYS = (
    Pattern(r"(?i)Found no NVIDIA driver on your system"),
    _SMI,
    Pattern(r"nvidia-container-cli: .*(?:driver not loaded|load library failed).*"),
    Pattern(r"(?i)no NVIDIA driver (?:was |is )?(?:found|installed|on|in)\b"),
    Pattern(r"(?i)NVIDIA driver (?:was |is )?not (?:found|installed|loaded)"),
)
_LIBRARY = (
    Pattern(r"^(?!.*libcudnn).*?(?P<name>libcuda\.so(?:\.1)?): cannot open shared object file"),
    Pattern(r"(?i)couldn't find (?P<name>libnvidia-ml)|NVML Shared Library Not Found"),
)
"""The driver's own libraries are not found: it is not there, or only they are not, as in a container."""

_PASSED_OVER = Pattern(r"caught exception .Found no NVIDIA driver")


_WANTED = "loaded, and nvidia-smi lists the GPU"


@rule(ERROR, kind="gpu-not-visible", subject="driver", expected=_WANTED, explains=_unreached.EXPLAINED, for_gpu=True)
def no_gpu(facts: Facts) -> Findings:
    """There is an NVIDIA GPU, or one is wanted, and no driver for it.

    Why: the card is on the PCI bus, but its kernel module is not loaded: not installed, not built for this kernel
    (after a kernel update), refused by Secure Boot, or another driver (nouveau) holds the card. Where nothing is on
    the bus either, the machine or container was started without a GPU.
    Fix: install or rebuild the driver; start the container with access to the GPU.
    Source: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """
    driver = known(facts.driver)
    guess = () if nvidia_gpu(facts) else (_MIGHT,)  # torch's own guess, wrong where the driver shows the GPU
    reason = next((row for row in _kernel_says.REASONS if anywhere(facts, row.pattern)), None)
    said = anywhere(facts, *_SAYS, *guess) or (_SMI.search(driver.smi) if driver and driver.smi else None)
    said = said or (anywhere(facts, reason.pattern) if reason and reason.alone else None)
    library = anywhere(facts, *_LIBRARY) if said is None else None
    if said is None and library is None and driver is None:
        raise Skip("the driver was not looked at")
    if messages.in_report(facts, _REFUSED):
        return  # packages/known-errors: to install or load it once more does not help
    on_bus = driver.pci if driver and driver.kernel_module == "" else ()
    if in_container(facts) and not torch_cuda(facts):
        on_bus = ()  # a container for the CPU, on a host with a GPU
    wsl = in_wsl(facts)
    if library is not None and not on_bus:
        yield _library_missing(facts, library.groupdict().get("name") or "libnvidia-ml", library[0])
        return
    if said is not None and wsl and not on_bus and "couldn't communicate" in said[0]:
        yield _silent(facts, said[0], _unreached.SMI_IN_WSL)
        return
    toolkit = said is not None and said[0].startswith("nvidia-container-cli")
    if (wsl and not toolkit) or (not on_bus and said is None):
        return  # WSL has neither a kernel module nor a PCI device of its own: `driver/wsl`
    if said is not None and _PASSED_OVER.search(said.string):
        return  # the program said it in passing, as it does wherever it runs on the CPU
    if on_bus or reason is not None:
        yield _not_loaded(facts, said[0] if said else "", reason, on_bus)
    elif said is not None:
        yield _silent(facts, said[0], _unreached.silence(facts, said[0]))


def _not_loaded(facts: Facts, said: str, reason: _kernel_says.Reason | None, on_bus: tuple[str, ...]) -> Finding:
    """The card is on the bus without its module, or the kernel says why the driver does not serve it."""
    message = "A GPU of this machine cannot be used"
    if on_bus:
        message = f"NVIDIA GPU {on_bus[0]} is on the PCI bus, and its kernel module is not loaded."
    elif reason is not None and said:
        message += f': {reason.meaning} ("{said}").'
    helps = reason.helps if reason is not None else _unreached.LOAD
    return finding(
        title="" if on_bus else "The NVIDIA driver does not serve a GPU of this machine",
        actual="not loaded" if on_bus else "does not serve it",
        who=driver_owner(facts),
        message=message,
        usually=reason.usually if reason is not None and not on_bus else "",
        fix=_unreached.WITH_THE_GPU if in_container(facts) else helps,
    )


def _silent(facts: Facts, said: str, silence: _unreached.Silence) -> Finding:
    """A program found no driver where it ran: why, nobody says."""
    return finding(
        title=silence.title,
        actual="not found",
        expected=silence.expected,
        who=silence.who or driver_owner(facts),
        message=f'{silence.message} ("{said}").',
        usually=silence.usually,
        fix=silence.fix,
        run=silence.run,
    )


def _library_missing(facts: Facts, name: str, said: str) -> Finding:
    """The driver may well run, and only its library is not in view."""
    missing = _unreached.missing_library(facts)
    why = f": {missing.comes_from}" if missing.comes_from else ""
    return finding(
        title="The driver's own library is not found",
        actual=f"{name} not found",
        who=driver_owner(facts),
        message=f'{name}, the driver\'s own library, is not found{why} ("{said}").',
        usually=missing.usually,
        fix=missing.fix,
        run=missing.run,
    )
