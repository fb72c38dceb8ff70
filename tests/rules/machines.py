"""Machines in good order: what no rule may complain of."""

from __future__ import annotations

from envdoctor.facts.model import (
    Distribution,
    Driver,
    Facts,
    Flag,
    Gpu,
    Gpus,
    Host,
    Interpreter,
    Network,
    Packages,
    Storage,
    Torch,
    Unavailable,
)
from envdoctor.locks.stack import Locked
from envdoctor.locks.target import StackChoice, Target

GIB = 1 << 30

_VERSIONS = {
    "accelerate": "1.15.0",
    "certifi": "2026.9.1",
    "datasets": "5.2.0",
    "filelock": "4.2.12",
    "huggingface-hub": "2.4.0",
    "numpy": "2.4.6",
    "packaging": "26.3",
    "peft": "0.21.2",
    "pyarrow": "26.0.1",
    "safetensors": "0.8.0",
    "tokenizers": "0.23.3",
    "transformers": "5.23.0",
}
_GPU_VERSIONS = {
    "torch": "2.15.0",
    "triton": "3.9.0",
    "nvidia-cublas": "13.4.1.2",
    "nvidia-cudnn-cu13": "9.26.0.51",
    "nvidia-nccl-cu13": "2.30.7",
}
_REQUIRES = {
    "transformers": (
        "tokenizers<=0.23.3,>=0.22",
        "huggingface-hub<3,>=1.5",
        "numpy>=1.17",
        'tomli; python_version < "3.11"',
    ),
    "accelerate": ("torch>=2.0.0", "numpy<3,>=1.17", 'deepspeed; extra == "deepspeed"'),
    "torch": ('triton~=3.9.0; platform_system == "Linux"', "nvidia-cudnn-cu13==9.26.0.51", "filelock"),
}
_MARKERS = {
    "implementation_name": "cpython",
    "implementation_version": "3.12.11",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "6.8.0",
    "platform_system": "Linux",
    "platform_version": "#1 SMP",
    "python_full_version": "3.12.11",
    "python_version": "3.12",
    "sys_platform": "linux",
}


def _packages(versions: dict[str, str]) -> Packages:
    return Packages(
        distributions=tuple(
            Distribution(
                name=name,
                version=version,
                location="/env/lib/python3.12/site-packages",
                installer="uv",
                requires=_REQUIRES.get(name, ()) if "triton" in versions or name != "torch" else ("filelock",),
                requires_python=">=3.10",
                tags=("py3-none-any",) if name != "torch" else ("cp312-cp312-manylinux_2_28_x86_64",),
            )
            for name, version in versions.items()
        ),
        damage_checked="sizes",
        pip="26.3",
    )


def _choice(versions: dict[str, str], stack: str, cuda: str) -> StackChoice:
    pins = tuple(Locked(name=name, version=version, wheel="", sha256="0" * 64) for name, version in versions.items())
    return StackChoice(stack=stack, reason="it fits", pins=pins, cuda=cuda)


_INTERPRETER = Interpreter(
    version="3.12.11",
    executable="/env/bin/python",
    prefix="/env",
    base_prefix="/usr",
    markers=_MARKERS,
    platform="linux-x86_64",
    libc="glibc 2.39",
    is_virtual=True,
    is_conda=False,
    externally_managed=False,
    site_packages=("/env/lib/python3.12/site-packages",),
    writable=True,
    free_threaded=False,
    debug_build=False,
    headers="/usr/include/python3.12/Python.h",
    active_environment="/env",
)
_STORAGE = tuple(
    Storage(
        purpose=purpose, path=path, filesystem="ext4", writable=True, noexec=False, free=400 * GIB, free_inodes=10**7
    )
    for purpose, path in (
        ("environment", "/env"),
        ("working-directory", "/work"),
        ("temporary", "/tmp"),
        ("triton-cache", "/root/.triton/cache"),
        ("inductor-cache", "/tmp/torchinductor_root"),
        ("hf-home", "/root/.cache/huggingface"),
    )
)
_HOST = Host(
    system="Linux",
    distribution="Ubuntu 24.04 LTS",
    kernel="6.8.0-90-generic",
    machine="x86_64",
    container="",
    cpu_model="Intel Xeon Platinum 8480+",
    cpu_flags=("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8", "amx_tile"),
    cpus=32,
    cores=16,
    affinity=32,
    cpu_periods=0,
    cpu_throttled=0,
    governor="performance",
    clocksource="tsc",
    numa_nodes=1,
    memory=256 * GIB,
    memory_available=240 * GIB,
    swap=0,
    shm=128 * GIB,
    shm_free=128 * GIB,
    files_soft=65536,
    files_hard=1048576,
    locked_memory=-1,
    processes_soft=-1,
    pressure_cpu=0.1,
    load=0.4,
    transparent_hugepages="madvise",
    compiler="gcc 13.3.0",
    nvcc="",
    uid=0,
    storage=_STORAGE,
)
_VARIABLES = {
    "PATH": "/usr/bin",
    "HF_HOME": "/root/.cache/huggingface",
    "PYTORCH_ALLOC_CONF": "expandable_segments:True",
}


