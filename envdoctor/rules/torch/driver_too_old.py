from dataclasses import replace

from envdoctor.knowledge.installed_torch import line_is_guessed, torch_cuda, torch_version
from envdoctor.knowledge.machine import driver_cuda, driver_owner, driver_version, machine_of
from envdoctor.knowledge.messages import anywhere, is_told
from envdoctor.knowledge.numbers import numbers
from envdoctor.knowledge.questions import best_build, circumstances, driver_runs, minimum_driver
from envdoctor.knowledge.renting import for_cuda
from envdoctor.rules.finding import WARNING, Finding, Findings, finding
from envdoctor.rules.rule import ERROR, Facts, Match, Pattern, Skip, Target, known, on_cpu, remedies, rule

_SAYS = (
    Pattern(r"(?i)driver on your system is too old(?: \(found version (\d{4,5})\))?"),
    Pattern(r"(?i)CUDA driver version is insufficient for CUDA runtime version"),
    Pattern(r"(?i)API call is not supported in the installed CUDA driver"),
)
_ALSO_WITHOUT = Pattern(r"(?i)driver version is insufficient")
"""CUDA's error 35, which the runtime gives where there is no driver at all as well."""


_NEWER_CALL = Pattern(r"(?i)API call is not supported")


@rule(ERROR, kind="driver-too-old", subject="driver")
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
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    said = anywhere(facts, *_SAYS)
    if said is not None and "without torch" in facts.remarks:
        return  # a program with a CUDA library of its own: packages/known-errors
    cuda, driver, offered = torch_cuda(facts), driver_version(facts), driver_cuda(facts)
    if said is None and cuda is None:
        raise Skip("the CUDA version of torch is not known")
    if said is None and driver is None and offered is None:
        raise Skip("the driver's version is not known")
    torch = known(facts.torch)
    if said is None:
        works = torch is not None and torch.cuda_available
        runs = driver_runs(cuda, driver=driver, driver_cuda=offered, windows=_windows(facts))
        if works or runs is not False:
            return
    if said is not None and _NEWER_CALL.search(said[0]):
        yield _newer_call(facts, said, driver)
        return
    if said is not None and driver is None and offered is None and circumstances.INTEGRATED.stands(facts):
        yield _without_nvidia(said)
        return
    one = _finding(facts, target, said, cuda or None, driver, offered)
    told = said is None and driver is None and line_is_guessed(facts)
    if said is not None and _in_passing(facts, said):
        yield replace(one, severity=WARNING, certain=False, explains=("torch/cuda-unavailable",))
        return
    if told:  # "CUDA 10.1" may be the toolkit's as well
        one = replace(one, severity=WARNING, certain=False, explains=("torch/cuda-unavailable", "torch/cuda-error"))
    yield one


_OF_CUDA = Pattern(r"(?i)cuda|gpu|nvidia|driver|device")
_EXCEPTION = Pattern(r"^[A-Za-z_][\w.]{0,60}(?:Error|Exception)\b ?:")


def _in_passing(facts: Facts, said: Match[str]) -> bool:
    """Did torch only warn of it, and go on without the GPU to an error that has nothing to do with one?"""
    ended = [text for text in facts.messages if _EXCEPTION.match(text)]
    return "Warning" in said.string and bool(ended) and not any(map(_OF_CUDA.search, ended))


def _newer_call(facts: Facts, said: Match[str], driver: str | None) -> Finding:
    """CUDA's cudaErrorCallRequiresNewerDriver, which says no more than that of one function."""
    return finding(
        title="A function of CUDA is called that the driver does not have",
        actual=driver or "unknown",
        expected="a driver that has the function",
        who=driver_owner(facts),
        message=f"What was started calls a function that the installed driver{f' {driver}' if driver else ''} does not "
        f'have ("{said[0]}").',
        usually="it was built for a newer CUDA than the driver's",
        fix="Get a newer driver, or a build of the program for the CUDA that nvidia-smi names.",
        run="nvidia-smi",
        explains=("torch/cuda-unavailable", "torch/cuda-error", "packages/"),
    )


def _without_nvidia(said: Match[str]) -> Finding:
    return finding(
        title="An NVIDIA GPU is asked for where there is none",
        kind="gpu-not-visible",
        actual="no NVIDIA GPU",
        expected="a machine with an NVIDIA GPU",
        message="CUDA finds no driver of NVIDIA's, and the only GPU that the text tells of is Intel's, for which there "
        f'is none ("{said[0]}").',
        fix="No update helps: take a machine with an NVIDIA GPU, or a program and options that compute on the CPU "
        "(what is made for CUDA alone, as 8-bit optimizers, has to be left out). Another program that runs here "
        "computes on the CPU.",
        explains=("torch/cuda-unavailable", "torch/cuda-error", "packages/"),
    )


