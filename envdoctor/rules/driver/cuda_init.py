from dataclasses import replace

from envdoctor.knowledge.cuda_errors import START_ERRORS, StartError, start_error
from envdoctor.knowledge.messages import texts
from envdoctor.knowledge.questions import anywhere, driver_cuda, driver_owner, hidden_by, versions
from envdoctor.rules.causes import WITHOUT_CUDA
from envdoctor.rules.driver._kernel_says import UNLICENSED
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, Skip, finding, known, rule

_ELSEWHERE = frozenset({35, 100})  # an insufficient driver and no device have rules of their own
_NUMBERED = Pattern(
    r"(?i)(?:cudaGetDeviceCount\(\)\D{0,200}?|CUDA (?:driver (?=error (?:8\d\d|999)\b))?)Error (\d{1,3})\b"
)
_AT_START = Pattern(r"(?i)cudaGetDeviceCount|CUDA initialization|Error 101")
_ANY_TIME = frozenset({304, 999})
"""Errors that a run may meet long after CUDA has started, too."""
_STARTS = Pattern(r"(?i)cuInit|cudaGetDeviceCount|initiali[sz]|_lazy_init|is_available|incorrectly set up env")
_REFUSED = {
    46: "The driver gives this process no GPU",
    101: "A GPU is asked for by a number that this process does not have",
}


@rule(ERROR, kind="cuda-init-failed", subject="CUDA", expected="CUDA starts")
def cuda_init(facts: Facts) -> Findings:
    """CUDA does not start.

    Why: NVML and nvidia-smi can look healthy while cuInit fails. Its number tells the cause: 802 is the fabric of
    NVSwitch machines, 803 a libcuda of another version, 804 forward compatibility on a GPU without it, 999 mostly the
    nvidia-uvm module.
    Fix: depends on the number.
    Source: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html (CUresult)
    https://github.com/pytorch/pytorch/issues/35710 (802) https://github.com/NVIDIA/nvidia-docker/issues/1256 (804)
    """
    driver = known(facts.driver)
    number = driver.cuinit if driver else None
    code, quote, at_start = start_error(number) if number else None, "", True
    if code is None:
        for candidate in START_ERRORS if texts(facts) else ():
            said = anywhere(facts, candidate.pattern)
            if said and candidate.number == 101 and said.string in facts.messages and not _AT_START.search(said.string):
                continue  # a process of the run asked for it: `network/ranks`
            # Between [[ ]] an image of NVIDIA's says why it goes on without forward compatibility, but for the fabric
            if said and ("[[" not in said.string or candidate.number == 802):
                code, quote = candidate, said[0]
                at_start = candidate.number not in _ANY_TIME or _STARTS.search(said.string) is not None
                break
    numbered = anywhere(facts, _NUMBERED) if number in (None, 0) else None
    if numbered is not None and int(numbered[1]) in _ELSEWHERE:
        numbered = None
    if numbered is not None and start_error(int(numbered[1])) is None and "cudaGetDeviceCount" not in numbered[0]:
        numbered = None  # a number of the run's, as other programs than torch print them
    if code is None and numbered is not None:
        code, quote = start_error(int(numbered[1])), numbered[0]
    if number in (0, None, 100) and code is None and numbered is None:
        if number is None:
            raise Skip("cuInit was not called, and no error of it is reported")
        return  # success, or no device at all: `driver/no-gpu` and `driver/devices` say why
    number = number or (code.number if code else int(numbered[1]) if numbered else None)
    yield _finding(facts, number, code, quote, at_start=at_start)


def _finding(facts: Facts, number: int | None, code: StartError | None, quote: str, *, at_start: bool) -> Finding:
    driver = known(facts.driver)
    asked = driver is not None and bool(driver.cuinit)
    name = (f"cuInit {number}" if asked else f"error {number}") if number else "cuInit"
    hidden = hidden_by(facts) if number == 101 else None
    owner = driver_owner(facts)
    offered = driver_cuda(facts)
    outdated = number == 3 and offered is not None and versions.below(offered, "11.0")
    if outdated and code is not None:
        code = replace(
            code,
            usually=f"the driver is older than the CUDA that torch is built for (it runs CUDA {offered}, and torch "
            f"from 1.11 on is built for 11.3 and later); else {code.usually}",
            remedy="Update the driver to the newest that the card has, or take a torch built for a CUDA that it runs "
            f"(the number in nvidia-smi's heading is the driver's, whatever is installed besides). Then: {code.remedy}",
            commands=("nvidia-smi", *code.commands),
        )
    fails = "CUDA does not start" if at_start else "A call of CUDA fails"
    return finding(
        title=_REFUSED.get(number or 0, "" if at_start else "A call of CUDA fails, and the driver says no more"),
        actual=name + (f" ({quote})" if quote else ""),
        expected="" if at_start else "a call that goes through",
        who=(code.who if code else None) or owner,
        message=f"{'CUDA refuses a GPU' if number in _REFUSED else fails} ({name}): "
        f"{code.meaning if code else 'an error that this tool has no name for'}" + (f" ({hidden})." if hidden else "."),
        usually=code.usually if code and not hidden else "",
        fix=code.remedy if code else "Look into the kernel log; reboot, or rent another machine.",
        run=code.commands if code else "dmesg | grep -i -e nvrm -e xid | tail",
        certain=anywhere(facts, UNLICENSED) is None,
        explains=(
            "torch/cuda-unavailable",
            "torch/cuda-error",
            "torch/import-fails",
            "gpu/",
            "driver/nvidia-smi",
            *WITHOUT_CUDA,
        ),
    )
