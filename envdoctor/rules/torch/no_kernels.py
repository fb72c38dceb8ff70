from dataclasses import replace

from envdoctor.knowledge.architectures import compiler_name
from envdoctor.knowledge.gpus import capability_of
from envdoctor.knowledge.installed_torch import line_is_guessed, torch_build, torch_version
from envdoctor.knowledge.machine import needs_board_wheels
from envdoctor.knowledge.messages import anywhere, everything
from envdoctor.knowledge.questions import capability, circumstances, code_for, extensions, fits, machine_of, numbers
from envdoctor.knowledge.solver import Machine, best_build, libraries_know
from envdoctor.knowledge.torch_builds import Build, build_of, release_of
from envdoctor.rules.finding import Finding, Findings, finding
from envdoctor.rules.packages._callers import caller_of
from envdoctor.rules.rule import ERROR, NOTE, Facts, Match, Pattern, Skip, Target, known, on_cpu, remedies, rule

_SAYS = (
    Pattern(r"(?P<gpu>.{0,120}?) with CUDA capability (?P<sm>sm_\d+) is not compatible with the current PyTorch"),
    Pattern(r"Found GPU\d+ (?P<gpu>.*?) which is of (?:compute capability \(CC\)|cuda capability) (?P<cc>\d+\.\d+)"),
    Pattern(r"no kernel image is available for execution on the device"),
    Pattern(
        r"cudaErrorNoKernelImageForDevice|CUDA_ERROR_NO_BINARY_FOR_GPU"
        r"|(?<!Triton Error \[CUDA\]: )device kernel image is invalid"
    ),
)

_RANGE = Pattern(
    r"[Mm]aximum cuda capability supported by this version of PyTorch is \(\d+\.\d\) - \((?P<most>\d+\.\d)\)"
)
_FLASHINFER = Pattern(r"\b\w{3,60} failed with error code (?:no kernel image|device kernel image)")
"""FlashInfer's operators, which sgl-kernel has as well."""
_OTHER = Pattern(
    r"(?i)\b(?:(?P<cupy>cupy)|(?P<opencv>opencv|cv2)|(?P<xgboost>xgboost)|(?P<onnxruntime>onnxruntime)"
    r"|(?P<catboost>catboost)|(?P<lightgbm>lightgbm)|(?P<numba>numba)|(?P<paddle>paddle\w*)|(?P<tensorflow>tensorflow)"
    r"|(?P<jax>jaxlib|Xla\w*Error))(?:Error\b|_|\b)",
)
"""What the line of an error itself names in place of torch."""
_LISTS = "python -c 'import torch; print(torch.version.cuda, torch.cuda.get_arch_list())'"
_SGL = Pattern(r"(?i:\bsgl[-_]?(?:ang|kernel))")


@rule(ERROR, kind="no-kernels-for-gpu")
def no_kernels(facts: Facts, target: Target) -> Findings:
    """What runs holds no code for this GPU.

    Why: every kernel launch fails ("no kernel image is available for execution on the device"). A cubin runs on its
    own major version from its own minor upward: sm_86 code serves sm_89, sm_90 code does not serve sm_100. Builds for
    CUDA 13 have nothing below sm_75, those for CUDA 12.6 nothing above sm_90.
    Fix: the same torch from an index whose build covers the GPU.
    Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    https://github.com/pytorch/pytorch/blob/main/RELEASE.md https://github.com/pytorch/pytorch/issues/150733
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    said = anywhere(facts, *_SAYS)
    if said is not None and "without torch" in facts.remarks:
        return  # a program with a CUDA library of its own: packages/known-errors
    gpus, torch = known(facts.gpus), known(facts.torch)
    found = [(gpu.name, gpu.capability or capability_of(gpu.name)) for gpu in gpus.devices] if gpus else []
    if not any(number for _, number in found) and torch is not None:
        found = [(f"GPU {index}", number) for index, number in enumerate(torch.capabilities)]
    devices = {number: name for name, number in reversed(found) if number}
    build = torch_build(facts)
    kernels = torch.arch_list if torch and torch.arch_list else build.kernels if build else ()
    if said is None and not (devices and kernels):
        raise Skip("the GPU's compute capability or torch's list of architectures is not known")
    bare = {number: name for number, name in devices.items() if kernels and not _serves(build, kernels, number)}
    for number, name in bare.items():
        elsewhere = needs_board_wheels(facts) or _other_build_serves(build, number)
        open_ = line_is_guessed(facts) and elsewhere and not (said and _names_the_gpu(said))
        one = _finding(facts, target, name, number, kernels, either=open_ and said is not None)
        yield replace(one, severity=NOTE, explains=()) if open_ and said is None else one
    if not bare and said is not None and not _contradicts(said, devices, kernels):
        named, gpu = _name_device(said)
        if _within_a_generation(facts, named):
            return
        either = False
        if named is None and len(devices) == 1 and (version := torch_version(facts)):
            ((named, gpu),) = devices.items()
            either = _some_build_serves(version, named)
        yield _finding(facts, target, gpu, named, kernels, either=either)


def _within_a_generation(facts: Facts, number: str | None) -> bool:
    """torch 2.9 and 2.10 warn of each GPU above the newest that they name, though code of its major version runs "
    "on it."""
    known_to = anywhere(facts, _RANGE)
    if known_to is None or number is None or (most := capability(known_to["most"])) is None:
        return False
    own = capability(number)
    return own is not None and own[0] == most[0] and own[1] >= most[1]


