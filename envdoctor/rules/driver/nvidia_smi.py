from envdoctor.knowledge.questions import RELIABLE, driver_owner, torch_cuda
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Remedy, finding, known, need, rule

_ELSEWHERE = Pattern(r"(?i)version mismatch|couldn't communicate with the NVIDIA driver|could not load NVML library")
_LOST = Pattern(r"(?i)GPU is lost|Unable to determine the device handle|fallen off the bus")
_EMPTY = Pattern(r"(?i)No devices were found")
_NO_PROGRAM = Pattern(r"not found|No such file")


def _behind(smi: str) -> str:
    if _EMPTY.search(smi):
        return (
            "the driver is loaded and cannot start the card (too old or too new for it, the closed module where the "
            "open one is needed, too little power), the card is handed to a virtual machine, or this is one without a "
            "card"
        )
    return "the card has fallen off the PCIe bus (power, heat, a riser or slot), or its firmware hangs"


@rule(WARNING, subject="nvidia-smi", expected="lists the GPUs")
def nvidia_smi(facts: Facts) -> Findings:
    """nvidia-smi fails.

    Why: it asks the driver the simplest questions. "GPU is lost" and "Unable to determine the device handle" mean a
    card that fell off the bus; "No devices were found" a driver without a card that it can drive. Where only the
    program is missing, nothing is wrong: envdoctor asks NVML itself.
    Fix: reset or replace the GPU; rent another machine.
    Source: https://docs.nvidia.com/deploy/gpu-debug-guidelines/
    """
    driver = need(facts.driver)
    need(driver.smi, "nvidia-smi was not run")
    if not driver.smi or _ELSEWHERE.search(driver.smi):
        return  # a version mismatch and an unloaded module have rules of their own
    lost, empty = _LOST.search(driver.smi), _EMPTY.search(driver.smi)
    torch = known(facts.torch)
    blind = torch is not None and torch.cuda_available is False and bool(torch_cuda(facts))
    if _NO_PROGRAM.search(driver.smi) and not empty and not blind:
        return
    first, broken = driver.smi.strip().splitlines()[0], bool(lost or empty)
    yield finding(
        actual=first,
        kind="gpu-unhealthy" if lost else "gpu-not-visible",
        severity=ERROR if broken or blind else None,
        certain=broken,
        who="host" if lost else driver_owner(facts),
        message=f'nvidia-smi fails: "{first}".',
        usually=_behind(driver.smi) if broken else "",
        fix=_SEAT_ANEW if lost else _LOOK,
        explains=_EXPLAINED if broken else _EXPLAINED[-1:] if blind else (),
    )


_EXPLAINED = ("torch/cuda-unavailable", "torch/cuda-error", "driver/cuda-init", "driver/nothing-found")
_LOG = ("dmesg | grep -i -e nvrm -e xid | tail",)
_LOOK = Remedy(text="Look into the kernel log.", commands=_LOG)
_SEAT_ANEW = Remedy(
    text="Switch the machine off and on; where it comes again seat the card and its power cables anew, without a "
    f"riser, or in another slot; what drops off there as well is most likely broken. {RELIABLE}",
    commands=_LOG,
)
