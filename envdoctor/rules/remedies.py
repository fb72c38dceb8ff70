"""Remedies that several rules share: what `envdoctor fix` repairs is named the same way everywhere."""

from __future__ import annotations

import re

from envdoctor.facts.model import Facts, Packages
from envdoctor.facts.need import known
from envdoctor.knowledge import versions
from envdoctor.locks.stack import by_name
from envdoctor.locks.target import Target
from envdoctor.rules.finding import Pin, PinnedRemedy, Remedy
from envdoctor.values import shell
from envdoctor.values.pattern import Pattern

FOR_JETSON = (
    "Install NVIDIA's own torch wheel for this JetPack (5: Python 3.8; 6: Python 3.10), or take one of its "
    "containers: the registry's wheels for aarch64 hold nothing for it. Where torch is NVIDIA's already: torchvision "
    "and what else is compiled for torch comes from that index, too, or is built here from the sources of its release "
    "(--no-build-isolation --no-deps). JetPack 7 runs torch for CUDA 13.2 from PyTorch's index."
)

WITH_ZLUDA = (
    "ZLUDA runs one build of torch for CUDA, which the program's own script installs and whose libraries it replaces; "
    "another build, or a newer torch, does not go with it. Update the program and run its own script of installation "
    "or update again, which brings the torch that goes with it; where the card needs an old torch, take the release of "
    "the program (or of its extension) of that torch's time."
)

TAKES_TORCH_WHEELS = Pattern(
    r"--torch-backend"
    r"|pip install .*['\" ](?:torch|torchvision|torchaudio|xformers|triton|vllm|onnxruntime-gpu)(?![\w-])"
)
"""Commands that take a wheel for a machine with a driver of its own."""

WITH_JAX = (
    " Or upgrade what asks together with jax and jaxlib (chex, optax, flax, dm-haiku and distrax go by its releases: "
    "all of them in one command); where the project pins one of them, take the jax of that release's time."
)
"""Of what jax dropped, and libraries around it still ask for."""

TORCH_FAMILY = frozenset({"torch", "torchvision", "torchaudio"})
_LAST_WITH_TORCHAUDIO = 130
"""torchaudio 2.11, the last one bound to a line of CUDA, was built for lines up to 13.0 and serves every later torch:
asked of a later line's index it may not be found, and nothing would be installed."""


_ON_WINDOWS = (
    (
        Pattern(
            r" \((?:Linux: )?(?:ls -d |echo )?[^()]{0,60}(?:/usr/l|\bldconfig\b|Linux: LD_LIBRARY_PATH)[^()]{0,80}\)"
        ),
        "",
    ),
    (Pattern(r"LD_LIBRARY_PATH \((?:on )?Windows:? PATH\)"), "PATH"),
    (
        Pattern(r"\b([Ss])tart(?: the job| it| once)? without LD_LIBRARY_PATH"),
        r"\1tart with a PATH that holds no other CUDA's folder",
    ),
    (Pattern(r"without LD_LIBRARY_PATH"), "with a PATH that holds no other CUDA's folder"),
    (Pattern(r"\bUnset LD_LIBRARY_PATH"), "Take other CUDA's folders out of PATH"),
    (Pattern(r"\bunset LD_LIBRARY_PATH"), "take other CUDA's folders out of PATH"),
    (Pattern(r"LD_LIBRARY_PATH=\S{1,60}"), "PATH"),
    (Pattern(r"LD_LIBRARY_PATH"), "PATH"),
    (Pattern(r"~/\.cache/torch_extensions"), r"%LOCALAPPDATA%\\torch_extensions"),
    (
        Pattern(r",? or the container's image is one for running only|; in a container take an image with [^.;]{1,40}"),
        "",
    ),
)
"""What a remedy for Linux says, and how Windows has it."""


def on_windows(text: str) -> str:
    """The sentence for a Windows machine, whose loader and shell have other names for the same things."""
    for pattern, words in _ON_WINDOWS:
        text = pattern.sub(words, text)
    return text


