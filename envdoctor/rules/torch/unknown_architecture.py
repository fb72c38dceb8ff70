from envdoctor.knowledge.questions import line_is_guessed, messages, numbers, toolkits, torch_cuda
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Skip, finding, rule

_SAYS = Pattern(r"(?i)nvcc fatal\s*: *Unsupported gpu architecture '?compute_(?P<number>\d{2,3})[af]?(?!\w)")


@rule(ERROR, kind="nvcc-mismatch", subject="nvcc", explains=("packages/known-errors nvcc", "torch/nvcc"))
def unknown_architecture(facts: Facts) -> Findings:
    """The CUDA toolkit that compiles does not know a GPU that it is to compile for, and the report shows which it is.

    Why: nvcc knows the GPUs of its time. The path in the error line tells which toolkit ran, whatever nvidia-smi says:
    its "CUDA Version" is the newest that the driver runs. Where that toolkit is of another CUDA than torch, a shorter
    list of GPUs does not help either, as torch's builder refuses it.
    Fix: the toolkit of torch's own CUDA, named by CUDA_HOME and first in PATH.
    Source: https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#gpu-architecture
    """
    said = messages.in_report(facts, _SAYS)
    if said is None:
        raise Skip("no compiler refuses a GPU")
    toolkit, span = toolkits.toolkit_of(facts), toolkits.span_of(said["number"])
    if toolkit is None or span is None:
        raise Skip("the report does not show which toolkit compiles")
    first, last = span
    too_old = bool(first) and numbers(toolkit) < numbers(first)
    too_new = bool(last) and numbers(toolkit) > numbers(last)
    if not too_old and not too_new:
        return  # another one ran than the report shows
    cuda = torch_cuda(facts)
    other = bool(cuda) and numbers(cuda)[:1] != numbers(toolkit)[:1]
    what = f"compute_{said['number']}"
    knows = f"which knows {what} from {first} on" if too_old else f"and {last} was the last that knew {what}"
    whose = f" Torch's own CUDA is {_cuda_of_torch(facts, cuda)}." if cuda else ""
    yield finding(
        actual=f"CUDA {toolkit}",
        expected=f"CUDA {first} or newer" if too_old else f"CUDA {last} or older",
        message=f"What compiles is nvcc of CUDA {toolkit}, {knows}: {said.string}.{whose}",
        fix=_remedy(said["number"], first, last, cuda or "", other=other, too_old=too_old),
        run="which -a nvcc",
    )


def _cuda_of_torch(facts: Facts, cuda: str | None) -> str:
    return f"{cuda}, if the wheel is PyPI's" if line_is_guessed(facts) else f"{cuda}"


def _remedy(number: str, first: str, last: str, cuda: str, *, other: bool, too_old: bool) -> str:
    fits = bool(cuda) and (numbers(cuda) >= numbers(first) if too_old else numbers(cuda) <= numbers(last))
    wanted = f"CUDA {cuda}, torch's own" if fits else f"CUDA {first} or newer" if too_old else f"CUDA {last} or older"
    gcc = toolkits.newest_gcc(cuda if fits else first if too_old else last)
    text = (
        f"Point CUDA_HOME and PATH to a toolkit of {wanted}{f' (its nvcc takes gcc up to {gcc})' if gcc else ''}, and "
    )
    text += "build anew from an empty build folder."
    if cuda and not fits:
        text += f" Torch must then be a build for that CUDA, too: CUDA {cuda} does not know the GPU either."
    if other:
        return text
    without = f"eave {number} out of TORCH_CUDA_ARCH_LIST (setup.py, CMakeLists.txt)"
    if too_old:
        return f"{text} Where no GPU of that number is to be served, l{without} instead."
    return f"L{without} where the GPU here is a newer one. Where it is of that number: {text[0].lower()}{text[1:]}"
