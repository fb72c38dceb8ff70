"""What was not seen, or is beyond what is judged here: without it nothing may be called healthy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from envdoctor.facts.model import Facts, Gpu, Unavailable
from envdoctor.facts.need import known
from envdoctor.knowledge.installed_torch import other_backend, torch_cuda
from envdoctor.knowledge.machine import hidden_by, is_board
from envdoctor.locks.target import Target
from envdoctor.rules.hardware import framework_needs, on_cpu, other_framework
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

# Names, and PCI ids of AMD's Instinct (74xx, 75a0 on) and Intel's Max (0bdx): https://pci-ids.ucw.cz
_TRAINS = Pattern(r"Instinct|MI\d{3}|Gaudi|Data Center GPU Max|1002:7(?:4|5a)|8086:0bd")

_IN_A_SENTENCE = 2  # packages that somebody names in passing; a list, or a file of pins, has more


@frozen
class Unseen:
    """A section of the facts that is missing, or what envdoctor does not judge.

    ``blind``: without it nothing else that was judged is an answer.
    """

    section: str
    reason: str
    blind: bool = False
    word: Literal["seen", "judged", "compared"] = "seen"

    @property
    def text(self) -> str:
        """For people: "torch could not be seen"."""
        return f"{self.section} could not be {self.word}"


def missing_sections(facts: Facts, target: Target) -> tuple[Unseen, ...]:
    """The essential sections that are missing, and why. Pure.

    Of an environment that was looked at, also in a recorded file: its interpreter, its packages, and torch unless
    nobody asked for it. A torch that is known not to be installed was looked for; one that could not be imported was
    not seen (`torch/import-fails` says what to do about it).

    A pasted report leaves out what it likes, and what it shows may be wrong all the same; only a clean bill needs the
    packages, and a Python where a target was asked for.
    """
    if facts.origin.kind == "image":  # files that cannot be read are refused, and there is nothing else to be seen
        return ()
    pasted = facts.origin.kind == "pasted"
    if pasted:
        return tuple(_of_report(facts, target))
    return (*_of_environment(facts), *_of_gpus(facts, target), *_beyond(facts, target))


def _of_environment(facts: Facts) -> Iterator[Unseen]:
    if isinstance(facts.interpreter, Unavailable):
        yield Unseen(section="interpreter", reason=_why(facts.interpreter), blind=True)
    if isinstance(facts.packages, Unavailable):
        yield Unseen(section="packages", reason=_why(facts.packages), blind=True)
    if isinstance(facts.torch, Unavailable) and not _rightly_absent(facts, facts.torch):
        yield Unseen(section="torch", reason=_why(facts.torch))


def _of_gpus(facts: Facts, target: Target) -> Iterator[Unseen]:
    """GPUs that are to train and of which NVML tells nothing, or what cannot be: throttled or broken, none would show.

    On a Jetson NVML tells little (JetPack 6: a name, "Orin (nvgpu)", and nothing else) or is not there at all:
    https://github.com/ultralytics/ultralytics/pull/20680 https://github.com/rbonghi/jetson_stats/pull/698
    Limits far above any GPU that is sold (https://docs.nvidia.com/deploy/nvml-api/ for the sizes of the texts).
    """
    driver, gpus = known(facts.driver), known(facts.gpus)
    if driver is None or not driver.nvidia_present or hidden_by(facts):
        return
    if on_cpu(target) and (target.asked or not driver.devices or not torch_cuda(facts)):
        return
    if gpus is None:
        if is_board(facts) and (driver.cuinit == 0 or _on_cuda(facts)):
            return  # before JetPack 6 there is no NVML, and where CUDA starts the GPU is there
        yield Unseen(section="the GPU", reason=_why(facts.gpus) if isinstance(facts.gpus, Unavailable) else "")
        return
    count = len(gpus.devices) if gpus.count is None else gpus.count
    if count > len(gpus.devices) or (driver.cuinit == 0 and not gpus.devices):
        yield Unseen(section="the GPU", reason=f"NVML tells of {len(gpus.devices)} of {max(count, 1)}")
    for gpu in gpus.devices:
        if (odd := _impossible(gpu)) is not None:
            yield Unseen(section=f"GPU {gpu.index}", reason=f"NVML says what cannot be: {odd}")


def _impossible(gpu: Gpu) -> str | None:
    # A name that could not be read, or has no end within NVML_DEVICE_NAME_V2_BUFFER_SIZE
    if gpu.name == "unknown" or "\ufffd" in gpu.name or len(gpu.name) >= 96:
        return f"its name is {gpu.name[:40]!a}"
    if gpu.memory is not None and not 0 < gpu.memory < 1 << 43:
        return f"{gpu.memory} bytes of memory"
    if gpu.memory is not None and (gpu.memory_used or 0) > gpu.memory:
        return f"{gpu.memory_used} of {gpu.memory} bytes of memory are used"
    if gpu.power_limit is not None and gpu.power_limit > 10_000:
        return f"a limit of {gpu.power_limit:g} W"
    return None if gpu.temperature is None or gpu.temperature < 200 else f"{gpu.temperature} degrees"


def _beyond(facts: Facts, target: Target) -> Iterator[Unseen]:
    """What envdoctor knows nothing of: other vendors' builds and accelerators, other frameworks, a Python without lock.

    Who named a target asked for its judgement, and hears from `packages/no-stack` where there is none.
    """
    if (build := other_backend(facts)) is not None:
        yield Unseen(section=f"a {build} build of torch", reason="only NVIDIA GPUs and CPUs are judged", word="judged")
    elif target.is_cpu and not target.asked and (accelerator := _other_accelerator(facts)) is not None:
        yield Unseen(section=accelerator, reason="only NVIDIA GPUs and CPUs are judged", word="judged")
    if target.asked:
        return
    if (framework := other_framework(facts)) is not None:
        reason = f"there is no torch here, and only that is judged{framework_needs(facts)}"
        yield Unseen(section=framework, reason=reason, word="judged")
    elif is_board(facts) and _on_cuda(facts):
        return  # its torch comes from whoever makes the board's image: nobody publishes what it could be held against
    elif target.name != "none" and target.choice is None and (target.stacks or not target.is_cpu) and not _blind(facts):
        yield Unseen(section="the packages", reason=target.no_choice or "no lock is for this machine", word="compared")


def _on_cuda(facts: Facts) -> bool:
    torch = known(facts.torch)
    return torch is not None and torch.cuda_available is True


def _blind(facts: Facts) -> bool:
    return isinstance(facts.interpreter, Unavailable) or isinstance(facts.packages, Unavailable)


def _other_accelerator(facts: Facts) -> str | None:
    """An accelerator that somebody rented for training. The graphics of a processor are no reason to doubt."""
    driver = known(facts.driver)
    if driver is None or driver.nvidia_present:
        return None
    return next((name for name in driver.other_accelerators if _TRAINS.search(name)), None)


def _rightly_absent(facts: Facts, torch: Unavailable) -> bool:
    """Did nobody ask for torch, or is it known that there is none? Import and list of packages must agree on it."""
    if torch.why != "absent":
        return torch.why == "not-asked"
    return not isinstance(facts.packages, Unavailable) and facts.packages.version("torch") is None


def _of_report(facts: Facts, target: Target) -> Iterator[Unseen]:
    packages = facts.packages
    if isinstance(packages, Unavailable):
        yield Unseen(section="packages", reason=_why(packages))
    elif not packages.distributions and not packages.conda:
        yield Unseen(section="packages", reason="the report lists none")
    elif (
        isinstance(facts.interpreter, Unavailable)
        and not packages.complete
        and (few := len(packages.distributions) + len(packages.conda)) <= _IN_A_SENTENCE
    ):
        yield Unseen(section="packages", reason=f"the text names {few} of them, and no Python")
    if target.asked and target.choice is None and isinstance(facts.interpreter, Unavailable):
        yield Unseen(section="interpreter", reason=_why(facts.interpreter))


def _why(section: Unavailable) -> str:
    return section.reason or "nothing was said of it"