def _windows(facts: Facts) -> bool:
    return machine_of(facts).windows


def _finding(
    facts: Facts, target: Target, said: Match[str] | None, cuda: str | None, driver: str | None, offered: str | None
) -> Finding:
    needed = cuda or _next_major(offered)
    minimum = minimum_driver(needed, windows=_windows(facts)) if needed else None
    bare = said is not None and _ALSO_WITHOUT.search(said[0]) is not None
    unseen = bare and (cuda is None or (driver is None and offered is None))
    have = f"driver {driver}" if driver else "this driver"
    if offered:
        have += f" (CUDA {offered})"
    built = f"torch is built for CUDA {cuda}" if cuda else "torch is built for a newer CUDA"
    if cuda and line_is_guessed(facts):
        built += " (where its wheel is PyPI's)"
    told = said is not None and is_told(said.string) and driver is None and offered is None
    if unseen and cuda is None:
        built = "What was started needs a driver for the CUDA that it is built for"
    version = torch_version(facts)
    locked = remedies.locked_pins(target, known(facts.packages), "torch", "torchvision", "torchaudio")
    owner = driver_owner(facts)
    renting = f" {for_cuda(needed)}" if owner == "host" and needed else ""
    last = _last_cards(driver)
    update = f"a driver of at least {minimum}" if minimum else "a newer driver"
    if unseen:
        message = (
            f"{built}: {have} is too old for that, or it is not reached from here (a container without the GPU, "
            f'libraries of another driver): "{said[0] if said else ""}".'
            if driver or offered
            else f'{built}, and the NVIDIA driver is too old for that, or none is reached: "{said[0] if said else ""}".'
        )
        fix = (
            "See what nvidia-smi says in the same place; a container is started with --gpus all. If it lists a driver: "
            f"get {update}, or a build for an earlier CUDA. Without an NVIDIA GPU no CUDA build can run: train on the "
            f"CPU.{renting}"
        )
        command = "nvidia-smi"
    else:
        message = f"{built}, which {have} cannot run" + (
            f": it needs {minimum} or later." if minimum else "; the error says so itself."
        )
        message += "" if said is None or cuda else f' ("{said[0]}")'
        if told and said is not None:
            message = f'The text tells of a driver that is too old, which no program says in it ("{said[0]}").'
        fix = f"Take a torch build that this driver runs; or get {update}.{renting}"
        command = _by_hand(facts, version)
        if last:
            message += (
                f" Drivers of that number are the last for {last}: where the card is one of these, no newer driver "
                "and no torch of today serves it."
            )
            fix = (
                "See which card it is. For such a one no update helps: compute on the CPU, or take another card or "
                f"a rented one. A newer card gets {update}."
            )
            command = "nvidia-smi"
    return finding(
        title=_TOLD if told else _OPEN if unseen else "",
        actual="unknown" if unseen else have.removeprefix("driver "),
        expected=f"{minimum} or later" if minimum else "a driver that runs torch's CUDA",
        who="you" if locked else owner,
        message=message,
        fix=remedies.choose(target, locked, fix, command),
        repair=locked,
        explains=(
            "torch/cuda-unavailable",
            "torch/cuda-error",
            "torch/import-fails",
            "driver/cuda-init",
            "driver/nvidia-smi",
            "driver/nothing-found",
            "packages/",
        ),
    )


_LAST = {
    **dict.fromkeys((340, 341, 342), "cards of 2006 to 2010 (GeForce 8 to 300, compute capability 1.x)"),
    **dict.fromkeys((390, 391), "Fermi (GeForce 400 and 500, compute capability 2.x)"),
}
"""By the driver's branch: for which cards there is none after it (NVIDIA's page of legacy GPUs)."""


def _last_cards(driver: str | None) -> str:
    branch = numbers(driver)[:1] if driver else ()
    return _LAST.get(branch[0], "") if branch else ""


_TOLD = "A driver that is too old is told of"
_OPEN = "CUDA met no driver that it can run with"


def _next_major(offered: str | None) -> str | None:
    """Without torch's own word: the driver refused, so torch is of a later major version than the driver's CUDA."""
    parts = numbers(offered)
    return f"{parts[0] + 1}.0" if parts and parts[0] >= 11 else None


def _by_hand(facts: Facts, version: str | None) -> str:
    if driver_version(facts) is None and driver_cuda(facts) is None:
        return remedies.torch_family(known(facts.packages), "auto", "torch")  # uv asks the driver; nobody else did
    build = best_build(machine_of(facts), torch=version).build or best_build(machine_of(facts)).build
    if build is None:
        return remedies.torch_family(known(facts.packages), "auto", "torch")
    return remedies.torch_family(known(facts.packages), build.label, f"torch=={build.torch}.*")
