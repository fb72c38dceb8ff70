"""Faults planted into real environments and real limits: what to install, set, mount and limit for each rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CPU = "/sys/devices/system/cpu"
SITE = "{env}/lib/python3.11/site-packages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """One planted fault. Texts may hold {env}, {tmp} and {cwd}; ``shell`` runs as root in a mount namespace."""

    rule: str
    wheels: tuple[str, ...] = ()  # "name==version" or "name==version; requirement"
    files: Mapping[str, str] = field(default_factory=dict)  # path -> text
    variables: Mapping[str, str] = field(default_factory=dict)
    shell: str = ""
    target: str = "none"
    words: tuple[str, ...] = ()  # further words for `check`
    cgroup: Mapping[str, str] = field(default_factory=dict)  # "cpu/cpu.cfs_quota_us" -> value, cgroup v1
    python: str = "3.11"
    environment: str = ""  # another one than the clone


def _variable(rule: str, target: str = "none", **variables: str) -> Seed:
    return Seed(rule=rule, variables=variables, target=target)


def _bind(path: str, text: str) -> str:
    return f"printf '%s\\n' '{text}' > {{tmp}}/bound && mount --bind {{tmp}}/bound {path}"


def _module(version: str, *, device: bool = False) -> str:
    """A loaded NVIDIA module, and its device file where asked for, as far as /sys and /dev show them."""
    module = "/sys/module/nvidia"
    shell = f"mount -t tmpfs tmpfs /sys/module && mkdir -p {module} && echo {version} > {module}/version"
    over = "mount -t overlay overlay -o lowerdir=/dev,upperdir={tmp}/upper/a,workdir={tmp}/upper/b /dev"
    upper = "mkdir {tmp}/upper && mount -t tmpfs tmpfs {tmp}/upper && mkdir {tmp}/upper/a {tmp}/upper/b"
    return f"{shell} && {upper} && {over} && touch /dev/nvidia0" if device else shell


def _fabric(state: str) -> str:
    """An InfiniBand adapter in /sys/class."""
    port = "/sys/class/infiniband/mlx5_0/ports/1"
    return (
        f"mount -t tmpfs tmpfs /sys/class && mkdir -p {port} && echo '{state}' > {port}/state "
        f"&& echo '400 Gb/sec (4X NDR)' > {port}/rate && echo InfiniBand > {port}/link_layer"
    )


_CONFIG = "{tmp}/hf/accelerate/default_config.yaml"

PACKAGES = (
    Seed(rule="packages/conflicts", wheels=("accelerate==1.10.0; numpy>=99",)),
    Seed(rule="packages/conflicts", wheels=("transformers==5.3.0; tokenizers>=0.22,<0.23", "tokenizers==0.19.1")),
    Seed(
        rule="packages/cuda-wheels",
        wheels=("torch==2.9.1", "nvidia-cudnn-cu12==9.10.2.21", "nvidia-cudnn-cu13==9.13.0.50"),
    ),
    Seed(rule="packages/damaged", wheels=("safetensors==0.5.3",), shell=f"rm {SITE}/safetensors/__init__.py"),
    Seed(rule="packages/damaged", wheels=("numpy==2.0.0",), shell=f"echo more >> {SITE}/numpy/__init__.py"),
    Seed(rule="packages/damaged", wheels=("peft==0.18.0",), shell=f"rm {SITE}/peft-0.18.0.dist-info/METADATA"),
    Seed(
        rule="packages/duplicates",
        wheels=("rich==13.7.0",),
        shell=f"cp -r {SITE}/rich-13.7.0.dist-info {SITE}/rich-13.8.0.dist-info "
        f"&& sed -i s/13.7.0/13.8.0/ {SITE}/rich-13.8.0.dist-info/METADATA",
    ),
    Seed(rule="packages/extension-abi", wheels=("torch==2.6.0", "flash-attn==2.8.3+cu12torch2.8cxx11abitrue")),
    Seed(rule="packages/extension-abi", wheels=("torch==2.7.0", "xformers==0.0.29.post2")),
    Seed(rule="packages/extension-abi", wheels=("torch==2.4.0", "torch-scatter==2.1.2+pt25cu124")),
    Seed(rule="packages/flash-attn-namespace", wheels=("flash-attn-4==4.0.0", "xformers==0.0.33")),
    Seed(rule="packages/known-broken", wheels=("datasets==4.4.1", "unsloth==2025.11.1")),
    Seed(rule="packages/known-broken", wheels=("transformers==5.1.0", "deepspeed==0.18.3")),
    Seed(rule="packages/known-conflicts", wheels=("torch==2.4.0", "deepspeed==0.14.0")),
    Seed(rule="packages/known-conflicts", wheels=("transformers==5.3.0", "peft==0.17.0")),
    Seed(rule="packages/known-slow", wheels=("torch==2.9.0",)),
    Seed(rule="packages/leftovers", wheels=("click==8.1.7",), shell=f"mkdir {SITE}/~lick"),
    Seed(rule="packages/missing", target="cpu"),
    Seed(rule="packages/no-pip"),
    Seed(rule="packages/numpy-abi", wheels=("torch==2.2.2", "numpy==2.0.0")),
    Seed(rule="packages/outside-lock", wheels=("deepspeed==0.18.3",), target="cpu"),
    Seed(rule="packages/pinned-versions", wheels=("transformers==4.41.2",), target="cpu"),
    Seed(
        rule="packages/source-installs",
        wheels=("click==8.1.7",),
        files={
            f"{SITE}/click-8.1.7.dist-info/direct_url.json": '{"url": "file:///srv/click", '
            '"dir_info": {"editable": true}}'
        },
    ),
    Seed(rule="packages/torch-pair", wheels=("torch==2.6.0", "torchvision==0.20.1")),
    Seed(rule="packages/torch-pair", wheels=("torch==2.6.0", "torchaudio==2.5.1")),
    Seed(rule="packages/triton-pair", wheels=("torch==2.6.0", "triton==3.5.1")),
    Seed(
        rule="packages/wheel-tags",
        wheels=("tokenizers==0.22.0",),
        shell=f"sed -i 's/Tag: .*/Tag: cp38-cp38-manylinux_2_17_x86_64/' {SITE}/tokenizers-0.22.0.dist-info/WHEEL",
    ),
    Seed(
        rule="packages/conda-and-pip",
        wheels=("torch==2.6.0",),
        files={
            "{env}/conda-meta/pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0.json": '{"name": "pytorch", '
            '"version": "2.5.1", "build": "py3.11_cuda12.4_cudnn9.1.0_0", "channel": "pytorch"}',
            "{env}/conda-meta/history": "",
        },
    ),
    Seed(
        rule="packages/extension-binary",
        wheels=("torch==2.9.1", "bitsandbytes==0.45.0"),
        files={f"{SITE}/bitsandbytes/libbitsandbytes_cuda118.so": ""},
    ),
)

VARIABLES = (
    _variable("variables/allocator", PYTORCH_ALLOC_CONF="expandable_segment:True"),
    _variable("variables/allocator", PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:10"),
    _variable("variables/caches-disabled", TORCHINDUCTOR_FORCE_DISABLE_CACHES="1"),
    _variable("variables/caches-disabled", PYTHONDONTWRITEBYTECODE="1"),
    _variable("variables/compile-disabled", TORCHDYNAMO_DISABLE="1"),
    _variable("variables/compile-disabled", PYTORCH_JIT="0"),
    _variable("variables/debug", target="h100", CUDA_LAUNCH_BLOCKING="1"),
    _variable("variables/debug", TORCH_DISTRIBUTED_DEBUG="DETAIL"),
    _variable("variables/debug", PYTHONMALLOC="debug"),
    _variable("variables/debug", MALLOC_CHECK_="3"),
    _variable("variables/hub", TRANSFORMERS_CACHE="/tmp/cache"),
    _variable("variables/launcher-leftovers", RANK="0", WORLD_SIZE="2"),
    _variable("variables/library-path", target="h100", LD_LIBRARY_PATH="/usr/local/cuda-11.8/lib64"),
    _variable("variables/nccl", target="h100", NCCL_P2P_DISABLE="1"),
    _variable("variables/nccl", target="h100", NCCL_IB_DISABLE="1"),
    _variable("variables/old-kernels", ONEDNN_MAX_CPU_ISA="SSE41"),
    _variable("variables/preload", LD_PRELOAD="/usr/lib/libtcmalloc.so.4"),
    _variable("variables/process-settings", TOKENIZERS_PARALLELISM="false"),
    _variable("variables/profilers", target="h100", CUDA_INJECTION64_PATH="/srv/libprofiler.so"),
    _variable("variables/python-path", PYTHONPATH="{cwd}"),
    _variable("variables/target-variables", target="h100", PYTORCH_ALLOC_CONF="expandable_segments:False"),
    _variable("variables/tf32-override", target="h100", NVIDIA_TF32_OVERRIDE="0"),
    _variable("variables/thread-count", OMP_NUM_THREADS="512"),
    _variable("variables/unread", TORCH_CUDNN_BENCHMARK="true"),
    _variable("variables/visible-devices", target="h100", CUDA_VISIBLE_DEVICES="-1"),
    _variable("variables/visible-devices", target="h100", CUDA_VISIBLE_DEVICES="[0,1]"),
)

INTERPRETER = (
    Seed(rule="interpreter/end-of-life", python="3.8"),
    Seed(
        rule="interpreter/unsupported",
        wheels=("pandas==2.3.0",),
        shell=f"sed -i '/^Name/a Requires-Python: >=3.13' {SITE}/pandas-2.3.0.dist-info/METADATA",
    ),
    Seed(rule="interpreter/not-active", variables={"VIRTUAL_ENV": "{tmp}/other"}, shell="mkdir {tmp}/other"),
    Seed(rule="interpreter/not-writable", shell="mount --bind {env} {env} && mount -o remount,ro,bind {env}"),
    Seed(
        rule="interpreter/outside-paths", files={f"{SITE}/more.pth": "{tmp}/outside\n"}, shell="mkdir -p {tmp}/outside"
    ),
    Seed(
        rule="interpreter/outside-paths", files={f"{SITE}/zz.pth": "import os; os.environ.setdefault('SEEDED', '1')\n"}
    ),
    Seed(
        rule="interpreter/shadowed-modules", files={"{cwd}/random.py": "seed = 1\n"}, variables={"PYTHONPATH": "{cwd}"}
    ),
    Seed(rule="interpreter/compile-tools", variables={"PATH": "{tmp}"}),
    Seed(rule="interpreter/externally-managed", environment="/usr/bin/python3"),
    Seed(
        rule="interpreter/user-site",
        shell="sed -i s/include-system-site-packages.*/include-system-site-packages=true/ {env}/pyvenv.cfg",
        files={
            "{tmp}/home/.local/lib/python3.11/site-packages/extra-1.0.dist-info/METADATA": "Metadata-Version: 2.1\n"
            "Name: extra\nVersion: 1.0\n"
        },
        variables={"HOME": "{tmp}/home"},
    ),
)

HOST = (
    Seed(rule="host/affinity", shell="taskset -cp 0 $$ > /dev/null"),
    Seed(
        rule="host/cache-directories",
        shell="mkdir -p {tmp}/c && mount -t tmpfs -o noexec tmpfs {tmp}/c",
        variables={"TRITON_CACHE_DIR": "{tmp}/c"},
    ),
    Seed(
        rule="host/cache-directories",
        shell="mkdir -p {tmp}/c && mount -t tmpfs -o ro tmpfs {tmp}/c",
        variables={"TORCHINDUCTOR_CACHE_DIR": "{tmp}/c"},
    ),
    Seed(
        rule="host/clocksource", shell=_bind("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")
    ),
    Seed(
        rule="host/cpu-instructions",
        target="cpu",
        shell="sed 's/ avx[0-9a-z_]*//g' /proc/cpuinfo > {tmp}/bound && mount --bind {tmp}/bound /proc/cpuinfo",
    ),
    Seed(rule="host/cpu-quota", cgroup={"cpu/cpu.cfs_period_us": "100000", "cpu/cpu.cfs_quota_us": "100000"}),
    Seed(
        rule="host/cpu-throttled",
        cgroup={"cpu/cpu.cfs_period_us": "1000", "cpu/cpu.cfs_quota_us": "1000"},
        shell="(timeout 2 sh -c 'while :; do :; done' & timeout 2 sh -c 'while :; do :; done'; wait)",
    ),
    Seed(
        rule="host/disk-space",
        shell="mkdir -p {tmp}/t && mount -t tmpfs -o size=8m tmpfs {tmp}/t",
        variables={"TMPDIR": "{tmp}/t"},
    ),
    Seed(
        rule="host/huge-pages",
        target="cpu",
        shell=_bind("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
    ),
    Seed(rule="host/kernel", words=("--uname-2.6",)),
    Seed(rule="host/memory", cgroup={"memory/memory.limit_in_bytes": "600M"}),
    Seed(rule="host/locked-memory", shell=_fabric("4: ACTIVE") + " && ulimit -l 64"),
    Seed(rule="host/open-files", shell="ulimit -Sn 1024"),
    Seed(rule="host/process-limit", shell="ulimit -Su 900"),
    Seed(rule="host/shared-memory", shell="mount -t tmpfs -o size=64m tmpfs /dev/shm"),
    Seed(
        rule="host/governor",
        shell=f"mount -t tmpfs tmpfs {CPU} && mkdir -p {CPU}/cpu0/cpufreq "
        f"&& echo powersave > {CPU}/cpu0/cpufreq/scaling_governor",
    ),
)

OTHER = (
    Seed(rule="network/infiniband-down", shell=_fabric("1: DOWN")),
    Seed(rule="network/peer-memory", shell=_fabric("4: ACTIVE"), target="h100"),
    Seed(
        rule="network/launcher-on-cpu",
        target="h100",
        variables={"HF_HOME": "{tmp}/hf"},
        files={_CONFIG: "compute_environment: LOCAL_MACHINE\nuse_cpu: true\nnum_processes: 1\n"},
    ),
    Seed(
        rule="precision/launcher-precision",
        target="h100",
        variables={"HF_HOME": "{tmp}/hf"},
        files={
            _CONFIG: "compute_environment: LOCAL_MACHINE\nmixed_precision: fp16\nuse_cpu: false\nnum_processes: 1\n"
        },
    ),
    Seed(rule="driver/devices", target="h100", shell=_module("570.86.15")),
    Seed(
        rule="torch/driver-too-old",
        target="h100",
        wheels=("torch==2.11.0+cu130",),
        shell=_module("535.104.05"),
    ),
    Seed(rule="torch/cpu-only", target="h100", wheels=("torch==2.13.0+cpu",), shell=_module("580.95.05", device=True)),
    Seed(
        rule="torch/import-fails",
        wheels=("torch==2.13.0",),
        files={
            f"{SITE}/torch/__init__.py": "raise ImportError('libcudart.so.13: cannot open shared object file: "
            "No such file or directory')\n"
        },
    ),
    Seed(
        rule="torch/import-fails",
        wheels=("torch==2.13.0",),
        files={f"{SITE}/torch/__init__.py": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"},
    ),
    Seed(
        rule="driver/toolkits",
        shell="mount -t tmpfs tmpfs /usr/local && cd /usr/local && mkdir -p cuda-11.8/bin cuda-12.4/bin "
        "&& touch cuda-11.8/bin/nvcc cuda-12.4/bin/nvcc && chmod +x cuda-*/bin/nvcc && cd {cwd}",
    ),
)

SEEDS = (*PACKAGES, *VARIABLES, *INTERPRETER, *HOST, *OTHER)
ROOT = Path(__file__).resolve().parents[2]
