"""Plain ``key: value`` lines that name a thing of the machine or of torch, whichever tool or person wrote them.

Among them are Python expressions with their value ("torch.version.cuda: 12.1"), as people paste them from a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import LISTED, Draft
from envdoctor.facts.pasted.formats.collect_env import (
    Field,
    cuda_available,
    driver,
    kernel,
    nvcc,
    platform,
    python_version,
    system,
    torch_cuda,
    torch_hip,
    torch_version,
)
from envdoctor.facts.pasted.page import Page, normal, pair
from envdoctor.values.pattern import Pattern


def capability(draft: Draft, value: str) -> None:
    """ "8.6", "(8, 6)", "sm_86": one holds for every listed GPU, several are taken in order."""
    found = re.findall(r"(?<![\d.])(\d{1,2})(?:\.|,\s?)(\d)(?![\d.])", value) or re.findall(r"sm_?(\d{1,2})(\d)", value)
    if found:
        draft.claim("torch.capabilities", tuple(f"{major}.{minor}" for major, minor in found))


def architectures(draft: Draft, value: str) -> None:
    draft.claim("torch.arch_list", tuple(re.findall(r"(?:sm|compute)_\d{2,3}[a-z]?", value)) or None)


def cudnn(draft: Draft, value: str) -> None:
    """torch.backends.cudnn.version(): 8902 is 8.9.2, 90100 is 9.1.0 (the step came with cuDNN 9)."""
    if found := re.fullmatch(r"\d{4,6}", value.strip()):
        whole = int(found[0])
        base = 10_000 if whole >= 90_000 else 1_000
        draft.claim("torch.cudnn", f"{whole // base}.{whole % base // 100}.{whole % 100}")
    elif not words.is_unknown(value):
        draft.claim("torch.cudnn", words.version(value))


def nccl(draft: Draft, value: str) -> None:
    parts = re.findall(r"\d{1,3}", value)
    draft.claim("torch.nccl", ".".join(parts[:3]) if len(parts) >= 2 else None)


def cxx11_abi(draft: Draft, value: str) -> None:
    draft.claim("torch.cxx11_abi", words.truth(value))


def device_count(draft: Draft, value: str) -> None:
    draft.claim("torch.device_count", words.number(value))


def gpu_count(draft: Draft, value: str) -> None:
    count = words.number(value)
    draft.claim("gpus.count", count if count is None or 0 <= count <= 1024 else None)


def gpu_name(draft: Draft, value: str) -> None:
    """ "NVIDIA A100-SXM4-80GB", "8 x NVIDIA H100", "NVIDIA GeForce RTX 4090 (24 GB)"."""
    if words.is_unknown(value) or words.truth(value) is not None or value.isdigit():
        return
    if re.search(r"\bAMD\b|Radeon|Instinct|gfx\d", value):
        draft.claim("driver.other_accelerators", (value,))
        return
    found = re.fullmatch(r"(?:(\d{1,3})\s?[x×*]\s?)?(.{2,200}?)(?:\s?[x×*]\s?(\d{1,3}))?", value)
    if found:
        count = found[1] or found[3]
        draft.gpu(0, name=found[2].strip(" ,"))
        draft.claim("gpus.count", int(count) if count else None, LISTED)


def gpu_memory(draft: Draft, value: str) -> None:
    if draft.gpus:
        for index in draft.gpus:
            draft.gpu(index, memory=words.size(value))


def management_library(draft: Draft, value: str) -> None:
    """Version of the driver's libraries beside its kernel module; with two parts only it is a release branch."""
    found = re.match(r"v?(\d{3}\.\d{1,3}\.\d{1,3})\b", value)
    draft.claim("driver.management_library", found[1] if found else None)


def memory(draft: Draft, value: str) -> None:
    draft.claim("host.memory", words.size(value))


def shm(draft: Draft, value: str) -> None:
    draft.claim("host.shm", words.size(value))


def cpu_model(draft: Draft, value: str) -> None:
    if re.search(r"[A-Za-z]{3}", value) and not words.is_unknown(value):
        draft.claim("host.cpu_model", value)


def cpus(draft: Draft, value: str) -> None:
    draft.claim("host.cpus", words.number(value))


def cuda_of_driver(draft: Draft, value: str) -> None:
    found = re.match(r"\d{1,2}\.\d{1,2}", value)
    draft.claim("driver.cuda", found[0] if found else None, LISTED)


def threads(draft: Draft, value: str) -> None:
    draft.claim("torch.threads", words.number(value))


def cpu_quota(draft: Draft, value: str) -> None:
    """CPUs: "4", "4.0 CPUs", or the cgroup's own "400000 100000"."""
    numbers = [float(part) for part in re.findall(r"\d{1,12}(?:\.\d{1,6})?", value)]
    if numbers:
        cpus_ = numbers[0] / numbers[1] if len(numbers) > 1 and numbers[1] >= 1000 else numbers[0]
        draft.claim("host.cpu_quota", cpus_ if 0 < cpus_ < 10_000 else None)


