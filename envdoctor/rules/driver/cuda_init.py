from envdoctor.rules.driver._cuda_start import start_failure
from envdoctor.rules.rule import ERROR, WITHOUT_CUDA, Facts, Findings, Remedy, Skip, finding, known, rule

_EXPLAINED = ("torch/cuda-unavailable", "torch/cuda-error", "torch/import-fails", "gpu/", "driver/nvidia-smi")
_REFUSED = {
    46: "The driver gives this process no GPU",
    101: "A GPU is asked for by a number that this process does not have",
}


@rule(ERROR, kind="cuda-init-failed", subject="CUDA", expected="CUDA starts", explains=(*_EXPLAINED, *WITHOUT_CUDA))
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
    failure = start_failure(facts)
    if failure is None and (driver is None or driver.cuinit is None):
        raise Skip("cuInit was not called, and no error of it is reported")
    if failure is None:
        return
    error, name, refused = failure.error, failure.name, failure.number in _REFUSED
    call = "" if failure.at_start else "A call of CUDA fails"
    fails = "CUDA refuses a GPU" if refused else call or "CUDA does not start"
    yield finding(
        title=_REFUSED[failure.number or 0] if refused else call and f"{call}, and the driver says no more",
        actual=f"{name} ({failure.quote})" if failure.quote else name,
        expected=call and "a call that goes through",
        who=failure.who,
        message=f"{fails} ({name}): {error.meaning}{f' ({failure.hidden})' if failure.hidden else ''}.",
        usually="" if failure.hidden else error.usually,
        fix=Remedy(text=error.remedy, commands=error.commands),
        certain=failure.certain,
    )