def _serves(build: Build | None, kernels: tuple[str, ...], number: str) -> bool:
    """Cubins count. PTX alone counts only where the CUDA line's own libraries know the GPU as well."""
    codes = code_for(kernels, number, build.cuda if build else None)
    if any(code.kind == "cubin" for code in codes):
        return True
    return bool(codes) and (build is None or libraries_know(build.cuda, number))


def _other_build_serves(build: Build | None, number: str) -> bool:
    """Has another CUDA line of the same release code for the GPU? Then a report without the line accuses nobody."""
    return build is not None and release_of(build.torch) is not None and _some_build_serves(build.torch, number)


def _some_build_serves(torch: str, number: str) -> bool:
    """Has a build of this release code for the GPU? Of one that is in no table (a nightly, a vendor's) any may."""
    release = release_of(torch)
    if release is None:
        return True
    builds = [build_of(release.name, line) for line in release.lines]
    return any(_serves(build, build.kernels, number) for build in builds)


def _contradicts(said: Match[str], devices: dict[str, str], kernels: tuple[str, ...]) -> bool:
    """An unspecific complaint proves nothing against a build that covers the GPU: an extension may have raised it."""
    return not _names_the_gpu(said) and bool(devices and kernels)


def _names_the_gpu(said: Match[str]) -> bool:
    """torch's own warning compares the GPU with its own list: it proves what it says, and of torch itself."""
    return bool(said.groupdict())


def _name_device(said: Match[str]) -> tuple[str | None, str]:
    groups = said.groupdict()
    number = groups.get("cc")
    if number is None and (sm := groups.get("sm")):
        digits = sm.removeprefix("sm_")
        number = f"{digits[:-1]}.{digits[-1]}"
    return number, (groups.get("gpu") or "the GPU").strip()


