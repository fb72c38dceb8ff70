"""Does this torch build run on this machine, and which published build does? Pure arithmetic over the tables.

Four things must hold, and every GPU of a mixed box must pass: the driver runs the build's CUDA line and knows the GPU;
the build has code for the GPU; wheels exist for the Python, the platform and the C library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from envdoctor.knowledge.architectures import code_for, compiler_name
from envdoctor.knowledge.cuda_lines import driver_runs, minimum_driver, newest_cuda
from envdoctor.knowledge.generations import driver_knows, driver_range, generation
from envdoctor.knowledge.numbers import capability, numbers, reaches
from envdoctor.knowledge.torch_builds import Build, published_builds
from envdoctor.values.frozen import frozen

What = Literal["driver", "gpu-driver", "kernels", "python", "platform", "libc"]


@frozen
class Obstacle:
    """One reason why a build does not run. ``needs`` is what would remove it, where one thing would."""

    what: What
    message: str
    needs: str | None = None


@frozen
class StackFit:
    """``ok``: nothing speaks against it. ``unchecked`` names what was not known, so that "ok" is no clean bill."""

    ok: bool
    obstacles: tuple[Obstacle, ...] = ()
    unchecked: tuple[str, ...] = ()


@frozen
class Machine:
    """What decides: versions as their owners print them, None or empty when not known."""

    driver: str | None = None
    driver_cuda: str | None = None  # CUDA version that the driver's library names itself, if it is known
    capabilities: tuple[str, ...] = ()  # of all GPUs that are to be used
    python: str | None = None
    platform: str = "linux-x86_64"  # sysconfig.get_platform()
    libc: str | None = None  # "glibc 2.35"

    @property
    def windows(self) -> bool:
        return self.platform.startswith("win")

    @property
    def machine(self) -> str:
        """``x86_64`` or ``aarch64`` or whatever else the platform names."""
        last = self.platform.replace("-", "_").lower()
        for name, spellings in (("x86_64", ("x86_64", "amd64")), ("aarch64", ("aarch64", "arm64"))):
            if last.endswith(spellings):
                return name
        return last.rpartition("_")[2]


def fits(build: Build, machine: Machine) -> StackFit:
    """Judge one build. A CPU build (``cuda`` "") needs neither driver nor kernels."""
    obstacles: list[Obstacle] = []
    unchecked: list[str] = []
    if build.cuda:
        obstacles += _driver(build, machine, unchecked)
        obstacles += _gpus(build, machine, unchecked)
        if machine.platform.startswith("macosx"):
            obstacles.append(Obstacle(what="platform", message="there are no CUDA builds of torch for macOS"))
    obstacles += _python(build, machine, unchecked)
    obstacles += _libc(build, machine, unchecked)
    return StackFit(ok=not obstacles, obstacles=tuple(obstacles), unchecked=tuple(unchecked))


def _driver(build: Build, machine: Machine, unchecked: list[str]) -> Iterable[Obstacle]:
    runs = driver_runs(build.cuda, driver=machine.driver, driver_cuda=machine.driver_cuda, windows=machine.windows)
    if runs is None:
        unchecked.append("driver")
    elif not runs:
        needed = minimum_driver(build.cuda, windows=machine.windows)
        have = f"driver {machine.driver}" if machine.driver else f"a driver for CUDA {machine.driver_cuda}"
        yield Obstacle(
            what="driver", message=f"CUDA {build.cuda} needs driver {needed} or later, here is {have}", needs=needed
        )


def _gpus(build: Build, machine: Machine, unchecked: list[str]) -> Iterable[Obstacle]:
    if not machine.capabilities:
        unchecked.append("gpu")
    for device in dict.fromkeys(machine.capabilities):
        if not machine.windows and driver_knows(machine.driver, device) is False:
            yield _unknown_to_driver(device, machine.driver or "")
        if not build.kernels:
            unchecked.append("kernels")
        elif not _has_code(build, machine, device):
            built = ", ".join(build.kernels)
            message = f"the build has no code for {compiler_name(device)}, only for {built}"
            yield Obstacle(what="kernels", message=message, needs=compiler_name(device))


def _unknown_to_driver(device: str, driver: str) -> Obstacle:
    first, last = driver_range(device)
    found = generation(device)
    name = f"{found.name} GPUs ({device})" if found else f"GPUs of capability {device}"
    if last is not None and numbers(driver)[0] > last:
        message = f"driver {driver} no longer knows {name}; {last} was the last branch that does"
        return Obstacle(what="gpu-driver", message=message, needs=str(last))
    return Obstacle(what="gpu-driver", message=f"driver {driver} does not know {name} yet", needs=first)


def _has_code(build: Build, machine: Machine, device: str) -> bool:
    """Cubins run. PTX alone counts only if the driver may compile it and the build's CUDA libraries know the GPU.

    A driver compiles no PTX of a newer CUDA version than its own (minor-version compatibility ends there), and the
    cuBLAS and cuDNN of a CUDA line from before the GPU have no kernels for it, whatever torch itself carries.
    Source: https://docs.nvidia.com/deploy/cuda-compatibility/ "Minor Version Compatibility", limitations.
    """
    codes = code_for(build.kernels, device, build.cuda)
    if any(code.kind == "cubin" for code in codes):
        return True
    if not codes or not libraries_know(build.cuda, device):
        return False
    own = machine.driver_cuda or newest_cuda(machine.driver, windows=machine.windows)
    return own is None or reaches(numbers(own)[:2], numbers(build.cuda)[:2])


def libraries_know(cuda: str, device: str) -> bool:
    """Do the CUDA libraries of this line know the GPU's architecture (major version)? Unknown capabilities: no."""
    parsed = capability(device)
    found = generation(device)
    if parsed is None or found is None:
        return False
    return numbers(cuda)[:2] >= numbers(found.first_cuda) and (
        found.last_cuda is None or numbers(cuda)[:2] <= numbers(found.last_cuda)
    )


