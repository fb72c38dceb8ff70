from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Severity, Skip, Target, finding, known, remedies, rule
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
    said = _kernel_error.find(facts)
    if said is not None and "without torch" in facts.remarks:
        return  # a program with a CUDA library of its own: packages/known-errors
    if said is None and "slowness" in facts.remarks:
        return  # a run that is only slow starts its kernels, whatever the tables say of its build
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
        if named is not None and _gpu_code.has_compiled_code(facts, named):
            if all(map(_kernel_error.is_torchs_warning, _kernel_error.lines(facts))):
                yield _only_warned(gpu, named, ", ".join(_gpu_code.kernels_of(facts)))
                return
            named, gpu = None, "the GPU"
        may_serve = None
        if named is None and len(devices) == 1:
            ((only, name),) = devices.items()
            may_serve = _gpu_code.release_may_serve(facts, only)
            named, gpu = (named, gpu) if may_serve is None else (only, name)
        yield _finding(facts, target, gpu, named, either=may_serve is True)


def _finding(
    facts: Facts, target: Target, name: str, number: str | None, *, either: bool = False, shown: bool = True
) -> Finding:
    """``either``: whether torch holds code for the GPU depends on its CUDA line, which nobody told. ``shown``: is there
    an error of it?"""
    kernels, doubted = _gpu_code.kernels_of(facts), either and not shown
    either = either and shown
    listed = () if either else _gpu_code.listed_by_torch(facts)
    vague = number is None or not kernels or either
    extension = _kernel_error.raiser(facts) if vague else None
    locked = remedies.locked_pins(target, known(facts.packages), "torch", "torchvision", "torchaudio")
    text, *commands = _new_build.advice(facts, number, extension, vague=vague, either=either)
    invalid = number is None and all("image is invalid" in line for line in _kernel_error.lines(facts))
    if number is None or extension:
        message, usually = _kernel_error.unspecific(facts, extension, number, invalid=invalid)
    else:
        message, usually = _kernel_error.of_torch(facts, name, number, either=either)
    title = _ONLY_PTX if not (vague or extension) and _kernel_error.to_be_compiled(facts, number) else ""
    return finding(
        subject=extension or name,
        title="The driver does not take the compiled code of what runs" if invalid else title,
        actual=", ".join(listed) or "no code for this GPU",
        expected=f"{_kernel_error.architecture(number)}, or code that it runs",
        severity=Severity.NOTE if doubted else None,
        message=message,
        usually=usually,
        fix=remedies.choose(target, locked, text, *commands),
        repair=locked,
        explains=() if doubted else ("torch/cuda-error", "torch/import-fails", "attention/", "packages/"),
    )


def _only_warned(gpu: str, number: str, kernels: str) -> Finding:
    """torch before 1.8 or so looks for the GPU's own number in its list, and for nothing else."""
    return finding(
        subject=gpu,
        title="torch warns of a GPU whose code it holds",
        severity=Severity.WARNING,
        actual=kernels,
        expected=_kernel_error.architecture(number),
        message="torch's warning is no cause of a failure: compiled code runs on later GPUs of the same major "
        f"version, and {gpu} ({_kernel_error.architecture(number)}) is one of those.",
        fix="Nothing has to be done. A newer torch names the GPU itself and says nothing.",
        explains=("packages/known-errors",),
    )


_ONLY_PTX = "What runs holds no compiled code for this GPU"
