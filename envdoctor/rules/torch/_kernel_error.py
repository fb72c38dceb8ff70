"""An error for want of code for the GPU: what it names, in whose code it ends, and what is said of it."""

from __future__ import annotations

from envdoctor.knowledge.architectures import compiler_name
from envdoctor.knowledge.questions import capability, circumstances, code_for, extensions, messages, torch_version
from envdoctor.rules.packages._callers import caller_of
from envdoctor.rules.rule import Facts, Match, Pattern, anywhere, known
from envdoctor.rules.torch._gpu_code import kernels_of

_SAYS = (
    Pattern(r"(?P<gpu>[^:]{0,120}?) with CUDA capability (?P<sm>sm_\d+) is not compatible with the current PyTorch"),
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
_SGL = Pattern(r"(?i:\bsgl[-_]?(?:ang|kernel))")


def find(facts: Facts) -> Match[str] | None:
    return anywhere(facts, *_SAYS)


def within_a_generation(facts: Facts, number: str | None) -> bool:
    """torch 2.9 and 2.10 warn of each GPU above the newest that they name, though code of its major version runs on
    it."""
    known_to = anywhere(facts, _RANGE)
    if known_to is None or number is None or (most := capability(known_to["most"])) is None:
        return False
    own = capability(number)
    return own is not None and own[0] == most[0] and own[1] >= most[1]


def architecture(number: str | None) -> str:
    """How compilers spell the GPU's capability."""
    return compiler_name(number) if number and capability(number) else "its architecture"


def names_the_gpu(said: Match[str]) -> bool:
    """torch's own warning compares the GPU with its own list: it proves what it says, and of torch itself."""
    return bool(said.groupdict())


def is_torchs_warning(line: str) -> bool:
    """Is it the line that compares the GPU with torch's list, and no kernel that failed?"""
    return any(pattern.search(line) for pattern in _SAYS[:2]) and not any(p.search(line) for p in _SAYS[2:])


def name_device(said: Match[str]) -> tuple[str | None, str]:
    groups = said.groupdict()
    number = groups.get("cc")
    if number is None and (sm := groups.get("sm")):
        digits = sm.removeprefix("sm_")
        number = f"{digits[:-1]}.{digits[-1]}"
    return number, (groups.get("gpu") or "the GPU").strip()


def lines(facts: Facts) -> tuple[str, ...]:
    return tuple(text for text in facts.messages if any(pattern.search(text) for pattern in _SAYS))


def raiser(facts: Facts) -> str | None:
    """The extension in whose code a report's traceback ends."""
    told_by = lines(facts)
    if any(_FLASHINFER.search(text) for text in told_by):
        told = (*facts.messages, *facts.remarks, *facts.remarks.values())
        return "sgl-kernel" if any(map(_SGL.search, told)) else "flashinfer-python"
    return next(
        (name for text in told_by if (raised := caller_of(text)) and (name := extensions.extension_named(raised))), None
    )


def extension_built_at_home(facts: Facts) -> str | None:
    """The one extension of the report that is compiled for the GPUs of whoever built it."""
    packages = known(facts.packages)
    there = {d.name for d in packages.distributions} & extensions.BUILT_AT_HOME if packages else set()
    return there.pop() if len(there) == 1 else None


def other_than_torch(facts: Facts) -> str | None:
    """The library that the line of the error names by its own name."""
    return next((found.lastgroup for text in lines(facts) if (found := _OTHER.search(text))), None)


_TORCHS = Pattern(r"torch|TORCH_USE_CUDA_DSA|RuntimeError: CUDA error|AcceleratorError")


def is_torchs(facts: Facts) -> bool:
    """Does anything show torch? Programs of other languages and libraries print CUDA's words as well."""
    return torch_version(facts) is not None or any(_TORCHS.search(text) for text in messages.everything(facts))


_TOLD = 3
"""Packages that a person names in a sentence or two; a list has more."""


def _is_what_runs(facts: Facts) -> bool:
    """Does more than a person's word say which torch it was? A program often has one in an environment of its own."""
    torch, packages = known(facts.torch), known(facts.packages)
    listed = packages is not None and len(packages.distributions) > _TOLD
    return listed or facts.origin.kind != "pasted" or (torch is not None and torch.cuda is not None)


def of_torch(facts: Facts, name: str, number: str, *, either: bool) -> tuple[str, str]:
    """What is proved of torch and this GPU, and what lies behind it in most cases."""
    version, gpu = torch_version(facts), f"{name} ({architecture(number)})"
    torch = f"torch {version}" if version and (either or _is_what_runs(facts)) else "torch"
    if either:
        return f"What was started holds no code for {gpu}: {torch}, {_OR_AN_EXTENSION}.", ""
    behind = _ANOTHER_TORCH if circumstances.NEWER_TORCH.stands(facts) else ""
    if only := to_be_compiled(facts, number):
        return f"{torch} holds no compiled code for {gpu}, {_COMPILED_AT_START.format(only)}.", behind
    return f"{torch} holds no code for {gpu}: no kernel will start.", behind


def to_be_compiled(facts: Facts, number: str | None) -> str:
    """The PTX that is all what torch has for the GPU: the driver makes code of it, unless an error says that none was
    there."""
    if number is None or any(_NO_IMAGE.search(text) for text in facts.messages):
        return ""
    codes = code_for(kernels_of(facts), number)
    return ", ".join(f"compute_{code.capability[0]}{code.capability[1]}" for code in codes if code.kind == "ptx")


_NO_IMAGE = Pattern(r"no kernel image|NoKernelImage|NO_BINARY_FOR_GPU|kernel image is invalid")
_COMPILED_AT_START = (
    "only PTX ({}), which the driver has to compile when a kernel first starts: that takes minutes and looks like a "
    "hang. The CUDA libraries beside it (cuDNN, cuBLAS) are of before this GPU and may fail on it"
)
_OR_AN_EXTENSION = (
    "whose CUDA line is not told for certain and of which some builds have none while others have, or an extension "
    "that was built for other GPUs"
)
_ANOTHER_TORCH = (
    "another torch runs than the one that was installed last or asked (an environment or a Python of the program's own)"
)


def unspecific(facts: Facts, extension: str | None, number: str | None, *, invalid: bool) -> tuple[str, str]:
    """The same where the error need not be torch's."""
    other, version = other_than_torch(facts), torch_version(facts)
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
    if not is_torchs(facts):
        return "the program or a library that it loads was built for GPUs of another generation, older or newer"
    return (
        "torch's build is of before this GPU or no longer holds code for its generation; else an extension (of the "
        "traceback's last frames) was compiled for other GPUs"
    )