def open_files(draft: Draft, value: str) -> None:
    draft.claim("host.files_soft", words.number(value))


def cudnn_built(draft: Draft, value: str) -> None:
    draft.claim("torch.cudnn_built", words.version(value))


FIELDS: Mapping[str, Field] = {
    normal(key): field
    for field, keys in {
        torch_version: ("torch version", "torch.__version__", "torch.version", "pytorch", "torch", "pt version"),
        torch_cuda: ("torch.version.cuda", "torch cuda version", "pytorch cuda version", "torch cuda", "cuda of torch",
                     "pytorch cuda", "torch.cuda.version", "cuda (torch)"),
        torch_hip: ("torch.version.hip", "torch hip version"),
        cuda_available: ("torch.cuda.is_available()", "torch.cuda.is_available", "cuda available", "cuda is available",
                         "is cuda available?", "gpu available", "cuda.is_available()", "cuda_available"),
        device_count: ("torch.cuda.device_count()", "device count", "torch.cuda.device_count"),
        architectures: ("torch.cuda.get_arch_list()", "arch list", "torch arch list", "torch.cuda.get_arch_list",
                        "arch_list", "cuda arch list"),
        capability: ("compute capability", "torch.cuda.get_device_capability()", "torch.cuda.get_device_capability(0)",
                     "cuda capability", "gpu compute capability", "device capability", "compute capabilities",
                     "torch.cuda.get_device_capability", "cuda compute capability", "compute_cap"),
        cudnn: ("torch.backends.cudnn.version()", "torch.backends.cudnn.version", "torch cudnn version", "torch cudnn"),
        cudnn_built: ("cudnn torch was built with", "cudnn used to build pytorch"),
        nccl: ("torch.cuda.nccl.version()", "nccl version"),
        cxx11_abi: ("torch._c._glibcxx_use_cxx11_abi", "torch.compiled_with_cxx11_abi()", "cxx11_abi.torch",
                    "torch._c._glibcxx_use_cxx11_abi()", "torch cxx11 abi", "glibcxx_use_cxx11_abi"),
        threads: ("torch.get_num_threads()", "torch.get_num_threads"),
        gpu_name: ("gpu type", "gpu", "gpu name", "gpu model", "torch.cuda.get_device_name(0)", "gpus", "graphics card",
                   "torch.cuda.get_device_name()", "device name", "cuda device", "gpu device", "video card"),
        gpu_memory: ("gpu memory", "gpu ram", "vram", "gpu max memory", "gpu_memory"),
        gpu_count: ("gpu number", "number of gpus", "gpu count", "num gpus", "gpus per node", "gpu_count", "n gpus"),
        python_version: ("python", "python version", "sys.version", "python_version"),
        system: ("os", "operating system", "os version", "distribution", "linux distribution"),
        platform: ("platform", "python platform", "sys.platform", "platform.platform()"),
        kernel: ("kernel", "kernel version", "uname -r", "linux kernel", "uname", "kernel release"),
        nvcc: ("nvcc version", "nvcc", "cuda toolkit", "cuda toolkit version", "cuda runtime version", "nvcc --version",
               "toolkit version", "system cuda version", "cuda toolkit in path"),
        driver: ("nvidia driver version", "driver version", "nvidia driver", "driver", "gpu driver", "kernel module",
                 "nvidia-smi", "nvidia driver (nvidia-smi)", "gpu driver version", "nvidia-smi driver version",
                 "nvrm version", "cuda driver"),
        cuda_of_driver: ("cuda driver version", "driver cuda version", "nvidia-smi cuda version", "smi_cuda",
                         "cuda version (nvidia-smi)", "torch._c._cuda_getdriverversion()"),
        management_library: ("driver libraries", "user space driver libraries", "driver library", "libnvidia-ml",
                             "nvml library version", "nvml library", "userspace driver", "user space driver",
                             "user-space driver libraries", "user-space driver", "nvidia libraries"),
        memory: ("system ram", "ram", "memory", "total memory", "physical memory", "system memory", "total ram"),
        shm: ("shared memory (/dev/shm) size", "/dev/shm", "/dev/shm size", "shm size", "shm", "shared memory",
              "shm_size", "shm-size", "--shm-size", "df -h /dev/shm"),
        cpu_model: ("cpu", "cpu model", "processor", "cpu name", "cpu type"),
        cpus: ("cpu count", "cpu cores", "number of cpus", "cpus", "os.cpu_count()", "nproc", "vcpus", "cpu threads",
               "logical cpus"),
        cpu_quota: ("cpu quota", "cpu limit", "cpus allowed", "cpu.max", "cgroup cpus", "container cpus", "cpu request",
                    "cgroup cpu quota", "allowed cpus", "cpus (cgroup)"),
        open_files: ("ulimit -n", "open files", "rlimit_nofile", "nofile", "open files (-n)", "max open files",
                     "open file limit", "ulimit", "file limit"),
    }.items()
    for key in keys
}  # fmt: skip