def _finding(
    facts: Facts, target: Target, name: str, number: str | None, kernels: tuple[str, ...], *, either: bool = False
) -> Finding:
    """``either``: whether torch holds code for the GPU depends on its CUDA line, which nobody told."""
    wanted = compiler_name(number) if number and capability(number) else "its architecture"
    version = torch_version(facts)
    locked = remedies.locked_pins(target, known(facts.packages), "torch", "torchvision", "torchaudio")
    machine = machine_of(facts)
    if number is not None and number not in machine.capabilities:  # whatever else is in the machine
        machine = replace(machine, capabilities=(*machine.capabilities, number))
    same, newest = best_build(machine, torch=version) if version else None, best_build(machine)
    build = (same.build if same else None) or newest.build
    other = _other_than_torch(facts)
    by_hand: tuple[str, ...]
    extension = _raiser(facts) if number is None or not kernels or either else None
    if extension:
        text = (
            f"Install a release of {extension} that covers the GPU, or compile it here, on this GPU and for this torch."
        )
        at_home = "--no-deps --no-cache-dir --no-build-isolation --no-binary :all:"
        built = extension in extensions.BUILT_AT_HOME
        by_hand = (remedies.again(extension, at_home) if built else remedies.upgrade(extension),)
    elif number is None and other:
        text = (
            f"Install a release of {other} whose build covers the GPU, or build it with this GPU's architecture: "
            "Blackwell (RTX 50, B200) needs one for CUDA 12.8 or later, builds for CUDA 13 begin at the RTX 20."
        )
        by_hand = ()
    elif circumstances.FIXED_ARCHITECTURE.stands(facts) and (number is None or not kernels or either):
        text = (
            "Take the GPU's real compute capability (a name may stand for two generations: a TITAN X is 5.2 or 6.1), "
            "set it in every build script of the project that names one (grep -rnE 'sm_|arch=' finds setup.py, "
            "Makefiles, make.sh, CMakeLists.txt; each extension has its own), delete what was built before (folders "
            "build, *.o, *.so) and build all of them anew, with a CUDA toolkit that knows the GPU."
        )
        by_hand = ("python -c 'import torch; print(torch.cuda.get_device_capability())'",)
    elif number is None:  # the same release would hold no more code than the one that is there
        text = (
            "Install a build that covers the GPU: Blackwell (RTX 50, B200) needs one for CUDA 12.8 or later, Volta and "
            "older GPUs one for 12.6 or before. What was compiled for the old torch is installed again with it."
        )
        by_hand = (remedies.torch_family(known(facts.packages), "auto", "torch"),)
        if circumstances.NEWER_TORCH.stands(facts):
            text, by_hand = _TRIED_NEWER, (_LISTS, "python -m pip list")
        if not _is_torchs(facts):
            text = (
                "Install a build of the program that covers the GPU, or build it with this GPU's architecture: "
                "Blackwell (RTX 50, B200) needs CUDA 12.8 or later, Volta and older GPUs 12.9 or before."
            )
            by_hand = ()
        if compiled := _extension_built_at_home(facts):
            text = f"Try it without {compiled}: where it works, compile {compiled} anew, on this GPU. Where not: {text}"
            options = "--no-deps --no-cache-dir --no-build-isolation --no-binary :all:"
            by_hand = (remedies.again(compiled, options), *by_hand)
    elif build is None or not fits(build, machine).ok:
        text = f"No published torch build serves this machine: {newest.reason}. Use another GPU, or build from source."
        by_hand = ()
    else:
        text = f"Install a build that covers {wanted}."
        if circumstances.NEWER_TORCH.stands(facts) and not either:
            text = (
                f"By the text a torch that has {wanted} was installed: then it is another one than the program runs "
                "with, which often has a Python of its own (venv, python_embeded, runtime). Install it with that very "
                f"Python (its python -m pip), and ask that one for torch.cuda.get_arch_list(). {text}"
            )
        if either:
            text = (
                f"See whether torch.cuda.get_arch_list() has {wanted}. If not, install a build that covers it; if so, "
                "it is an extension that was compiled for other GPUs (the traceback may end later than it failed: "
                "CUDA_LAUNCH_BLOCKING=1 shows where): empty its cache (~/.cache/torch_extensions, its folder build) "
                f"and compile it anew on this GPU, with TORCH_CUDA_ARCH_LIST={number}."
            )
        by_hand = (
            _LISTS if either else "",
            _build_for(facts, machine, build),
        )
    invalid = number is None and all("image is invalid" in text for text in _lines(facts))
    return finding(
        subject=extension or name,
        title="The driver does not take the compiled code of what runs" if invalid else "",
        actual="no code for this GPU" if either else ", ".join(kernels) or "no code for this GPU",
        expected=f"{wanted}, or code that it runs",
        message=_message(version if either or _is_what_runs(facts) else None, name, wanted, either=either)
        if number is not None and extension is None
        else _unspecific(extension, other, version, invalid=invalid),
        usually="another torch runs than the one that was installed last or asked (an environment or a Python of the "
        "program's own)"
        if number is not None and extension is None and not either and circumstances.NEWER_TORCH.stands(facts)
        else f"{extension or other} was built for other GPUs; else the code is another's, of which the error came later"
        if extension or (number is None and other)
        else _behind(facts)
        if number is None
        else "",
        fix=remedies.choose(target, locked, text, *by_hand),
        repair=locked,
        explains=("torch/cuda-error", "torch/import-fails", "attention/", "packages/"),
    )


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


