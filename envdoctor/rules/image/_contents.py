"""What is in an image, as the facts of an environment: so that the rules for environments judge it, and no others.

A stage is followed command by command. What cannot be read off the file (a requirements file, a variable without a
value) is not known, and nobody is accused of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from envdoctor.facts.images.dockerfile import Dockerfile, Stage
from envdoctor.facts.model import Origin
from envdoctor.knowledge.base_images import Base, base
from envdoctor.knowledge.features import python_of, with_features
from envdoctor.knowledge.questions import never_built_for, release_of, versions
from envdoctor.knowledge.torch_builds import Build, build_of
from envdoctor.rules.image._installs import Install, RequestedPackage, installs
from envdoctor.rules.rule import Distribution, Driver, Facts, Gpu, Gpus, Interpreter, Packages, Target, known
from envdoctor.values.frozen import frozen

TORCH = ("torch", "pytorch")


@frozen
class ImageTorch:
    """A torch that comes into the image: by the base, or by a command."""

    version: str  # "2.6.0"; "" where any release will do
    label: str | None  # "cu124", "cpu"; None: the default build
    line: int
    install: Install | None = None  # None: the base brings it
    wanted: RequestedPackage | None = None

    @property
    def full(self) -> str:
        return f"{self.version}+{self.label}" if self.label else self.version

    @property
    def cuda(self) -> str | None:
        """Its CUDA line; "" for the CPU, None where no table has the release."""
        if self.label is not None:
            return "" if not self.label.startswith("cu") else f"{self.label[2:-1]}.{self.label[-1]}"
        release = release_of(self.version)
        return release.default if release else None

    @property
    def lines(self) -> tuple[str, ...]:
        """The CUDA lines that its release was built for; none where no table has the release."""
        release = release_of(self.version) if self.version else None
        return tuple(release.lines) if release else ()

    @property
    def nearest_line(self) -> str | None:
        """Where no torch was ever built for its CUDA line: the nearest one that there are builds for."""
        return never_built_for(self.cuda) if self.cuda and not self.version else None

    @property
    def build(self) -> Build | None:
        return build_of(self.version, self.cuda) if self.version and self.cuda is not None else None


@frozen
class Contents:
    """One stage with what it goes on from: its base, its Python, and its installing commands in order."""

    file: Dockerfile
    stage: Stage
    base: Base | None
    python: str | None
    installs: tuple[Install, ...]
    torches: tuple[ImageTorch, ...]
    pins: Mapping[str, RequestedPackage] = field(default_factory=dict)  # the last exact version of each package

    @property
    def torch(self) -> ImageTorch | None:
        """The torch that is there at the end."""
        return self.torches[-1] if self.torches else None

    @property
    def is_for_gpus(self) -> bool:
        """Is anything in it that trains or serves on GPUs?"""
        return self.torch is not None or any(install.is_heavy for install in self.installs)

    def comes_later(self, torch: ImageTorch, install: Install) -> bool:
        """Is this torch brought after that command, which need not stand above it?"""
        order = [id(each) for each in self.installs]
        return torch.install is not None and order.index(id(torch.install)) > order.index(id(install))


def contents(file: Dockerfile, stage: Stage) -> Contents:
    """What a stage holds at its end."""
    chain = file.chain(stage)
    plain, features = base(chain[0].base.text), chain[0].features
    from_ = with_features(plain, features)
    commands = tuple(found for each in chain for found in installs(each))
    torches = list(_of_base(from_, chain[0].base.line))
    pins: dict[str, RequestedPackage] = {}
    for install in commands:
        for wanted in install.wanted if install.tool in ("pip", "uv", "conda") else ():
            if wanted.name in TORCH and not wanted.source:
                torches.append(_torch(install, wanted))
            if wanted.version:
                pins["torch" if wanted.name == "pytorch" else wanted.name] = _with_label(install, wanted)
    return Contents(
        file=file,
        stage=stage,
        base=from_,
        python=_python(python_of(plain, features), chain, commands),
        installs=commands,
        torches=tuple(torches),
        pins=pins,
    )


def every(file: Dockerfile) -> Iterator[Contents]:
    """The contents of each stage that is in the image or gives to it; what another stage goes on from is seen there."""
    used = file.used
    parents = {stage.parent for stage in used}
    yield from (contents(file, stage) for stage in used if stage.number not in parents)


def _of_base(from_: Base | None, line: int) -> Iterator[ImageTorch]:
    if from_ is not None and from_.torch:
        version, _, label = from_.torch.partition("+")
        yield ImageTorch(version=version, label=label, line=line)


def _torch(install: Install, wanted: RequestedPackage) -> ImageTorch:
    label = versions.label(wanted.version) or install.torch_line
    if install.tool == "conda":
        label = _conda_label(install)
    return ImageTorch(
        version=versions.public(wanted.version) if wanted.version else "",
        label=label,
        line=wanted.line,
        install=install,
        wanted=wanted,
    )


def _with_label(install: Install, wanted: RequestedPackage) -> RequestedPackage:
    """torchvision and torchaudio come from the same index as torch, whose builds all have its label."""
    line = install.torch_line
    if wanted.name not in ("torchvision", "torchaudio") or line is None or "+" in wanted.version:
        return wanted
    return replace(wanted, version=f"{wanted.version}+{line}")


def _conda_label(install: Install) -> str | None:
    """conda picks a CPU build where ``cpuonly`` is asked for, and the CUDA line that ``pytorch-cuda`` names."""
    for wanted in install.wanted:
        if wanted.name == "cpuonly":
            return "cpu"
        if wanted.name in ("pytorch-cuda", "cudatoolkit", "cuda-version") and wanted.version:
            return "cu" + "".join(wanted.version.split(".")[:2])
    return None


def _python(there: str | None, chain: tuple[Stage, ...], commands: tuple[Install, ...]) -> str | None:
    """The Python that packages are installed for: that which is there, unless uv or conda bring another."""
    for stage in reversed(chain):
        for instruction in stage.instructions:
            for command in instruction.commands:
                if command.program == "uv" and "venv" in command.texts and (found := _option(command.texts)):
                    return found
    for install in reversed(commands):
        for wanted in install.wanted if install.tool == "conda" else ():
            if wanted.name == "python" and wanted.version:
                return wanted.version
        for wanted in install.wanted if install.tool == "apt" else ():
            if wanted.name.startswith("python3.") and wanted.name[8:].isdigit():
                return wanted.name[6:]
    return there


def _option(words: tuple[str, ...]) -> str | None:
    for number, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in ("--python", "-p"):
            value = value or (words[number + 1] if number + 1 < len(words) else "")
            return value if value.replace(".", "").isdigit() else None
    return None


def as_facts(facts: Facts, target: Target, held: Contents) -> Facts:
    """The contents as an environment whose list of packages is not complete, on the machine that they are for."""
    found = {name: wanted.version for name, wanted in held.pins.items()}
    if held.torch is not None and held.torch.version:
        found["torch"] = held.torch.full
    driver, gpus = known(facts.driver), known(facts.gpus)
    if target.capability and not (gpus and gpus.devices):
        gpus = Gpus(devices=(Gpu(index=0, name=target.gpu_names[0], capability=target.capability),))
    return Facts(
        origin=Origin(kind="pasted"),
        interpreter=Interpreter(version=held.python) if held.python else facts.interpreter,
        packages=Packages(
            distributions=tuple(Distribution(name=name, version=version) for name, version in found.items()),
            complete=False,
        ),
        driver=driver if driver is not None else Driver(),
        gpus=gpus if gpus is not None else Gpus(),
    )
