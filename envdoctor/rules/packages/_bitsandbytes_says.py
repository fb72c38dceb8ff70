"""What bitsandbytes, or the linker for it, says where its library for the GPU does not load."""

from envdoctor.knowledge.questions import extensions, installed, line_of, messages, platform_of
from envdoctor.rules.rule import Facts, Match, Pattern, known, versions
from envdoctor.values.frozen import frozen

_SAYS = (
    Pattern(r"libbitsandbytes_\w+\.(?:so|dll)"),
    Pattern(r"(?i)bitsandbytes was compiled without GPU support"),
    Pattern(r"(?i)CUDA Setup failed"),
    Pattern(r"(?i)configured (?:CUDA|ROCm|XPU) binary (?:missing|not found)"),
    Pattern(r"'NoneType' object has no attribute 'cadam32bit_grad_fp32'"),
)
_NO_DRIVER = Pattern(r"libcuda\.so not found! Do you have a CUDA driver")
_LOADER = Pattern(r"(?i)lib(?:cusparse|cudart|cublas|cublasLt)\.so\.\d\S{0,80}:? .*(?:no such|cannot open)")
_BEFORE_11 = Pattern(r"libbitsandbytes_cuda(?:[89]\d|10[0-2])\b")
_NO_RUN_TIME = Pattern(
    r"did not contain \['libcudart|(?i:libcudart\.so|CUDA runtime files) not found in any environmental path"
    r"|libcudart\.so location needs to be added"
)
_RUN_TIME = Pattern(r"CUDA runtime path found: \S")
_LONG = 300


@frozen
class Said:
    """``quote``: the line, or of one that goes on and on the words around the name."""

    line: str
    quote: str
    title: str
    meaning: str
    usually: str
    help: str = ""
    run: tuple[str, ...] = ()


def binaries(facts: Facts) -> tuple[str, ...]:
    """The files that the installed package brings."""
    return next((each.binaries for each in known(facts.extensions) or () if each.name == "bitsandbytes"), ())


def is_seen(facts: Facts) -> bool:
    found = any(each.name == "bitsandbytes" for each in known(facts.extensions) or ())
    named = any("bitsandbytes" in value for value in facts.remarks.values())
    return found or named or installed.version(facts, "bitsandbytes") is not None


def line_of_torch(facts: Facts) -> str | None:
    torch, version = known(facts.torch), extensions.labelled_torch(facts)
    return line_of(version, torch.cuda if torch else None) if version else None


def is_beside_a_cpu_build(facts: Facts) -> bool:
    torch, version = known(facts.torch), extensions.labelled_torch(facts)
    without = torch is not None and torch.cuda == "" and not torch.hip
    return version is not None and (versions.label(version) == "cpu" or without)


def is_on_a_mac(facts: Facts) -> bool:
    return platform_of(facts).startswith("macos")


_LINUX_ON_WINDOWS = Pattern(r"Loading binary \S{0,300}\\libbitsandbytes_cpu\.so")


_ON_ROCM = Pattern(r"libbitsandbytes_(?:rocm|hip)\w{0,8}|ROCm binary not found")


def is_of_another_cause(facts: Facts) -> bool:
    """It never came to look for a library of its own, or no release has it: packages/known-errors."""
    return messages.in_report(facts, _NO_DRIVER, _BEFORE_11, _LINUX_ON_WINDOWS, _ON_ROCM) is not None


def read(facts: Facts, *, seen: bool) -> Said | None:
    """``seen``: bitsandbytes is installed or named, so that a line of the linker is likely of it."""
    own = messages.in_report(facts, *_SAYS)
    found = own or (messages.in_report(facts, _LOADER) if seen else None)
    if found is None:
        return None
    line = found.string
    if own is None and "bitsandbytes" not in line:
        return Said(line=line, quote=_quote(found), title=_NOT_FOUND, meaning=_NOT_FOUND, usually=_OF_THE_LINKER)
    title = "bitsandbytes does not load its library for the GPU"
    if _lacks_the_run_time(facts):
        return Said(
            line=line,
            quote=_quote(found),
            title=title,
            meaning=_meaning(line),
            usually=_WITHOUT_RUN_TIME,
            help=_FIND_RUN_TIME,
            run=_LOOK_FOR_RUN_TIME,
        )
    return Said(line=line, quote=_quote(found), title=title, meaning=_meaning(line), usually=_usually(line))


def _lacks_the_run_time(facts: Facts) -> bool:
    """Releases before 0.43 say where they looked for CUDA's run-time library in vain, and where they found it after
    all; on Windows they have no library for a GPU, wherever that is."""
    if platform_of(facts).startswith("win") or any(_RUN_TIME.search(text) for text in messages.everything(facts)):
        return False
    return messages.in_report(facts, _NO_RUN_TIME) is not None


_WITHOUT_RUN_TIME = (
    "it found CUDA's run-time library (libcudart.so) in none of the folders where it looks (the environment's lib, "
    "LD_LIBRARY_PATH, /usr/local/cuda/lib64), as torch from pip keeps its own elsewhere, and fell back to its library "
    "for the CPU; else torch saw no GPU (a CPU build, a driver, a container without its GPU)"
)
_FIND_RUN_TIME = (
    "Upgrade bitsandbytes: from 0.43 on it takes the CUDA libraries that torch brings. Where the project holds it "
    "back, name the folder that has libcudart.so of torch's CUDA line (the toolkit's lib64, nvidia/cuda_runtime/lib in "
    "site-packages, or lib of a conda environment with cuda-cudart or cudatoolkit) in LD_LIBRARY_PATH"
)
_LOOK_FOR_RUN_TIME = (
    "python -m pip install --upgrade bitsandbytes",
    "find / -name 'libcudart.so*' 2>/dev/null",
    "export LD_LIBRARY_PATH=/FOLDER/OF/LIBCUDART:$LD_LIBRARY_PATH",
)


_NOT_FOUND = "A library of CUDA is not found"
_OF_THE_LINKER = (
    "it is bitsandbytes, which the text names, that looks for it: this release of it is for another CUDA than torch's, "
    "or CUDA's own libraries are not found beside it"
)


def _quote(said: Match[str]) -> str:
    if len(said.string) <= _LONG:
        return said.string.rstrip(".")
    return said.string[said.string.rfind(" ", 0, said.start()) + 1 : said.end() + _LONG // 3].rstrip(". ")


def _meaning(said: str) -> str:
    if "without GPU" in said:
        return "bitsandbytes runs with a library that has nothing for the GPU in it"
    if "_cpu" in said:
        return "bitsandbytes takes its library for the CPU"
    return "bitsandbytes cannot load its library"


_ON_WINDOWS = Pattern(r"[A-Za-z]:\\.{0,200}\\bitsandbytes\\")
_FOR_WINDOWS = (
    "it is a release of before 0.43, of which PyPI's wheel has no library of CUDA for Windows; else torch saw no GPU "
    "when it was imported (a CPU build, a driver)"
)


def _usually(said: str) -> str:
    if "_cpu" in said or "without GPU" in said or "cadam32bit" in said:
        if _ON_WINDOWS.search(said):
            return _FOR_WINDOWS
        return (
            "it fell back to its library for the CPU when it was imported, since torch saw no GPU (a CPU build, a "
            "driver, a container without its GPU), or since this release has none for torch's CUDA"
        )
    return (
        "this release of it carries no library for torch's CUDA (too old for it), CUDA's own libraries are not found "
        "beside it" + ("" if "despite GPU" in said else ", or torch sees no NVIDIA GPU here")
    )
