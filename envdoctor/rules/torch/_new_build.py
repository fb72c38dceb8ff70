"""What helps where what runs holds no code for the GPU: another build of torch, or of what was compiled for it."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.knowledge.questions import (
    best_build,
    capability,
    circumstances,
    extensions,
    fits,
    machine_of,
    numbers,
    torch_version,
)
from envdoctor.knowledge.solver import Machine, libraries_know
from envdoctor.knowledge.torch_builds import Build, build_of, release_of
from envdoctor.rules.rule import Facts, known, remedies
from envdoctor.rules.torch import _gpu_code
from envdoctor.rules.torch import _kernel_error as error

_LISTS = "python -c 'import torch; print(torch.version.cuda, torch.cuda.get_arch_list())'"
_AT_HOME = "--no-deps --no-cache-dir --no-build-isolation --no-binary :all:"


def advice(facts: Facts, number: str | None, extension: str | None, *, vague: bool, either: bool) -> tuple[str, ...]:
    """What to do, and the commands for it. ``vague``: the code that is missing need not be torch's own."""
    other = error.other_than_torch(facts)
    if (image := circumstances.ENGINE_IMAGE.found(facts)) and (number is None or (capability(number) or ()) >= (10,)):
        return _NEWER_IMAGE.format(image["image"]), _ASK_IMAGE.format(image[0])
    if extension:
        return _of_extension(extension)
    if number is None and other:
        return _of_library(other)
    if vague and circumstances.FIXED_ARCHITECTURE.stands(facts):
        return _BUILD_SCRIPTS
    return _of_unnamed_gpu(facts) if number is None else _of_gpu(facts, number, either=either)


_NEWER_IMAGE = (
    "Take a newer tag of {}, one of CUDA 12.8 or later whose kernels are built for this GPU too (sm_120 for RTX 50 and "
    "RTX PRO Blackwell: vLLM's have them from about 0.9.1 on), and pull it anew: a tag such as latest stays what it "
    "was when it was pulled. No torch that is installed beside it changes what the image holds, and another torch "
    "within it does not fit the engine's own kernels. Where no image has them, build it from its Dockerfile with "
    "TORCH_CUDA_ARCH_LIST set to the GPU's compute capability."
)
_ASK_IMAGE = (
    "docker run --rm --entrypoint python3 {} -c 'import torch; print(torch.version.cuda, torch.cuda.get_arch_list())'"
)


def _of_extension(name: str) -> tuple[str, ...]:
    text = f"Install a release of {name} that covers the GPU, or compile it here, on this GPU and for this torch."
    built = name in extensions.BUILT_AT_HOME
    return text, remedies.again(name, _AT_HOME) if built else remedies.upgrade(name)


def _of_library(name: str) -> tuple[str, ...]:
    return (
        f"Install a release of {name} whose build covers the GPU, or build it with this GPU's architecture: "
        "Blackwell (RTX 50, B200) needs one for CUDA 12.8 or later, builds for CUDA 13 begin at the RTX 20.",
    )


_BUILD_SCRIPTS = (
    "Take the GPU's real compute capability (a name may stand for two generations: a TITAN X is 5.2 or 6.1), set it in "
    "every build script of the project that names one (grep -rnE 'sm_|arch=' finds setup.py, Makefiles, make.sh, "
    "CMakeLists.txt; each extension has its own), delete what was built before (folders build, *.o, *.so) and build "
    "all of them anew, with a CUDA toolkit that knows the GPU.",
    "python -c 'import torch; print(torch.cuda.get_device_capability())'",
)


def _of_unnamed_gpu(facts: Facts) -> tuple[str, ...]:
    """Of no GPU that the text tells: the same release would hold no more code than the one that is there."""
    told: tuple[str, ...] = (_COVERS, _for_the_one_gpu(facts))
    if circumstances.NEWER_TORCH.stands(facts):
        told = (_TRIED_NEWER, _LISTS, "python -m pip list")
    if not error.is_torchs(facts):
        told = (_OF_PROGRAM,)
    if compiled := error.extension_built_at_home(facts):
        first = f"Try it without {compiled}: where it works, compile {compiled} anew, on this GPU. Where not: {told[0]}"
        return first, remedies.again(compiled, _AT_HOME), *told[1:]
    return told


def _for_the_one_gpu(facts: Facts) -> str:
    """The command for torch: uv asks the driver alone, whose newest line may hold no code for an old GPU."""
    devices, machine = _gpu_code.devices_of(facts), machine_of(facts)
    if len(devices) == 1:
        machine = replace(machine, capabilities=tuple(devices))
        if (build := best_build(machine).build) is not None:
            return _build_for(facts, machine, build)
    return remedies.torch_family(known(facts.packages), "auto", "torch")