def repair(target: Target, text: str, *by_hand: str, instead: tuple[str, ...] = ()) -> Remedy:
    """`envdoctor fix` for this target; the commands by hand, and those in place of them, where there is no stack to
    repair from."""
    if target.choice is not None and not target.choice.only_compared:
        return Remedy(text=text, commands=(_fix(target),))
    return Remedy(text=text, commands=tuple(filter(None, by_hand)), instead=tuple(filter(None, instead)))


def locked_pins(target: Target, packages: Packages | None, *names: str) -> tuple[Pin, ...]:
    """Pins of those packages that the stack locks at another version than the installed one."""
    pins = by_name(target.choice.pins) if target.choice else {}
    return tuple(
        Pin(name=name, version=pins[name].version)
        for name in names
        if name in pins and not versions.same((packages.version(name) if packages else None) or "", pins[name].version)
    )


def torch_pin(target: Target, *, cuda: bool = False) -> tuple[Pin, ...]:
    """The torch that the stack locks; none where it must be one for CUDA and the stack is not."""
    if cuda and not (target.choice and target.choice.cuda):
        return ()
    return _pin_of(target, "torch")


def _pin_of(target: Target, name: str) -> tuple[Pin, ...]:
    """What the stack locks of a package, whatever is installed of it."""
    pin = target.pin(name)
    return (Pin(name=name, version=pin.version),) if pin else ()


def choose(target: Target, repair_: tuple[Pin, ...], text: str, *by_hand: str, instead: tuple[str, ...] = ()) -> Remedy:
    """`envdoctor fix` where it repairs this, else the commands by hand, and those in place of them."""
    if repair_:
        return repair(target, text, *by_hand, instead=instead)
    return Remedy(text=text, commands=tuple(filter(None, by_hand)), instead=tuple(filter(None, instead)))


def from_lock(
    facts: Facts, target: Target, names: str | tuple[str, ...], text: str, *by_hand: str, instead: tuple[str, ...] = ()
) -> PinnedRemedy:
    """`envdoctor fix` where the stack locks these packages at other versions than the installed ones, else the commands
    by hand, and those in place of them."""
    pins = locked_pins(target, known(facts.packages), *((names,) if isinstance(names, str) else names))
    return PinnedRemedy(remedy=choose(target, pins, text, *by_hand, instead=instead), pins=pins)


def by_hand(facts: Facts, target: Target, name: str, text: str, *commands: str) -> PinnedRemedy:
    """These commands, also where `envdoctor fix` would bring the package to the stack's version: they do more."""
    pins = locked_pins(target, known(facts.packages), name)
    return PinnedRemedy(remedy=Remedy(text=text, commands=tuple(filter(None, commands))), pins=pins)


def anew(target: Target, name: str, text: str, *by_hand: str) -> PinnedRemedy:
    """`envdoctor fix` where the stack locks the package, whatever is installed of it, else the commands by hand."""
    pins = _pin_of(target, name)
    return PinnedRemedy(remedy=choose(target, pins, text, *by_hand), pins=pins)


def setting(target: Target, text: str, *by_hand: str) -> Remedy:
    """`envdoctor fix` for a flag or variable, which it sets at start-up; or how to set it by hand."""
    own = tuple(filter(None, by_hand))
    if target.name == "none":
        return Remedy(text=text, commands=own)
    return Remedy(text=text, commands=(_fix(target),), instead=own)


def _fix(target: Target) -> str:
    return f"envdoctor fix --target {shell.word(target.name)}"


def install(*requirements: str, options: str = "") -> str:
    """One command line for exact requirements, quoted for the shell; "" where one of them is no requirement.

    Torch builds with a local label come from torch's own indexes, which uv knows by the name of the backend
    (https://docs.astral.sh/uv/guides/integration/pytorch/).
    """
    tail = f" {options}" if options else ""
    for requirement in requirements:
        name, _, version = requirement.partition("==")
        backend = versions.label(version) or ""
        if name in TORCH_FAMILY and re.fullmatch(r"cpu|cu\d{3}", backend):
            return _with_tail(shell.with_requirements(f"uv pip install --torch-backend={backend}", *requirements), tail)
    return _with_tail(shell.with_requirements("python -m pip install", *requirements), tail)


