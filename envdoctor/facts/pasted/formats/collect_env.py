"""``python -m torch.utils.collect_env``, and the fields that other tools took over from it (vLLM, mmcv, sglang).

The keys are those of torch/utils/collect_env.py from 1.0 to 2.13; vLLM pads them with spaces before the colon.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import INFERRED, LISTED, Draft
from envdoctor.facts.pasted.formats.conda import read_row
from envdoctor.facts.pasted.formats.nvidia_smi_list import read_gpu
from envdoctor.facts.pasted.formats.platform import read_kernel, read_platform, read_system
from envdoctor.facts.pasted.page import Page, normal, pair

Field = Callable[[Draft, str], None]
FORMAT = "collect_env"


def python_version(draft: Draft, value: str) -> None:
    """ "3.9.13 (64-bit runtime)", "3.10.6 (main, Nov 14 2022, 16:10:14) [GCC 11.3.0] (64-bit runtime)"."""
    found = re.search(r"(?<![\d.])(\d\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d{1,2})?)(t\b)?(?![\d.])", value)
    if found:
        draft.claim("interpreter.version", found[1])
        if found[2] or "free-threading" in value:
            draft.claim("interpreter.free_threaded", True)
    if re.search(r"conda|Anaconda", value):
        draft.claim("interpreter.is_conda", True, INFERRED)


def torch_version(draft: Draft, value: str) -> None:
    """ "2.6.0+cu124", "2.4.1+cu118 (True)", "1.13.0 (CPU only)", "N/A" when torch cannot be imported."""
    if not value.strip():
        return  # a heading, whose value stands below it
    bracket = re.search(r"\(([^()]{1,40})\)", value)
    if words.is_unknown(value.partition("(")[0]):
        draft.no_torch = "the report says that torch is not installed or cannot be imported"
        return
    version = words.version(value)
    if version is None:
        return
    draft.claim("torch.version", version)
    if bracket and bracket[1].strip().lower() in ("true", "false"):
        draft.claim("torch.cuda_available", bracket[1].strip().lower() == "true")
    elif bracket and bracket[1].strip() in ("CUDA", "GPU"):
        draft.claim("torch.cuda_available", True, INFERRED)
    elif re.search(r"\bcpu[- ]only\b|\bCPU\b", value):
        draft.claim("torch.cuda", "", INFERRED)


def torch_cuda(draft: Draft, value: str) -> None:
    """CUDA that torch was built with. "None" and, in older releases, "Could not collect" mean a build without CUDA."""
    if words.is_unknown(value):
        na = value.strip(" .'\"").lower() in ("n/a", "not shown", "not given", "unknown", "")
        if not na:
            draft.claim("torch.cuda", "", LISTED)
        return
    found = re.search(r"\d{1,2}\.\d{1,2}", value)
    draft.claim("torch.cuda", found[0] if found else None)


def torch_hip(draft: Draft, value: str) -> None:
    if not words.is_unknown(value) and (version := words.version(value)):
        draft.claim("torch.hip", version)
        draft.claim("torch.cuda", "")


def cuda_available(draft: Draft, value: str) -> None:
    draft.claim("torch.cuda_available", words.truth(value))


def nvcc(draft: Draft, value: str) -> None:
    """collect_env calls "CUDA runtime version" what nvcc says of itself."""
    if words.is_unknown(value):
        return
    found = re.search(r"\d{1,2}\.\d{1,2}(?:\.\d{1,4})?", value)
    draft.claim("host.nvcc", found[0] if found else None)


def driver(draft: Draft, value: str) -> None:
    found = None if words.is_unknown(value) else re.search(r"(?<![\d.])\d{3}(?:\.\d{1,3}){0,2}(?![\d.])", value)
    draft.claim("driver.kernel_module", found[0] if found else None)


def compiler(draft: Draft, value: str) -> None:
    """ "(Ubuntu 5.4.0-6ubuntu1~16.04.12) 5.4.0 20160609": the packager's version in brackets is not gcc's."""
    found = (
        None if words.is_unknown(value) else re.search(r"\d{1,2}(?:\.\d{1,2}){1,2}", re.sub(r"\([^()]*\)", "", value))
    )
    draft.claim("host.compiler", f"gcc {found[0]}" if found else None)


def libc(draft: Draft, value: str) -> None:
    found = re.search(r"(glibc|musl)\D{0,3}(\d[\d.]*\d)", value)
    draft.claim("interpreter.libc", f"{found[1]} {found[2]}" if found else None)


def allocator(draft: Draft, value: str) -> None:
    """ "expandable_segments:True" in 2.4 to 2.9; a dict of three variables later."""
    if words.is_unknown(value):
        return
    if value.startswith("{"):
        try:
            settings = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return
        for name, setting in settings.items() if isinstance(settings, dict) else ():
            draft.variable(str(name), str(setting))
    else:
        draft.variable("PYTORCH_CUDA_ALLOC_CONF", value)


def module_loading(draft: Draft, value: str) -> None:
    """LAZY is what torch sets itself; anything else was set by somebody."""
    if not words.is_unknown(value) and value.upper() != "LAZY":
        draft.variable("CUDA_MODULE_LOADING", value)


def debug_build(draft: Draft, value: str) -> None:
    draft.claim("torch.debug_build", words.truth(value))


def xpu(draft: Draft, value: str) -> None:
    if not words.is_unknown(value):
        draft.claim("torch.xpu", words.version(value))


def kernel(draft: Draft, value: str) -> None:
    if found := re.match(r"(?:Linux\s+(?:\S+\s+)?)?(\d+\.\d+[\w.+-]*)", value):
        read_kernel(found[1], draft)


def platform(draft: Draft, value: str) -> None:
    read_platform(value, draft)


def system(draft: Draft, value: str) -> None:
    if not words.is_unknown(value):
        read_system(value, draft)


def ignore(draft: Draft, value: str) -> None:
    """Known to the tool, of no use to a rule."""


def _table(fields: Mapping[str, Field]) -> Mapping[str, Field]:
    return {normal(key): field for key, field in fields.items()}


FIELDS = _table(
    {
        "PyTorch version": torch_version,
        "Is debug build": debug_build,
        "CUDA used to build PyTorch": torch_cuda,
        "ROCM used to build PyTorch": torch_hip,
        "XPU used to build PyTorch": xpu,
        "OS": system,
        "GCC version": compiler,
        "Clang version": ignore,
        "CMake version": ignore,
        "Libc version": libc,
        "Python version": python_version,
        "Python platform": platform,
        "Is CUDA available": cuda_available,
        "CUDA runtime version": nvcc,
        "CUDA_MODULE_LOADING set to": module_loading,
        "Nvidia driver version": driver,
        "Is XPU available": ignore,
        "HIP runtime version": torch_hip,
        "MIOpen runtime version": ignore,
        "Is XNNPACK available": ignore,
        "Caching allocator config": allocator,
        "ROCM Version": torch_hip,
        "Neuron SDK Version": ignore,
    }
)


def read(page: Page, draft: Draft) -> None:
    """Fields of one line, and the ones that run over several: GPUs, cuDNN, the tagged package lists."""
    for number, text in page.left():
        found = pair(text)
        if found is None:
            _package(page, draft, number, text)
            continue
        key, value = normal(found[0]), found[1]
        if key == "gpu models and configuration":
            _gpus(page, draft, number, value)
        elif key == "cudnn version":
            _cudnn(page, draft, number, value)
        elif key in FIELDS:
            FIELDS[key](draft, value)
        elif not _package(page, draft, number, text) and key not in _HEADINGS:
            continue
        page.take(number)
        if key not in _SHARED:
            draft.format("vllm" if "vllm" in key else FORMAT)


_HEADINGS = frozenset(("versions of relevant libraries", "intel gpu driver version", "intel gpu models onboard",
                       "intel gpu models detected", "collecting environment information"))  # fmt: skip
_SHARED = frozenset(("python version", "os", "pytorch version"))


def _gpus(page: Page, draft: Draft, number: int, value: str) -> None:
    """One "GPU 0: name" on the line, or several on the following ones; ROCm prints the bare name of its first GPU."""
    bare = False
    if words.is_unknown(value):
        if value.lower().startswith("no cuda"):
            draft.remark("GPU models and configuration", value)
        following = value == ""
        if not following:
            return
    elif not read_gpu(draft, value):
        if re.search(r"gfx\d|\bAMD\b|Radeon|Instinct|gcnArch", value):
            draft.claim("driver.other_accelerators", (value,))
        elif not re.search(r"Intel|Apple", value):
            draft.gpu(0, name=value)
            bare = len(draft.gpus) == 1
    for line, text in page.after(number):
        if not text:
            break
        if not read_gpu(draft, text) and not re.match(r"MIG \S+\s+Device", text):
            break
        page.take(line)
        bare = False
    if draft.gpus and not bare:  # which GPU somebody has, written by hand, does not say how many there are
        draft.claim("gpus.count", max(draft.gpus) + 1, INFERRED)


def _cudnn(page: Page, draft: Draft, number: int, value: str) -> None:
    """Files of cuDNN that the loader could find: not what torch uses (its wheel brings its own)."""
    if words.is_unknown(value):
        return
    found = [value] if "one of the following" not in value else []
    for line, text in page.after(number):
        if not re.match(r"(?:/|[A-Za-z]:\\)\S*cudnn\S*$", text):
            break
        found.append(text)
        page.take(line)
    draft.remark("cuDNN version", ", ".join(found))


def _package(page: Page, draft: Draft, number: int, text: str) -> bool:
    """ "[pip3] torch==2.6.0" and "[conda] pytorch  1.12.1  py3.9_cuda11.3_cudnn8.3.2_0  pytorch"."""
    found = re.match(r"\[(pip3?|conda)\]\s*(\S.*)", text)
    if not found:
        return False
    page.take(number)
    draft.format(FORMAT)
    if words.is_unknown(found[2]) or found[2].startswith("No relevant"):
        return True
    if found[1] == "conda":
        read_row(draft, found[2].split())
    elif pin := re.match(r"([A-Za-z0-9][\w.-]*)\s*==\s*(\S+)", found[2]):
        draft.package(pin[1], pin[2], LISTED)
    return True
