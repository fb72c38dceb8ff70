"""A line about a compiled extension that does not fit: which line it is, whom it means, and what it proves."""

import re
from collections.abc import Iterable

from envdoctor.knowledge.extensions import ExtensionBuild
from envdoctor.knowledge.questions import extensions, installed, messages, names, normal
from envdoctor.rules.rule import Facts, Pattern, known

_SAYS = (
    Pattern(r"undefined symbol:?\s*(?:_Z\w*(?:3c10|5torch|2at|6caffe2)\w*|THP[A-Z]\w+)"),
    Pattern(r"undefined symbol:?\s*aoti_torch\w*"),
    Pattern(r"ImportError: (?:flash_attn\w*_cuda|xformers\S{0,40}|dropout_layer_norm) undefined symbol"),
    Pattern(r"(?i)xFormers was built for"),
    Pattern(r"(?i)xFormers can'?t load C\+\+/CUDA extensions"),
    Pattern(r"(?i)cpp extensions.*(?:incompatible|not imported|skipp)"),
    Pattern(r"(?i)skipping import of cpp extensions"),
    Pattern(r"(?i)ops were compiled and installed with a different version"),
    Pattern(r"(?i)PyTorch version mismatch! DeepSpeed"),
    Pattern(r"(?i)(?:built|compiled) for (?:another|a different|an? (?:older|newer)) (?:torch|ABI|Python)"),
    Pattern(
        r"(?i)DLL load failed while importing (?:flash_attn\w*"
        r"|_C(?!types|sv|urses|ontextvars|odecs|rypt|ollections|ompression)\w*|_ext\w*|_?fused\w*|_qattn\w*|amp_C)"
        r"(?!.{0,20}Application Control)"
    ),
    Pattern(r"(?i)lib(?:torch_(?:cpu|cuda\w*)|c10_cuda)\.so\S*:? .*(?:cannot open|no such)"),
    Pattern(r"(?i)PyTorch and (?!torchvision|torchaudio)\w+ were compiled with different CUDA"),
    Pattern(r"(?i)flash_attn.{0,400}(?:libcudart|libcublas)\.so\.\d\S{0,80}:? .{0,200}(?:cannot open|no such)"),
)
_SKIPS = Pattern(r"(?i)cpp extensions")  # torchao's words, which do not name it
_LIBRARY = Pattern(r"(?i)lib(?:cudart|cublas|cublasLt)\.so\.(\d{1,9})\S{0,80}:? .*(?:cannot open|no such)")
_LIBC = Pattern(r"(?i)version [`'\"]?GLIBC(?:XX)?_[\d.]+[`'\"]? not found")
_BOUND = frozenset(extensions.MODULES.values()) - {"bitsandbytes", "deepspeed"}
_MATES = Pattern(r"libtorchaudio|_torchaudio|torchaudio/lib/|torchvision/(?:_C|image)")  # `packages/torch-pair`
_COMPILED = Pattern(r"\S{0,300}[/\\][\w.-]{1,120}\.(?:so|pyd)\b")
_MODULE = Pattern(r"-packages[/\\](?!torch[/\\])(?P<name>[A-Za-z]\w{0,60})[/\\]\S{0,200}\.(?:so|pyd)\b")
_OF_TORCH = Pattern(r"torch[\\/]{1,2}lib[\\/]{1,2}lib(?:torch|c10)\w{0,16}\.\w{2,5}: undefined symbol")
_NOT_LOADED = Pattern(r"(?i)DLL load failed")
_NOT_FOUND = Pattern(r"(?i)lib(?P<lib>torch|c10|cud|cub)\S{0,60}:? .{0,200}(?:cannot open|no such)")


def find(facts: Facts, torch: ExtensionBuild | None) -> re.Match[str] | None:
    found = messages.in_report(facts, *_SAYS) or _other_cuda(facts, torch)
    return None if found is not None and _MATES.search(found.string) else found


def is_one(error: str) -> bool:
    return any(pattern.search(error) for pattern in _SAYS)


def is_of_torch(line: str) -> bool:
    """Does torch's own library miss something, which no extension brought? `packages/known-errors` says that two builds
    of it meet."""
    return _OF_TORCH.search(line) is not None


def named_in(facts: Facts, line: str, built: Iterable[str]) -> str | None:
    """The extension that the line means, by its name, its path or what else the text says."""
    if name := extensions.extension_named(line, built):
        return name
    if _SKIPS.search(line):
        return "torchao"
    if module := _MODULE.search(line):
        return names.distribution_of(module["name"]) or normal(module["name"])
    return _told_of(facts)