_COVERS = (
    "Install a build that covers the GPU: Blackwell (RTX 50, B200) needs one for CUDA 12.8 or later, Volta and older "
    "GPUs one for 12.6 or before; what is older than the GTX 900 and 750 (Kepler: GT 710, GTX 600, K40, K80) has none "
    "of today: there take the processor, the program's DirectML or Vulkan way, or another GPU. What was compiled for "
    "the old torch is installed again with it; where torch holds code for the GPU, an extension that was built here is "
    "built again with the GPU's number in TORCH_CUDA_ARCH_LIST (5.2, say). Where an image brings what fails, change "
    "the image or its Dockerfile, not the Python outside of it."
)
_OF_PROGRAM = (
    "Install a build of the program that covers the GPU, or build it with this GPU's architecture: Blackwell (RTX 50, "
    "B200) needs CUDA 12.8 or later, Volta and older GPUs 12.9 or before."
)
_TRIED_NEWER = (
    "A newer torch was installed already, by the text. See whether the Python that fails is the one which has it "
    "(below: its list must hold the GPU's architecture, sm_120 for RTX 50); a package that was installed after it may "
    "have brought the old one back. What is compiled for one torch (vLLM, xformers, flash-attn, torchvision) must be "
    "of a release for that very torch, and none is for a nightly: take a fresh environment, let vLLM 0.9 or later "
    "bring the torch that it is built for (its wheels are for CUDA 12.8 and later), and install the rest beside that."
)


def _of_gpu(facts: Facts, number: str, *, either: bool) -> tuple[str, ...]:
    machine, version, wanted = machine_of(facts), torch_version(facts), error.architecture(number)
    if number not in machine.capabilities:  # whatever else is in the machine
        machine = replace(machine, capabilities=(*machine.capabilities, number))
    same, newest = best_build(machine, torch=version).build if version else None, best_build(machine)
    build = same or newest.build
    if build is None and machine.python and (later := best_build(replace(machine, python=None)).build):
        return _in_a_newer_python(facts, machine, later, wanted)
    if build is None or not fits(build, machine).ok:
        return (
            f"None of the torch builds that are known serves this machine: {newest.reason}. Use another GPU or the "
            "processor, or build it from source with a CUDA that knows the GPU.",
        )
    install = _build_for(facts, machine, build)
    if either:
        return (
            f"See whether torch.cuda.get_arch_list() has {wanted}. If not, install a build that covers it; if so, "
            "it is an extension that was compiled for other GPUs (the traceback may end later than it failed: "
            "CUDA_LAUNCH_BLOCKING=1 shows where): empty its cache (~/.cache/torch_extensions, its folder build) "
            f"and compile it anew on this GPU, with TORCH_CUDA_ARCH_LIST={number}.",
            _LISTS,
            install,
        )
    if circumstances.NEWER_TORCH.stands(facts):
        return (
            f"By the text a torch that has {wanted} was installed: then it is another one than the program runs "
            "with, which often has a Python of its own (venv, python_embeded, runtime). Install it with that very "
            "Python (its python -m pip), and ask that one for torch.cuda.get_arch_list(). Install a build that covers "
            f"{wanted}.",
            install,
        )
    if machine.python is None and _is_of_older_pythons(version, build):
        return _in_a_newer_python(facts, machine, build, wanted)
    return f"Install a build that covers {wanted}, and then anew what was compiled for the old one.", install


def _is_of_older_pythons(version: str | None, build: Build) -> bool:
    """Was this torch for Pythons of which none runs the build? Of a release before the table's first that is so."""
    release = release_of(version) if version else None
    ended = release.python[1] if release else "3.6"
    return version is not None and build.python is not None and numbers(ended) < numbers(build.python[0])


def _in_a_newer_python(facts: Facts, machine: Machine, build: Build, wanted: str) -> tuple[str, ...]:
    first, last = build.python or ("3.11", "3.13")
    here = f", and this one is {machine.python}" if machine.python else ""
    text = (
        f"Make an environment with a newer Python and install a build that covers {wanted} there: torch {build.torch} "
        f"has wheels for Python {first} to {last}{here}. What was compiled for the old torch is built anew for it."
    )
    python = "3.12" if numbers(first) <= (3, 12) <= numbers(last) else first
    return text, f"uv venv --python {python} .venv", _build_for(facts, replace(machine, python=python), build)


def _build_for(facts: Facts, machine: Machine, build: Build) -> str:
    """The command for the build, which was found for these GPUs; where nothing tells of the driver, uv asks it, as long
    as every line that such a driver may run holds code for them."""
    packages = known(facts.packages)
    if machine.driver is None and machine.driver_cuda is None:
        release = release_of(build.torch)
        lines = [
            each
            for each in (release.lines if release else ())
            if all(libraries_know(each, device) for device in machine.capabilities)
        ]
        builds = [build_of(build.torch, each, windows=machine.windows) for each in lines]
        newest = max(release.lines, key=numbers, default="") if release else ""
        if newest in lines and all(fits(each, machine).ok for each in builds):
            return remedies.torch_family(packages, "auto", "torch")
    return remedies.torch_family(packages, build.label, f"torch=={build.torch}.*")