_TRIED_NEWER = (
    "A newer torch was installed already, by the text. See whether the Python that fails is the one which has it "
    "(below: its list must hold the GPU's architecture, sm_120 for RTX 50); a package that was installed after it may "
    "have brought the old one back. What is compiled for one torch (vLLM, xformers, flash-attn, torchvision) must be "
    "of a release for that very torch, and none is for a nightly: take a fresh environment, let vLLM 0.9 or later "
    "bring the torch that it is built for (its wheels are for CUDA 12.8 and later), and install the rest beside that."
)


_TOLD = 3
"""Packages that a person names in a sentence or two; a list has more."""


def _is_what_runs(facts: Facts) -> bool:
    """Does more than a person's word say which torch it was? A program often has one in an environment of its own."""
    torch, packages = known(facts.torch), known(facts.packages)
    listed = packages is not None and len(packages.distributions) > _TOLD
    return listed or facts.origin.kind != "pasted" or (torch is not None and torch.cuda is not None)


def _message(version: str | None, name: str, wanted: str, *, either: bool) -> str:
    torch = f"torch{f' {version}' if version else ''}"
    if either:
        return (
            f"What was started holds no code for {name} ({wanted}): {torch}, whose CUDA line is not told for certain "
            "and of which some builds have none while others have, or an extension that was built for other GPUs."
        )
    return f"{torch} holds no code for {name} ({wanted}): no kernel will start."


def _lines(facts: Facts) -> tuple[str, ...]:
    return tuple(text for text in facts.messages if any(pattern.search(text) for pattern in _SAYS))


def _raiser(facts: Facts) -> str | None:
    """The extension in whose code a report's traceback ends."""
    lines = _lines(facts)
    if any(_FLASHINFER.search(text) for text in lines):
        told = (*facts.messages, *facts.remarks, *facts.remarks.values())
        return "sgl-kernel" if any(map(_SGL.search, told)) else "flashinfer-python"
    return next(
        (name for text in lines if (raised := caller_of(text)) and (name := extensions.extension_named(raised))), None
    )


def _extension_built_at_home(facts: Facts) -> str | None:
    """The one extension of the report that is compiled for the GPUs of whoever built it."""
    packages = known(facts.packages)
    there = {d.name for d in packages.distributions} & extensions.BUILT_AT_HOME if packages else set()
    return there.pop() if len(there) == 1 else None


def _other_than_torch(facts: Facts) -> str | None:
    """The library that the line of the error names by its own name."""
    return next((found.lastgroup for text in _lines(facts) if (found := _OTHER.search(text))), None)


def _unspecific(extension: str | None, other: str | None, version: str | None, *, invalid: bool) -> str:
    if extension:
        return f"What {extension} started, in whose code the error ends, holds no code for this GPU."
    if other:
        return f"What {other} started holds no code for the GPU."
    if invalid:
        return "The driver does not take the compiled code of what was started."
    return "What was started holds no code for the GPU" + (f" (torch {version} or an extension)." if version else ".")


_TORCHS = Pattern(r"torch|RuntimeError: CUDA error|AcceleratorError")


def _is_torchs(facts: Facts) -> bool:
    """Does anything show torch? Programs of other languages and libraries print CUDA's words as well."""
    return torch_version(facts) is not None or any(_TORCHS.search(text) for text in everything(facts))


def _behind(facts: Facts) -> str:
    if circumstances.FIXED_ARCHITECTURE.stands(facts):
        return (
            "an extension of the project was compiled for the one architecture that its build script names, and that "
            "is not the GPU's; another of its extensions has a script of its own, or what was built before was not "
            "built again"
        )
    if not _is_torchs(facts):
        return "the program or a library that it loads was built for GPUs of another generation, older or newer"
    return (
        "torch's build is of before this GPU or no longer holds code for its generation; else an extension (of the "
        "traceback's last frames) was compiled for other GPUs"
    )
