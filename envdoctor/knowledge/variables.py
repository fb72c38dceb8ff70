"""Environment variables that cost speed, and how much is known about it.

Each row says for which values a variable acts, what it then does, and where that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from envdoctor.rule import Severity

_OFF = frozenset({"", "0", "false", "no", "off", "none"})


def on(value: str) -> bool:
    """Set to anything that is not a word for off."""
    return value.strip().lower() not in _OFF


def present(value: str) -> bool:
    """Set to anything at all."""
    return value != ""


def one_of(*words: str) -> Callable[[str], bool]:
    accepted = frozenset(word.lower() for word in words)
    return lambda value: value.strip().lower() in accepted


class Variable(NamedTuple):
    """A variable that acts when ``active(value)``; ``cuda`` ones do nothing in a run on the CPU."""

    name: str
    active: Callable[[str], bool]
    severity: Severity
    effect: str
    source: str
    cuda: bool = False
    early: bool = False  # read when the interpreter or a library loads, before a startup hook could remove it


_TORCH = "https://docs.pytorch.org/docs/stable/"
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_PYTHON = "https://docs.python.org/3/using/cmdline.html#environment-variables"
_DCGM = "https://github.com/NVIDIA/DCGM/blob/master/nvvs/src/Software.cpp"
_CUDA = "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html"

DEBUG = (
    Variable(
        "CUDA_LAUNCH_BLOCKING",
        on,
        Severity.WARNING,
        "every kernel launch waits for the kernel, so the GPU idles between kernels",
        _CUDA,
        cuda=True,
    ),
    Variable(
        "PYTORCH_NO_CUDA_MEMORY_CACHING",
        on,
        Severity.WARNING,
        "every tensor is allocated by cudaMalloc, which synchronises",
        _TORCH + "cuda_environment_variables.html",
        cuda=True,
    ),
    Variable(
        "TORCH_DISTRIBUTED_DEBUG",
        one_of("DETAIL"),
        Severity.WARNING,
        "each collective is checked for consistency across ranks first",
        _TORCH + "distributed.html#torch-distributed-debug",
    ),
    Variable(
        "TORCH_DISTRIBUTED_DEBUG",
        one_of("INFO"),
        Severity.NOTE,
        "DDP logs statistics",
        _TORCH + "distributed.html#torch-distributed-debug",
    ),
    Variable(
        "TORCH_NCCL_BLOCKING_WAIT",
        on,
        Severity.WARNING,
        "the host waits for each collective instead of going on",
        _TORCH + "torch_nccl_environment_variables.html",
        cuda=True,
    ),
    Variable(
        "NCCL_BLOCKING_WAIT",
        on,
        Severity.WARNING,
        "the host waits for each collective instead of going on",
        _TORCH + "torch_nccl_environment_variables.html",
        cuda=True,
    ),
    Variable(
        "CUBLAS_WORKSPACE_CONFIG",
        present,
        Severity.NOTE,
        "cuBLAS is held to a fixed workspace for reproducible results, which can cost speed",
        _TORCH + "notes/randomness.html",
        cuda=True,
    ),
    Variable(
        "TORCH_SHOW_CPP_STACKTRACES",
        on,
        Severity.NOTE,
        "each torch error gathers a C++ stack trace",
        _TORCH + "debugging_environment_variables.html",
    ),
    Variable(
        "TORCH_CPP_LOG_LEVEL",
        one_of("INFO"),
        Severity.NOTE,
        "torch's C++ side logs in detail",
        _TORCH + "debugging_environment_variables.html",
    ),
    Variable(
        "TORCH_LOGS",
        present,
        Severity.NOTE,
        "torch.compile logs what it names, which slows compilation",
        _TORCH + "debugging_environment_variables.html",
    ),
    Variable(
        "TORCH_COMPILE_DEBUG",
        on,
        Severity.WARNING,
        "torch.compile writes every graph and kernel to disk",
        _TORCH + "torch.compiler_troubleshooting.html",
    ),
    Variable(
        "PYTHONDEVMODE",
        on,
        Severity.WARNING,
        "Python checks memory allocations and enables asyncio's debug mode",
        _PYTHON,
        early=True,
    ),
    Variable(
        "PYTHONMALLOC",
        one_of("debug", "malloc_debug", "pymalloc_debug"),
        Severity.WARNING,
        "Python guards every allocation",
        _PYTHON,
        early=True,
    ),
    Variable(
        "PYTHONTRACEMALLOC",
        on,
        Severity.WARNING,
        "Python records where every object was allocated",
        _PYTHON,
        early=True,
    ),
    Variable("PYTHONPROFILEIMPORTTIME", on, Severity.NOTE, "Python times every import", _PYTHON, early=True),
    Variable(
        "MALLOC_CHECK_",
        on,
        Severity.WARNING,
        "the C library checks its heap at every allocation",
        "https://man7.org/linux/man-pages/man3/mallopt.3.html",
        early=True,
    ),
)

COMPILE_OFF = (
    Variable(
        "TORCH_COMPILE_DISABLE",
        on,
        Severity.WARNING,
        "torch.compile does nothing",
        "https://github.com/pytorch/pytorch/blob/main/torch/_dynamo/config.py",
    ),
    Variable(
        "TORCHDYNAMO_DISABLE",
        on,
        Severity.WARNING,
        "torch.compile does nothing",
        "https://github.com/pytorch/pytorch/blob/main/torch/_dynamo/config.py",
    ),
    Variable(
        "TORCHDYNAMO_SUPPRESS_ERRORS",
        on,
        Severity.WARNING,
        "what fails to compile runs uncompiled, and only a log line says so",
        "https://github.com/pytorch/pytorch/blob/main/torch/_dynamo/config.py",
    ),
    Variable(
        "PYTORCH_JIT",
        one_of("0"),
        Severity.WARNING,
        "TorchScript functions run uncompiled",
        _TORCH + "jit.html#disable-jit-for-debugging",
    ),
    Variable(
        "TRITON_INTERPRET",
        on,
        Severity.ERROR,
        "Triton kernels are interpreted on the CPU, thousands of times slower",
        "https://triton-lang.org/main/programming-guide/chapter-3/debugging.html",
        cuda=True,
    ),
)

CACHES_OFF = (
    Variable(
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
        on,
        Severity.WARNING,
        "every start compiles everything again",
        _TORCH + "torch.compiler_troubleshooting.html",
    ),
    Variable(
        "TORCHINDUCTOR_FX_GRAPH_CACHE",
        one_of("0"),
        Severity.WARNING,
        "compiled graphs are not kept between starts",
        "https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_configuration_tutorial.html",
    ),
    Variable(
        "CUDA_CACHE_DISABLE",
        on,
        Severity.WARNING,
        "kernels that the driver compiles from PTX are compiled at every start",
        _CUDA,
        cuda=True,
    ),
    Variable(
        "TRITON_ALWAYS_COMPILE",
        on,
        Severity.WARNING,
        "Triton compiles every kernel again",
        "https://github.com/triton-lang/triton#tips-for-hacking",
        cuda=True,
    ),
    Variable(
        "PYTHONDONTWRITEBYTECODE",
        on,
        Severity.NOTE,
        "modules are compiled at every start",
        _PYTHON,
        early=True,
    ),
)

PROFILERS = tuple(
    Variable(name, present, severity, effect, _DCGM, cuda=True)
    for name, severity, effect in (
        ("CUDA_PROFILE", Severity.WARNING, "an old profiler is switched on"),
        ("COMPUTE_PROFILE", Severity.WARNING, "an old profiler is switched on"),
        ("OPENCL_PROFILE", Severity.NOTE, "an old profiler is switched on for OpenCL"),
        ("CUDA_INJECTION32_PATH", Severity.NOTE, "a profiler library is loaded into 32-bit CUDA programs"),
        ("CUDA_INJECTION64_PATH", Severity.WARNING, "a profiler library is loaded into every CUDA program"),
        ("NSIGHT_CUDA_DEBUGGER", Severity.WARNING, "CUDA programs start under a debugger"),
        ("CUDA_AUTO_BOOST", Severity.NOTE, "GPU clocks may be held down"),
        ("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", Severity.NOTE, "a fault writes a dump of the GPU"),
        ("CUDA_COREDUMP_FILE", Severity.NOTE, "names the file of GPU dumps"),
        ("CUDA_DEVICE_WAITS_ON_EXCEPTION", Severity.NOTE, "a fault stops the GPU and waits for a debugger"),
    )
)

NCCL = (
    Variable(
        "NCCL_P2P_DISABLE",
        on,
        Severity.WARNING,
        "all traffic between the GPUs goes through host memory",
        _NCCL,
        cuda=True,
    ),
    Variable(
        "NCCL_P2P_LEVEL",
        one_of("LOC", "0"),
        Severity.WARNING,
        "direct traffic between GPUs is off",
        _NCCL,
        cuda=True,
    ),
    Variable("NCCL_IB_DISABLE", on, Severity.WARNING, "InfiniBand and RoCE are not used", _NCCL, cuda=True),
    Variable("NCCL_SHM_DISABLE", on, Severity.WARNING, "shared memory between ranks is not used", _NCCL, cuda=True),
    Variable("NCCL_NVLS_ENABLE", one_of("0"), Severity.NOTE, "reductions inside NVSwitch are off", _NCCL, cuda=True),
    Variable(
        "NCCL_NET_GDR_LEVEL",
        one_of("LOC", "0"),
        Severity.WARNING,
        "network cards do not reach GPU memory directly",
        _NCCL,
        cuda=True,
    ),
    Variable("NCCL_DEBUG", one_of("INFO", "TRACE"), Severity.NOTE, "NCCL logs in detail", _NCCL, cuda=True),
    Variable(
        "NCCL_LAUNCH_MODE", one_of("GROUP"), Severity.NOTE, "an old way of launching collectives", _NCCL, cuda=True
    ),
    Variable("NCCL_ALGO", present, Severity.NOTE, "NCCL may not choose its algorithm", _NCCL, cuda=True),
    Variable("NCCL_PROTO", present, Severity.NOTE, "NCCL may not choose its protocol", _NCCL, cuda=True),
)

SETTINGS = (
    Variable(
        "CUDA_DEVICE_MAX_CONNECTIONS",
        one_of("1"),
        Severity.NOTE,
        "one hardware queue, as Megatron's overlap wants it; other runs lose concurrent streams",
        "https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/arguments.py",
        cuda=True,
    ),
    Variable(
        "CUDA_MODULE_LOADING",
        one_of("EAGER"),
        Severity.NOTE,
        "every kernel is loaded at the start: a slower start and more GPU memory, the steps are as fast",
        _CUDA,
        cuda=True,
    ),
    Variable(
        "CUDA_DEVICE_ORDER",
        one_of("FASTEST_FIRST"),
        Severity.NOTE,
        "GPUs are numbered otherwise than nvidia-smi numbers them",
        _CUDA,
        cuda=True,
    ),
    Variable(
        "TOKENIZERS_PARALLELISM",
        one_of("false", "0", "off", "no"),
        Severity.NOTE,
        "batches are tokenised on one thread; training on ready tokens does not notice",
        "https://github.com/huggingface/tokenizers",
    ),
    Variable(
        "TORCH_CUDNN_V8_API_DISABLED",
        on,
        Severity.NOTE,
        "convolutions use cuDNN's old interface, with fewer algorithms",
        _TORCH + "cuda_environment_variables.html",
        cuda=True,
    ),
    Variable(
        "DISABLE_ADDMM_CUDA_LT",
        on,
        Severity.NOTE,
        "linear layers do not fuse their bias (cuBLASLt is off)",
        "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/Blas.cpp",
        cuda=True,
    ),
    Variable(
        "PYTORCH_NVML_BASED_CUDA_CHECK",
        on,
        Severity.NOTE,
        "torch asks NVML, not CUDA, whether there is a GPU, and may say yes where CUDA fails",
        _TORCH + "cuda_environment_variables.html",
        cuda=True,
    ),
)

UNREAD: Mapping[str, str] = {
    "TORCH_CUDNN_BENCHMARK": "torch.backends.cudnn.benchmark = True",
    "TORCH_BACKENDS_CUDNN_BENCHMARK": "torch.backends.cudnn.benchmark = True",
    "CUDNN_BENCHMARK": "torch.backends.cudnn.benchmark = True",
    "TORCH_ALLOW_TF32": 'torch.set_float32_matmul_precision("high")',
    "PYTORCH_ALLOW_TF32": 'torch.set_float32_matmul_precision("high")',
    "TORCH_FLOAT32_MATMUL_PRECISION": 'torch.set_float32_matmul_precision("high")',
    "PYTORCH_CUDA_ALLOC_CONFIG": "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOCATOR_CONF": "PYTORCH_ALLOC_CONF",
    "TORCH_USE_FLASH_ATTENTION": 'attn_implementation="sdpa" or "flash_attention_2" when the model is loaded',
    "USE_FLASH_ATTENTION": 'attn_implementation="sdpa" or "flash_attention_2" when the model is loaded',
    "TORCH_NUM_THREADS": "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICE": "CUDA_VISIBLE_DEVICES",
}
"""Variables found in public launch files that no library reads, and what does what they seem to promise."""


def names() -> frozenset[str]:
    """Every variable of these tables: what a probe must report for the rules to judge."""
    rows = (*DEBUG, *COMPILE_OFF, *CACHES_OFF, *PROFILERS, *NCCL, *SETTINGS)
    return frozenset(row.name for row in rows) | frozenset(UNREAD)
