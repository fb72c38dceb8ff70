"""Variables that were set once to find a fault, and what each costs while it stays."""

from __future__ import annotations

from envdoctor.knowledge.variables import Variable, on, one_of, present
from envdoctor.rule import Severity

_TORCH = "https://docs.pytorch.org/docs/stable/"
_PYTHON = "https://docs.python.org/3/using/cmdline.html#environment-variables"
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
