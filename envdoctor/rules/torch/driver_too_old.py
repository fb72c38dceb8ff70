from envdoctor.knowledge import questions
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Pattern, Skip, Target, finding, rule
from envdoctor.rules.torch import _old_driver

_SAYS = (
    Pattern(r"(?i)driver on your system is too old(?: \(found version (\d{4,5})\))?"),
    Pattern(r"(?i)CUDA driver version is insufficient for CUDA runtime version"),
    Pattern(r"(?i)API call is not supported in the installed CUDA driver"),
)
_NEWER_CALL = Pattern(r"(?i)API call is not supported")
_OF_TORCH = ("torch/cuda-unavailable", "torch/cuda-error")
_EXPLAINED = (
    *_OF_TORCH,
    "torch/import-fails",
    "driver/cuda-init",
    "driver/nvidia-smi",
    "driver/nothing-found",
    "packages/",
)


@rule(ERROR, kind="driver-too-old", subject="driver", explains=_EXPLAINED, for_gpu=True)
def driver_too_old(facts: Facts, target: Target) -> Findings:
    """The NVIDIA driver cannot run the CUDA version that torch was built with.

    Why: CUDA refuses to start ("driver too old, found version 12080"), and torch falls back to the CPU. Within one
    major version every driver from the floor on will do: 525.60.13 runs all of CUDA 12, 450.80.02 nearly all of 11,
    580 all of 13. A driver below its own line but above the floor is healthy.
    Fix: a torch build of a CUDA line that this driver runs; or a newer driver, which in a container only the host can
    install.
    Source: https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ table 2, https://docs.nvidia.com/deploy/cuda-compatibility/
    https://github.com/NVIDIA-BioNeMo/nvMolKit/issues/209
    """
    said = questions.messages.anywhere(facts, *_SAYS)
    if said is not None and ("without torch" in facts.remarks or "Warp CUDA error" in said.string):
        return  # a program with a CUDA library of its own: packages/known-errors
    cuda, driver, offered = questions.torch_cuda(facts), questions.driver_version(facts), questions.driver_cuda(facts)
    if said is None and cuda is None:
        raise Skip("the CUDA version of torch is not known")
    if said is None and driver is None and offered is None:
        raise Skip("the driver's version is not known")
    if said is None:
        if _old_driver.may_run(facts, cuda):
            return
    elif _NEWER_CALL.search(said[0]):
        yield _newer_call(facts, said[0], driver)
        return
    elif driver is None and offered is None and questions.circumstances.INTEGRATED.stands(facts):
        yield _without_nvidia(said[0])
        return
    in_passing = said is not None and _old_driver.is_said_in_passing(facts, said.string)
    # "CUDA 10.1" may be the toolkit's as well
    guessed = said is None and driver is None and questions.line_is_guessed(facts)
    old = _old_driver.old_driver(facts, target, said, cuda or None)
    yield finding(
        title=old.title,
        actual=old.have,
        expected=old.need,
        who="you" if old.repair else questions.driver_owner(facts),
        severity=WARNING if in_passing or guessed else None,
        certain=not in_passing and not guessed,
        message=old.message,
        usually=old.usually,
        fix=old.fix,
        repair=old.repair,
        explains=_OF_TORCH[:1] if in_passing else _OF_TORCH if guessed else (),
    )


def _newer_call(facts: Facts, said: str, driver: str | None) -> Finding:
    """CUDA's cudaErrorCallRequiresNewerDriver, which says no more than that of one function."""
    installed = f"the installed driver{f' {driver}' if driver else ''}"
    return finding(
        title="A function of CUDA is called that the driver does not have",
        actual=driver or "unknown",
        expected="a driver that has the function",
        who=questions.driver_owner(facts),
        message=f'What was started calls a function that {installed} does not have ("{said}").',
        usually="it was built for a newer CUDA than the driver's",
        fix="Get a newer driver, or a build of the program for the CUDA that nvidia-smi names.",
        run="nvidia-smi",
        explains=(*_OF_TORCH, "packages/"),
    )


def _without_nvidia(said: str) -> Finding:
    return finding(
        title="An NVIDIA GPU is asked for where there is none",
        kind="gpu-not-visible",
        actual="no NVIDIA GPU",
        expected="a machine with an NVIDIA GPU",
        message=f'{_INTELS_ALONE} ("{said}").',
        fix=_NO_UPDATE_HELPS,
        explains=(*_OF_TORCH, "packages/"),
    )


_INTELS_ALONE = (
    "CUDA finds no driver of NVIDIA's, and the only GPU that the text tells of is Intel's, for which there is none"
)
_NO_UPDATE_HELPS = (
    "No update helps: take a machine with an NVIDIA GPU, or a program and options that compute on the CPU (what is "
    "made for CUDA alone, as 8-bit optimizers, has to be left out). Another program that runs here computes on the CPU."
)
