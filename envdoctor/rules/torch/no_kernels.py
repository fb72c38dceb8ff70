from envdoctor.knowledge.questions import circumstances, torch_version
from envdoctor.rules.rule import ERROR, NOTE, Facts, Finding, Findings, Skip, Target, finding, known, remedies, rule
from envdoctor.rules.torch import _gpu_code, _kernel_error, _new_build


@rule(ERROR, kind="no-kernels-for-gpu", for_gpu=True)
def no_kernels(facts: Facts, target: Target) -> Findings:
    """What runs holds no code for this GPU.

    Why: every kernel launch fails ("no kernel image is available for execution on the device"). A cubin runs on its
    own major version from its own minor upward: sm_86 code serves sm_89, sm_90 code does not serve sm_100. Builds for
    CUDA 13 have nothing below sm_75, those for CUDA 12.6 nothing above sm_90.
    Fix: the same torch from an index whose build covers the GPU.
    Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    https://github.com/pytorch/pytorch/blob/main/RELEASE.md https://github.com/pytorch/pytorch/issues/150733
    """
    said = _kernel_error.said(facts)
    if said is not None and "without torch" in facts.remarks:
        return  # a program with a CUDA library of its own: packages/known-errors
    devices, kernels = _gpu_code.devices_of(facts), _gpu_code.kernels_of(facts)
    if said is None and not (devices and kernels):
        raise Skip("the GPU's compute capability or torch's list of architectures is not known")
    names_it = said is not None and _kernel_error.names_the_gpu(said)
    bare = {number: name for number, name in devices.items() if kernels and not _gpu_code.torch_serves(facts, number)}
    for number, name in bare.items():
        either = _gpu_code.may_be_another_build(facts, number) and not names_it
        yield _finding(facts, target, name, number, either=either, shown=said is not None)
    # An unspecific complaint proves nothing against a build that covers the GPU: an extension may have raised it.
    if not bare and said is not None and (names_it or not (devices and kernels)):
        named, gpu = _kernel_error.name_device(said)
        if _kernel_error.within_a_generation(facts, named):
            return
        either = False
        if named is None and len(devices) == 1 and (version := torch_version(facts)):
            ((named, gpu),) = devices.items()
            either = _gpu_code.some_build_serves(version, named)
        yield _finding(facts, target, gpu, named, either=either)


def _finding(
    facts: Facts, target: Target, name: str, number: str | None, *, either: bool = False, shown: bool = True
) -> Finding:
    """``either``: whether torch holds code for the GPU depends on its CUDA line, which nobody told. ``shown``: is there
    an error of it?"""
    kernels, doubted = _gpu_code.kernels_of(facts), either and not shown
    either = either and shown
    vague = number is None or not kernels or either
    extension = _kernel_error.raiser(facts) if vague else None
    locked = remedies.locked_pins(target, known(facts.packages), "torch", "torchvision", "torchaudio")
    text, *commands = _new_build.advice(facts, number, extension, vague=vague, either=either)
    invalid = number is None and all("image is invalid" in line for line in _kernel_error.lines(facts))
    if number is None or extension:
        message, usually = _unspecific(facts, extension, number, invalid=invalid)
    else:
        message, usually = _of_torch(facts, name, number, either=either)
    return finding(
        subject=extension or name,
        title="The driver does not take the compiled code of what runs" if invalid else "",
        actual="no code for this GPU" if either else ", ".join(kernels) or "no code for this GPU",
        expected=f"{_kernel_error.architecture(number)}, or code that it runs",
        severity=NOTE if doubted else None,
        message=message,
        usually=usually,
        fix=remedies.choose(target, locked, text, *commands),
        repair=locked,
        explains=() if doubted else ("torch/cuda-error", "torch/import-fails", "attention/", "packages/"),
    )


_TOLD = 3
"""Packages that a person names in a sentence or two; a list has more."""


def _is_what_runs(facts: Facts) -> bool:
    """Does more than a person's word say which torch it was? A program often has one in an environment of its own."""
    torch, packages = known(facts.torch), known(facts.packages)
    listed = packages is not None and len(packages.distributions) > _TOLD
    return listed or facts.origin.kind != "pasted" or (torch is not None and torch.cuda is not None)


def _of_torch(facts: Facts, name: str, number: str, *, either: bool) -> tuple[str, str]:
    """What is proved of torch and this GPU, and what lies behind it in most cases."""
    version, gpu = torch_version(facts), f"{name} ({_kernel_error.architecture(number)})"
    torch = f"torch {version}" if version and (either or _is_what_runs(facts)) else "torch"
    if either:
        return f"What was started holds no code for {gpu}: {torch}, {_OR_AN_EXTENSION}.", ""
    behind = _ANOTHER_TORCH if circumstances.NEWER_TORCH.stands(facts) else ""
    return f"{torch} holds no code for {gpu}: no kernel will start.", behind


_OR_AN_EXTENSION = (
    "whose CUDA line is not told for certain and of which some builds have none while others have, or an extension "
    "that was built for other GPUs"
)
_ANOTHER_TORCH = (
    "another torch runs than the one that was installed last or asked (an environment or a Python of the program's own)"
)


def _unspecific(facts: Facts, extension: str | None, number: str | None, *, invalid: bool) -> tuple[str, str]:
    """The same where the error need not be torch's."""
    other, version = _kernel_error.other_than_torch(facts), torch_version(facts)
    behind = _behind(facts)
    if extension or (number is None and other):
        behind = (
            f"{extension or other} was built for other GPUs; else the code is another's, of which the error came later"
        )
    if extension:
        return f"What {extension} started, in whose code the error ends, holds no code for this GPU.", behind
    if other:
        return f"What {other} started holds no code for the GPU.", behind
    if invalid:
        return "The driver does not take the compiled code of what was started.", behind
    which = f" (torch {version} or an extension)" if version else ""
    return f"What was started holds no code for the GPU{which}.", behind


def _behind(facts: Facts) -> str:
    if circumstances.FIXED_ARCHITECTURE.stands(facts):
        return (
            "an extension of the project was compiled for the one architecture that its build script names, and that "
            "is not the GPU's; another of its extensions has a script of its own, or what was built before was not "
            "built again"
        )
    if not _kernel_error.is_torchs(facts):
        return "the program or a library that it loads was built for GPUs of another generation, older or newer"
    return (
        "torch's build is of before this GPU or no longer holds code for its generation; else an extension (of the "
        "traceback's last frames) was compiled for other GPUs"
    )