def _python(build: Build, machine: Machine, unchecked: list[str]) -> Iterable[Obstacle]:
    have = numbers(machine.python)[:2]
    if not have or build.python is None:
        unchecked.append("python")
        return
    first, last = build.python
    if not numbers(first) <= have <= numbers(last):
        message = f"torch {build.torch} has wheels for Python {first} to {last}, here is {machine.python}"
        yield Obstacle(what="python", message=message, needs=last if have > numbers(last) else first)


def _libc(build: Build, machine: Machine, unchecked: list[str]) -> Iterable[Obstacle]:
    if build.glibc is None or not machine.platform.startswith("linux"):
        return
    name, _, version = (machine.libc or "").partition(" ")
    if name == "musl":
        yield Obstacle(what="libc", message="torch has no wheels for musl (Alpine)", needs=f"glibc {build.glibc}")
    elif name != "glibc" or not numbers(version):
        unchecked.append("libc")
    elif numbers(version)[:2] < numbers(build.glibc):
        message = f"torch {build.name} needs glibc {build.glibc} or later, here is {version}"
        yield Obstacle(what="libc", message=message, needs=f"glibc {build.glibc}")


@frozen
class Best:
    """The published build for a machine, or none and why not; the reason is one sentence."""

    build: Build | None
    reason: str


def best_build(machine: Machine, *, torch: str | None = None) -> Best:
    """The newest published CUDA build that runs on every GPU of the machine; only those of release ``torch``, if given.

    Within a release the newest stable CUDA line comes first, experimental lines last.
    """
    wanted = numbers(torch)[:2]
    rejected: list[tuple[Build, StackFit]] = []
    for build in published_builds(machine=machine.machine, windows=machine.windows):
        if wanted and numbers(build.torch) != wanted:
            continue
        fit = fits(build, machine)
        if fit.ok:
            reason = f"torch {build.name} is the newest published build that runs here"
            return Best(build=build, reason=reason)
        rejected.append((build, fit))
    return Best(build=None, reason=_why_none(machine, rejected))


def _why_none(machine: Machine, rejected: Sequence[tuple[Build, StackFit]]) -> str:
    """The obstacle that no build escapes, else the two that between them leave nothing."""
    if not rejected:
        return f"there are no CUDA builds of torch for {machine.platform}"
    whats = [{obstacle.what for obstacle in fit.obstacles} for _, fit in rejected]
    common = set.intersection(*whats)
    order: tuple[What, ...] = ("platform", "gpu-driver", "python", "libc", "kernels", "driver")
    for what in order:
        if what in common:
            return _no_code(machine, rejected) if what == "kernels" else _first(rejected[0][1], what).message
    fewest = min(rejected, key=lambda pair: len(pair[1].obstacles))
    parts = "; ".join(obstacle.message for obstacle in fewest[1].obstacles)
    devices = " and ".join(dict.fromkeys(machine.capabilities)) or "this machine"
    return f"no published build serves {devices} here; the nearest, torch {fewest[0].name}, fails: {parts}"


def _no_code(machine: Machine, rejected: Sequence[tuple[Build, StackFit]]) -> str:
    for device in dict.fromkeys(machine.capabilities):
        if not any(_has_code(build, machine, device) for build, _ in rejected):
            return f"no build of torch {_oldest(rejected)} or later has code for {compiler_name(device)}"
    return f"no published build serves {' and '.join(dict.fromkeys(machine.capabilities))} together"


def _oldest(rejected: Sequence[tuple[Build, StackFit]]) -> str:
    return min((build.torch for build, _ in rejected), key=numbers)


def _first(fit: StackFit, what: What) -> Obstacle:
    return next(obstacle for obstacle in fit.obstacles if obstacle.what == what)