def listed_alone(facts: Facts, line: str) -> str | None:
    """The only extension that the text lists, where the line may be its."""
    packages = known(facts.packages)
    bound = [each.name for each in packages.distributions if each.name in _BOUND] if packages else []
    return bound[0] if len(bound) == 1 and not _lies_elsewhere(line) else None


def _other_cuda(facts: Facts, torch: ExtensionBuild | None) -> re.Match[str] | None:
    """A library of another CUDA than torch's is looked for: by an extension, since torch has its own; or an extension
    wants a later C library. bitsandbytes finds its library by itself, and has a rule of its own."""
    libc = messages.in_report(facts, _LIBC)
    if libc is not None and extensions.extension_named(libc.string) in _BOUND:
        return libc
    found = messages.in_report(facts, _LIBRARY)
    text = " ".join(messages.everything(facts))
    if found is None or "bitsandbytes" in text or "ninja: no work to do" in text:  # the last: what torch built earlier
        return None
    if extensions.extension_named(found.string) in _BOUND:
        return found
    if torch is None or not torch.cuda:
        return found if installed.versions(facts).keys() & _BOUND else None
    return found if torch.cuda.partition(".")[0] != found[1] else None


def _told_of(facts: Facts) -> str | None:
    """The one extension that anything names that was said, by the program or by a person."""
    people = (facts.remarks.get(key, "") for key in ("complaint", "question"))
    named = set(extensions.named_in(" ".join((*facts.messages, *people)).replace("-", "_")))
    return named.pop() if len(named) == 1 else None


def _lies_elsewhere(line: str) -> bool:
    """Does it name a file outside any installation? It is a program's own, which no listed extension need have
    brought."""
    found = _COMPILED.search(line)
    return found is not None and "-packages" not in found[0]


def meaning(reason: str) -> str:
    if _NOT_LOADED.search(reason):
        return " does not load"
    if _LIBC.search(reason):
        return " was built for a newer C or C++ library than the one that is found here"
    if found := _NOT_FOUND.search(reason):
        whose = "of CUDA" if found["lib"].lower() in ("cud", "cub") else "of torch"
        return f" asks for a library {whose} that is not found"
    if _OF_ITS_OWN.search(reason):
        return " asks for a function that is neither in it nor in what it is linked with, and by its name is no torch's"
    return " does not fit this torch"


_OF_ITS_OWN = Pattern(r"undefined symbol: _Z\d{1,3}(?!TH|PyInit|Py_|cudnn|cublas|__)[a-z]\w*N2at6Tensor")
"""A C++ function outside of every namespace that takes tensors: torch has none of that kind."""


def proves_no_misfit(reason: str) -> bool:
    """Does the line only say that something is not found, or does not load?"""
    return any(pattern.search(reason) for pattern in (_NOT_LOADED, _NOT_FOUND, _OF_ITS_OWN))


def usually(reason: str, *, on_amd: bool) -> str:
    """What is so in most cases, where the line does not say it; ``on_amd``: the text speaks of AMD's GPU."""
    if _NOT_LOADED.search(reason):
        return (
            "it was built for another torch, CUDA or Python than these; else it was imported before torch, or Visual "
            "C++'s runtime or CUDA's libraries are missing"
        )
    if found := _NOT_FOUND.search(reason):
        if found["lib"].lower() in ("cud", "cub"):
            other = "it was built for another major version of CUDA than torch's; else it was imported before torch"
            return f"{_FOR_CUDA}; else {other}" if on_amd else other
        return (
            "it was imported before torch, this torch is a build for the CPU, or it was built for another release of "
            "torch"
        )
    if _OF_ITS_OWN.search(reason):
        return (
            "files of two builds meet: the folder build or .so files of an earlier state of the sources were used "
            "again, or setup.py leaves out a source file"
        )
    return ""


_FOR_CUDA = "it is a wheel for CUDA, and the GPU is AMD's, for which it has to be built for ROCm, or removed"


def usually_elsewhere(line: str) -> str:
    """What is so in most cases of a file outside of any installation."""
    if _LIBC.search(line):
        return _NEWER_SYSTEM
    return _OLD_BUILD if _lies_elsewhere(line) else ""


_NEWER_SYSTEM = (
    "its ready wheel (or a build brought from elsewhere) was made on a newer system than this one; else an older copy "
    "of that library is found first"
)
_OLD_BUILD = (
    "it is an old build in a source folder that is found first (PYTHONPATH, or the folder that Python is started from),"
    " and was made for another release of torch"
)
