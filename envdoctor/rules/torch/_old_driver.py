"""What is said of a driver that cannot run torch's CUDA, and what helps."""

from __future__ import annotations

from typing import NamedTuple

from envdoctor.knowledge import questions
from envdoctor.rules.rule import Facts, Match, Pattern, Pin, Remedy, Target, known, remedies

_ALSO_WITHOUT = Pattern(r"(?i)driver version is insufficient")
"""CUDA's error 35, which the runtime gives where there is no driver at all as well."""


_OF_CUDA = Pattern(r"(?i)cuda|gpu|nvidia|driver|device")
_EXCEPTION = Pattern(r"^[A-Za-z_][\w.]{0,60}(?:Error|Exception)\b ?:")


def is_said_in_passing(facts: Facts, line: str) -> bool:
    """Did torch only warn of it, and go on without the GPU to an error that has nothing to do with one?"""
    ended = [text for text in facts.messages if _EXCEPTION.match(text)]
    return "Warning" in line and bool(ended) and not any(map(_OF_CUDA.search, ended))


def may_run(facts: Facts, cuda: str | None) -> bool:
    """Is nothing known against it, by what torch says or by the versions?"""
    torch, windows = known(facts.torch), questions.machine_of(facts).windows
    driver, offered = questions.driver_version(facts), questions.driver_cuda(facts)
    runs = questions.driver_runs(cuda, driver=driver, driver_cuda=offered, windows=windows)
    return bool(torch is not None and torch.cuda_available) or runs is not False


class OldDriver(NamedTuple):
    """What is there, what is needed, and what helps."""

    have: str
    need: str
    message: str
    fix: Remedy
    repair: tuple[Pin, ...]
    title: str = ""
    usually: str = ""


def old_driver(facts: Facts, target: Target, said: Match[str] | None, cuda: str | None) -> OldDriver:
    """By the error, or by the versions alone; ``cuda`` is torch's, where that is known."""
    driver, offered = questions.driver_version(facts), questions.driver_cuda(facts)
    needed = cuda or _next_major(offered)
    windows = questions.machine_of(facts).windows
    minimum = questions.minimum_driver(needed, windows=windows) if needed else None
    need = f"{minimum} or later" if minimum else "a driver that runs torch's CUDA"
    have = (f"driver {driver}" if driver else "this driver") + (f" (CUDA {offered})" if offered else "")
    built = f"torch is built for CUDA {cuda}" if cuda else "torch is built for a newer CUDA"
    if cuda and questions.line_is_guessed(facts):
        built += " (where its wheel is PyPI's)"
    renting = f" {questions.for_cuda(needed)}" if questions.driver_owner(facts) == "host" and needed else ""
    update = f"a driver of at least {minimum}" if minimum else "a newer driver"
    unknown = driver is None and offered is None
    locked = remedies.locked_pins(target, known(facts.packages), "torch", "torchvision", "torchaudio")
    if said is not None and _ALSO_WITHOUT.search(said[0]) and (cuda is None or unknown):
        built = built if cuda else "What was started needs a driver for the CUDA that it is built for"
        old = f": {have} is too old for that, or it {_NOT_REACHED}" if not unknown else f", and the NVIDIA {_OR_NONE}"
        fix = remedies.choose(target, locked, _SEE_IN_PLACE.format(update) + renting, "nvidia-smi")
        return OldDriver("unknown", need, f'{built}{old}: "{said[0]}".', fix, locked, _OPEN)
    if said is not None and cuda and driver and questions.driver_runs(cuda, driver=driver, windows=windows):
        message = f'"{said[0]}", although by its number {have} runs CUDA {cuda}, for which torch is built.'
        return OldDriver(driver, "the library of that driver", message, _ASK_BOTH, (), _REFUSED, _ANOTHER_LIBRARY)
    why = f": it needs {minimum} or later." if minimum else "; the error says so itself."
    message = f"{built}, which {have} cannot run{why}" + (f' ("{said[0]}")' if said and not cuda else "")
    title = ""
    if said is not None and questions.messages.is_told(said.string) and unknown:
        title = "A driver that is too old is told of"
        message = f'The text tells of a driver that is too old, which no program says in it ("{said[0]}").'
    text, command = f"Take a torch build that this driver runs; or get {update}.{renting}", _by_hand(facts)
    newer = any(questions.numbers(each) >= _AFTER_FERMI for each in questions.machine_of(facts).capabilities)
    if not newer and (last := _last_cards(driver)):
        message += f" Drivers of that number are the last for {last}: {_NOTHING_SERVES}."
        text, command = _SEE_WHICH_CARD.format(update), "nvidia-smi"
    fix = remedies.choose(target, locked, text, command)
    return OldDriver(have.removeprefix("driver "), need, message, fix, locked, title)


_REFUSED = "CUDA refuses a driver that should do by its number"
_ANOTHER_LIBRARY = (
    "what answers is another libcuda than the driver's (a compat folder, a stub or an image's own copy that is found "
    "first), the driver was updated without a restart, or the number is another machine's"
)
_ASK_BOTH = Remedy(
    text="Compare the driver that the kernel has loaded with the library that programs find, in the same place; put "
    "the driver's own first, and restart after an update.",
    commands=("cat /proc/driver/nvidia/version", "ldconfig -p | grep libcuda", "env | grep LD_LIBRARY_PATH"),
)
_OPEN = "CUDA met no driver that it can run with"
_NOT_REACHED = "is not reached from here (a container without the GPU, libraries of another driver)"
_OR_NONE = "driver is too old for that, or none is reached"
_SEE_IN_PLACE = (
    "See what nvidia-smi says in the same place; a container is started with --gpus all. If it lists a driver: get {}, "
    "or a build for an earlier CUDA. Without an NVIDIA GPU no CUDA build can run: train on the CPU."
)
_NOTHING_SERVES = "where the card is one of these, no newer driver and no torch of today serves it"
_SEE_WHICH_CARD = (
    "See which card it is. For such a one no update helps: compute on the CPU, or take another card or a rented one. A "
    "newer card gets {}."
)
_AFTER_FERMI = (3, 0)
_LAST = {
    **dict.fromkeys((340, 341, 342), "cards of 2006 to 2010 (GeForce 8 to 300, compute capability 1.x)"),
    **dict.fromkeys((390, 391), "Fermi (GeForce 400 and 500, compute capability 2.x)"),
}
"""By the driver's branch: for which cards there is none after it (NVIDIA's page of legacy GPUs)."""


def _last_cards(driver: str | None) -> str:
    branch = questions.numbers(driver)[:1] if driver else ()
    return _LAST.get(branch[0], "") if branch else ""


def _next_major(offered: str | None) -> str | None:
    """Without torch's own word: the driver refused, so torch is of a later major version than the driver's CUDA."""
    parts = questions.numbers(offered)
    return f"{parts[0] + 1}.0" if parts and parts[0] >= 11 else None


def _by_hand(facts: Facts) -> str:
    packages, machine = known(facts.packages), questions.machine_of(facts)
    if questions.driver_version(facts) is None and questions.driver_cuda(facts) is None:
        return remedies.torch_family(packages, "auto", "torch")  # uv asks the driver; nobody else did
    same = questions.best_build(machine, torch=questions.torch_version(facts)).build
    build = same or questions.best_build(machine).build
    if build is None:
        return remedies.torch_family(packages, "auto", "torch")
    return remedies.torch_family(packages, build.label, f"torch=={build.torch}.*")
