from envdoctor.knowledge.questions import capability_of, circumstances, code_for, extensions, torch_build
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Skip, finding, known, messages, rule, shell

_SAYS = (
    Pattern(r"no kernel image is available for execution on the device"),
    Pattern(r"cudaErrorNoKernelImageForDevice|CUDA error: invalid device function"),
)
_COMPILED = frozenset(
    "apex bitsandbytes causal-conv1d deepspeed detectron2 flash-attn flash-attn-3 mamba-ssm mmcv mmcv-full natten "
    "pytorch3d sageattention torch-scatter torch-sparse transformer-engine vllm xformers".split()
)

_SCRIPTS = (
    " Name this GPU's architecture in every build script of the project that names one (setup.py, make.sh, Makefile, "
    "CMakeLists.txt; each extension has its own), and delete what was built before (folders build, *.o, *.so)."
)


@rule(ERROR, kind="extension-binary-missing")
def extension_kernels(facts: Facts) -> Findings:
    """torch has kernels for this GPU, and a compiled extension has none.

    Why: "no kernel image is available" comes from whatever launches the kernel. Where torch's own build covers the
    GPU, it is an extension that was compiled for other architectures.
    Fix: a release of the extension that covers the GPU, or one compiled here with TORCH_CUDA_ARCH_LIST.
    Source: https://docs.pytorch.org/docs/stable/cpp_extension.html
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    """
    said = messages.in_report(facts, *_SAYS)
    packages, gpus, torch = known(facts.packages), known(facts.gpus), known(facts.torch)
    if said is None:
        raise Skip("no kernel is reported to be missing")
    build = torch_build(facts)
    kernels = torch.arch_list if torch and torch.arch_list else build.kernels if build else ()
    # What PTX alone would cover may be torch's own failure: `torch/no-kernels` judges that.
    kernels = tuple(one for one in kernels if not one.startswith("compute_"))
    line = build.cuda if build else None
    seen = (gpu.capability or capability_of(gpu.name) for gpu in (gpus.devices if gpus else ()))
    numbers = list(filter(None, seen)) or list(torch.capabilities if torch else ())
    if not kernels or not numbers or not all(code_for(kernels, number, line) for number in numbers):
        return
    present = [d.name for d in packages.distributions if d.name in _COMPILED] if packages else []
    name = extensions.extension_named(messages.RAISED_IN.sub(r" \g<name>", said.string), present)
    named = name is not None
    name = name or (present[0] if len(present) == 1 else None)
    if name is None and not present and facts.origin.kind != "pasted":
        return
    subject = name or " or ".join(present) or "a compiled extension"
    scripts = _SCRIPTS if circumstances.FIXED_ARCHITECTURE.stands(facts) else ""
    actual = f"no code for capability {numbers[0]}"
    expected = f"code for capability {numbers[0]}, as torch itself has"
    message = f"The torch that is told of covers this GPU (capability {numbers[0]}): {said.string}"
    if named:
        message = f"torch covers this GPU (capability {numbers[0]}); the missing kernel is of {subject}: {said.string}"
    usually = "" if named else f"it is of {subject}, which the text lists" if present else _OF_NOBODY
    fix = f"Install a release of it that covers the GPU, or compile it here.{scripts}"
    run = shell.with_names(_COMPILE.format(shell.word(numbers[0])), name or "") or ()
    yield finding(subject=subject, actual=actual, expected=expected, message=message, usually=usually, fix=fix, run=run)


_OF_NOBODY = (
    "the missing kernel is of an extension that was compiled for other GPUs (of the traceback's last frames), or "
    "another torch runs than the one that the text tells of (ask torch.__version__ and torch.cuda.get_arch_list() in "
    "the same Python)"
)
_COMPILE = "TORCH_CUDA_ARCH_LIST={} python -m pip install --no-binary :all: --no-build-isolation"