def _flags(**values: str) -> dict[str, Flag]:
    return {name.replace("_", "-"): Flag(value=value) for name, value in values.items()}


H100_TARGET = Target(
    name="h100",
    title="NVIDIA H100",
    gpu_names=("H100",),
    capability="9.0",
    stacks=("cu130",),
    flags={"float32-matmul-precision": "high"},
    variables={"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
    choice=_choice({**_VERSIONS, **_GPU_VERSIONS}, "cu130", "13.0"),
)
H100 = Facts(
    interpreter=_INTERPRETER,
    packages=_packages({**_VERSIONS, **_GPU_VERSIONS, "pip": "26.3"}),
    variables=_VARIABLES,
    host=_HOST,
    driver=Driver(
        kernel_module="580.95.05",
        library="580.95.05",
        management_library="580.95.05",
        cuda="13.0",
        cuinit=0,
        devices=("/dev/nvidia0",),
        pci=("0000:01:00.0 10de:2330",),
        open_module=True,
        smi="",
    ),
    gpus=Gpus(
        devices=(
            Gpu(
                index=0,
                name="NVIDIA H100 80GB HBM3",
                capability="9.0",
                memory=80 * GIB,
                memory_used=4 << 20,
                power_limit=700.0,
                power_default=700.0,
                utilization=0,
                temperature=35,
                throttle_reasons=("idle",),
                pcie_generation=5,
                pcie_generation_max=5,
                pcie_width=16,
                pcie_width_max=16,
                ecc_mode=True,
                ecc_uncorrected=0,
                rows_pending=False,
                rows_failed=False,
                mig=False,
                persistence=True,
                compute_mode="default",
                processes=0,
            ),
        ),
        count=1,
    ),
    torch=Torch(
        version="2.15.0+cu130",
        cuda="13.0",
        debug_build=False,
        cxx11_abi=True,
        cudnn="9.26.0",
        cudnn_built="9.26.0",
        nccl="2.30.7",
        arch_list=("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
        cuda_available=True,
        device_count=1,
        capabilities=("9.0",),
        flags=_flags(
            float32_matmul_precision="high",
            sdp="flash,efficient,math,cudnn",
            cudnn_benchmark="false",
            cudnn_deterministic="false",
            deterministic_algorithms="false",
            bf16_reduced_precision_reduction="true",
            threads="16",
            allocator_conf="expandable_segments:True",
        ),
        cpu_capability="AVX512",
        threads=16,
        interop_threads=16,
        numpy="",
        import_seconds=2.1,
        hook="1",
    ),
    extensions=(),
    network=Network(interfaces=("eth0 25000",)),
    launcher=Unavailable(reason="no launcher configuration", why="absent"),
)

_CPU_VERSIONS = {**_VERSIONS, "torch": "2.13.0+cpu"}
CPU_TARGET = Target(name="cpu", title="CPU", stacks=("cpu",), choice=_choice(_CPU_VERSIONS, "cpu", ""))
CPU = Facts(
    interpreter=_INTERPRETER,
    packages=_packages({**_CPU_VERSIONS, "pip": "26.3"}),
    variables={"PATH": "/usr/bin"},
    host=_HOST,
    driver=Driver(kernel_module="", library="", devices=(), pci=()),
    gpus=Unavailable(reason="no NVIDIA driver", why="absent"),
    torch=Torch(
        version="2.13.0+cpu",
        cuda="",
        cxx11_abi=True,
        cuda_available=False,
        device_count=0,
        flags=_flags(
            float32_matmul_precision="highest",
            sdp="flash,efficient,math,cudnn",
            cudnn_benchmark="false",
            cudnn_deterministic="false",
            deterministic_algorithms="false",
            threads="16",
        ),
        cpu_capability="AVX512",
        threads=16,
        interop_threads=16,
        numpy="",
        hook="",
    ),
    extensions=(),
    network=Network(interfaces=("eth0 25000",)),
    launcher=Unavailable(reason="no launcher configuration", why="absent"),
)