def torch_family(packages: Packages | None, backend: str, *requirements: str, anew: bool = True) -> str:
    """The command for another torch together with its mates: alone it would stand beside those of the old one.

    The solver takes the torchvision, torchaudio and xformers that were made for it, which a bare name leaves open.
    Where a list of packages is not whole, torchvision and torchaudio are taken to be there.
    """
    asked = {re.split(r"[<>=!~]", requirement, maxsplit=1)[0] for requirement in requirements}
    seen = {d.name for d in packages.distributions} if packages else set()
    if packages is None or not packages.complete:
        seen |= TORCH_FAMILY
    line = re.fullmatch(r"cu(\d{3})", backend)
    if line and int(line[1]) > _LAST_WITH_TORCHAUDIO:
        seen -= {"torchaudio"}
    mates = [name for name in ("torch", "torchvision", "torchaudio", "xformers") if name in seen | asked]
    options = "".join(f" --reinstall-package {name}" for name in mates) if anew else ""
    return shell.with_requirements(
        f"uv pip install --torch-backend={backend}{options}",
        *requirements,
        *(name for name in mates if name not in asked),
    )


def install_releases(package: str, use: str, facts: Facts | None = None) -> str:
    """The command for some releases of a package; "" for Python itself, which no package installer brings.

    torchvision and torchaudio bring the torch of their time along, which must come from the index of its CUDA.
    """
    if package in TORCH_FAMILY:
        return torch_family(known(facts.packages) if facts else None, "auto", use, anew=False)
    if package == "jax" and use:  # which asks for no jaxlib of its own: that comes by an extra
        bound = re.search(r"<=?[\d.]+", use)
        return install(use, f"jaxlib{bound[0] if bound else ''}", options="--upgrade")
    return install(use) if package != "python" and use else ""


_UPDATES = {"pacman": "sudo pacman -Syu", "zypper": "sudo zypper update", "dnf": "sudo dnf upgrade"}


def beside_distribution(remedy: Remedy, tool: str) -> Remedy:
    """The remedy for packages that a distribution's tool installed."""
    update = _UPDATES.get(tool, f"sudo {tool} upgrade")
    text = (
        f"{remedy.text} By the text the distribution brought them ({tool}), whose Python pip must not change: take its "
        f"own update of both ({update}) or its earlier package of the newer one; else make a virtual environment, and "
        "install all of it there."
    )
    return Remedy(text=text, commands=("python3 -m venv .venv", ". .venv/bin/activate", *remedy.commands))


def install_anew(name: str, version: str, options: str) -> str:
    """The command to install the same release once more, torch and its mates from the index they came from."""
    label = versions.label(version) or ""
    if name in TORCH_FAMILY:
        backend = label if re.fullmatch(r"cpu|cu\d{3}", label) else "auto"
        head = f"uv pip install --torch-backend={backend} --reinstall-package {name} --no-deps"
        return shell.with_requirements(head, f"{name}=={versions.public(version)}")
    return again(f"{name}=={versions.public(version)}", options)


def _with_tail(command: str, tail: str) -> str:
    return command and command + tail


def again(requirement: str, options: str) -> str:
    """pip's command to install this once more with these options; "" where it is no requirement."""
    return shell.with_requirements(f"python -m pip install --force-reinstall {options}".rstrip(), requirement)


def cuda_home(line: str) -> str:
    """The command that points compilers to the toolkit of this line of CUDA."""
    return f"export CUDA_HOME={shell.word(f'/usr/local/cuda-{line}')}"


def upgrade(*names: str) -> str:
    """pip's command to upgrade distributions; "" where one is no name."""
    return shell.with_names("python -m pip install --upgrade", *names)


def uninstall(*names: str) -> str:
    """pip's command to remove distributions; "" where one is no name."""
    return shell.with_names("python -m pip uninstall -y", *names)
