"""Variables that NVIDIA's libraries and their neighbours read: profilers, NCCL, and settings for some runs only."""

from __future__ import annotations

from envdoctor.knowledge.variables import Variable, on, one_of, present
from envdoctor.rule import Severity

_TORCH = "https://docs.pytorch.org/docs/stable/"
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_DCGM = "https://github.com/NVIDIA/DCGM/blob/master/nvvs/src/Software.cpp"
_CUDA = "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html"

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