_LIKE: tuple[tuple[Pattern, Field], ...] = (
    (Pattern(r"\A(?=.*\bcpus?\b)(?=.*\b(?:quota|allowed|limit|cgroup|granted)\b)(?!.*\bmemory\b)"), cpu_quota),
    (Pattern(r"\A(?=.*\bcpus?\b)(?=.*\b(?:visible|count|total|logical|seen|available|host|machine|node)\b)"), cpus),
    (
        Pattern(r"\A(?=.*\bthreads?\b)(?=.*\b(?:torch|num|intra|intraop|omp|compute)\b)(?!.*\bper\b)(?!.*\binter)"),
        threads,
    ),
    (Pattern(r"\A(?=.*\b(?:open files|nofile|file descriptors|ulimit n|ulimit -n|rlimit nofile)\b)"), open_files),
    (Pattern(r"\A(?=.*(?:/dev/shm|\bshm\b|\bshared memory\b))(?!.*\bgpu\b)"), shm),
)
"""Keys in a person's own words: "cpus_visible", "torch_threads", "docker.shm_size". Their values are plain numbers."""


def _build_configuration(draft: Draft, text: str) -> bool:
    """Rows of torch.__config__.show(), which mmcv, detectron2 and others print."""
    if found := re.fullmatch(r"CUDA Runtime (\d{1,2}\.\d{1,2})", text):
        draft.claim("torch.cuda", found[1], LISTED)
    elif found := re.fullmatch(r"CuDNN (\d[\d.]*\d)(?:\s+\(built against CUDA .*\))?", text):
        draft.claim("torch.cudnn", found[1], LISTED)
    elif text.startswith("NVCC architecture flags: "):
        architectures(draft, " ".join(re.findall(r"code=((?:sm|compute)_\d{2,3}[a-z]?)", text)))
    else:
        return False
    return True


_VALUED = Pattern(r"(torch\.[\w.]+(?:\([^()]{0,20}\))?) (True|False|None|[\d.]+\S{0,20})")


def read(page: Page, draft: Draft) -> None:
    """Lines whose key is in the table; "CUDA Version" with its capital is what nvidia-smi prints of the driver."""
    libraries: list[str] = []
    above = ""
    for number, text in page.left():
        if tools := re.search(r"Cuda compilation tools, release (\d{1,2}\.\d{1,2})(?:, V([\d.]+\d))?", text):
            draft.claim("host.nvcc", tools[2] or tools[1])
            page.take(number)
            continue
        if _build_configuration(draft, text):
            page.take(number)
            continue
        found = pair(text)
        if found is None or len(found[1]) > 400:
            if version := re.fullmatch(r"Python (3\.\d{1,2}(?:\.\d{1,2})?\S{0,4})", text):
                draft.claim("interpreter.version", words.version(version[1]), LISTED)
            elif (said := _VALUED.fullmatch(text)) and (field := FIELDS.get(normal(said[1]))):
                field(draft, said[2])
                page.take(number)
            continue
        key, value = found
        if re.fullmatch(r"(?:loaded )?lib[\w.+-]+\.so[\d.]*", key) and re.match(r"(?:/|\w:\\|~|\.{0,2}/)\S+$", value):
            libraries.append(value)
            page.take(number)
            continue
        field = FIELDS.get(normal(key))
        beside_driver, above = "driver" in above, normal(key)
        if key == "CUDA Version" or (key == "CUDA" and beside_driver):
            field = cuda_of_driver
        if field is None and re.match(r"\d[\d.,]*\s?(?:[KMGT]i?B?|CPUs?|threads?|files?)?$", value, re.IGNORECASE):
            words_ = normal(key).replace(".", " ")
            field = next((like for pattern, like in _LIKE if pattern.match(words_)), None)
        if field is None and normal(key).startswith("cxx11 abi."):
            truth = words.truth(value)
            draft.extension(normal(key).removeprefix("cxx11 abi.").replace(" ", "-"), cxx11_abi=truth)
            page.take(number)
        elif field is not None and not _is_message(value):
            field(draft, value)
            page.take(number)
    if libraries:
        draft.claim("torch.libraries", tuple(dict.fromkeys(libraries)))


def _is_message(value: str) -> bool:
    """ "torch: undefined symbol ..." is an error with the name of its module, not a version."""
    return bool(
        re.search(r"\b(?:error|undefined|mismatch|incompatible|failed|required|requires)\b", value, re.IGNORECASE)
    )
