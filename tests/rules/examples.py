"""An example of each trouble: facts and a target at which the rules that cover it must fire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from envdoctor.facts.model import (
    DamagedFile,
    Distribution,
    Driver,
    Extension,
    Facts,
    Flag,
    Gpu,
    Gpus,
    Host,
    Interpreter,
    Launcher,
    Network,
    Packages,
    Script,
    Storage,
    Torch,
    Unavailable,
)
from envdoctor.facts.pasted import read
from envdoctor.locks.target import Target
from tests.rules.judging import NOTHING, asking
from tests.rules.machines import CPU, CPU_TARGET, H100, H100_TARGET
from tests.rules.script.scripts import in_step

Example = tuple[Facts, Target]


def _known(section: Any) -> Any:
    assert not isinstance(section, Unavailable)
    return section


def gpu(**changes: Any) -> Example:
    whole: Gpus = _known(H100.gpus)
    return replace(
        H100, gpus=replace(whole, devices=(replace(whole.devices[0], **changes),), under_load=True)
    ), H100_TARGET


def gpus(*names: str, **changes: Any) -> Example:
    devices = tuple(Gpu(index=index, name=name) for index, name in enumerate(names))
    return replace(H100, gpus=Gpus(devices=devices, count=len(devices), **changes)), H100_TARGET


def host(**changes: Any) -> Example:
    whole: Host = _known(H100.host)
    return replace(H100, host=replace(whole, **changes)), H100_TARGET


def driver(**changes: Any) -> Example:
    whole: Driver = _known(H100.driver)
    return replace(H100, driver=replace(whole, **changes)), H100_TARGET


def torch(**changes: Any) -> Example:
    whole: Torch = _known(H100.torch)
    return replace(H100, torch=replace(whole, **changes)), H100_TARGET


def flags(**values: str) -> Example:
    whole: Torch = _known(H100.torch)
    given = {name.replace("_", "-"): Flag(value=value) for name, value in values.items()}
    return torch(flags={**whole.flags, **given})


def interpreter(**changes: Any) -> Example:
    whole: Interpreter = _known(H100.interpreter)
    return replace(H100, interpreter=replace(whole, **changes)), H100_TARGET


def packages(versions: Mapping[str, str], **changes: Any) -> Example:
    whole: Packages = _known(H100.packages)
    kept = tuple(d for d in whole.distributions if d.name not in versions)
    added = tuple(Distribution(name=name, version=version) for name, version in versions.items())
    return replace(
        H100, packages=replace(whole, distributions=kept + added, **changes), torch=_older(versions)
    ), NOTHING


def _older(versions: Mapping[str, str]) -> Torch | Unavailable:
    whole: Torch = _known(H100.torch)
    return replace(whole, version=versions["torch"]) if "torch" in versions else whole


def variables(**values: str) -> Example:
    return replace(H100, variables=values), H100_TARGET


def said(text: str) -> Example:
    return read(text), NOTHING


def script(*lines: str, launcher: str = "") -> Example:
    return replace(H100, scripts=(Script(path="train.py", source=in_step(*lines) + launcher),)), H100_TARGET


def network(**changes: Any) -> Example:
    whole, _ = gpus("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB")
    return replace(whole, network=Network(**changes)), NOTHING


def launcher(**settings: str) -> Example:
    return replace(H100, launcher=Launcher(settings=settings)), H100_TARGET


_STATEFUL = """
class Rows(Dataset):
    def __len__(self):
        return 10
    def __getitem__(self, index):
        self.seen += 1
        return index
loader = DataLoader(Rows(), num_workers=4)
"""
_SMALL = """
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2")
model.gradient_checkpointing_enable()
"""

EXAMPLES: Mapping[str, Example] = {
    "torch/driver-too-old": said(
        "PyTorch version: 2.11.0+cu130\nIs CUDA available: False\nNvidia driver version: 535.104.05\n"
    ),
    "torch/no-kernels": said("PyTorch version: 2.6.0+cu124\nGPU 0: NVIDIA GeForce RTX 5090\n"),
    "torch/older-than-gpu": said("RTX 2070\nCUDA 9.0\nRuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED\n"),
    "torch/cpu-only": said("PyTorch version: 2.6.0+cpu\nGPU 0: NVIDIA GeForce RTX 4090\n"),
    "driver/cuda-init": driver(cuinit=803),
    "driver/fabric-manager": driver(fabric_manager="in progress", cuinit=802),
    "driver/library-mismatch": said("Failed to initialize NVML: Driver/library version mismatch\ntorch 2.6.0\n"),
    "driver/no-gpu": said("Found no NVIDIA driver on your system\ntorch 2.6.0\n"),
    "driver/forward-compatibility": driver(
        library="590.44.01", library_path="/usr/local/cuda/compat/libcuda.so.590.44.01"
    ),
    "torch/cudnn": said(
        "cuDNN version incompatibility: PyTorch was compiled against (9, 1, 0) but found runtime version (8, 9, 2)\n"
    ),
    "torch/cuda-libraries": said(
        "libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12\n"
    ),
    "variables/library-path": variables(LD_LIBRARY_PATH="/usr/local/cuda-11.8/lib64"),
    "packages/torch-pair": said("torch==2.6.0\ntorchvision==0.20.1\n"),
    "packages/extension-abi": said(
        "torch==2.6.0\nflash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl\n"
    ),
    "packages/extension-binary": (
        replace(
            packages({"bitsandbytes": "0.45.0", "torch": "2.13.0+cu130"})[0],
            extensions=(Extension(name="bitsandbytes", binaries=("libbitsandbytes_cuda118.so",)),),
        ),
        NOTHING,
    ),
    "precision/float32-matmul": (flags(float32_matmul_precision="highest")[0], asking(float32_matmul_precision="high")),
    "precision/tf32-api-mixed": torch(flags={"float32-matmul-precision": Flag(error="mix of the legacy and new APIs")}),
    "variables/tf32-override": variables(NVIDIA_TF32_OVERRIDE="0"),
    "attention/math-only": (flags(sdp="math")[0], asking()),
    "attention/sdp-backends": (flags(sdp="efficient,math")[0], asking(sdp="flash,efficient,math,cudnn")),
    "attention/flash-unavailable": said("Torch was not compiled with flash attention.\nGPU 0: Tesla T4\n"),
    "variables/debug": variables(CUDA_LAUNCH_BLOCKING="1"),
    "variables/compile-disabled": variables(TORCH_COMPILE_DISABLE="1"),
    "variables/old-kernels": (
        Facts(variables={"ONEDNN_MAX_CPU_ISA": "AVX2"}, host=Host(cpu_flags=("avx2", "avx512_bf16"))),
        asking(capability=None),
    ),
    "variables/caches-disabled": variables(TORCHINDUCTOR_FORCE_DISABLE_CACHES="1"),
    "variables/profilers": variables(CUDA_INJECTION64_PATH="/profiler.so"),
    "variables/nccl": variables(NCCL_P2P_DISABLE="1"),
    "variables/allocator": variables(PYTORCH_ALLOC_CONF="expandable_segment:True"),
    "script/debug-variables": script(launcher='import os\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"\n'),
    "script/anomaly-detection": script("torch.autograd.set_detect_anomaly(True)"),
    "script/deterministic": script(launcher="torch.backends.cudnn.deterministic = True\n"),
    "script/sync-per-step": script("total += loss.item()"),
    "script/rng-state": script("torch.utils.checkpoint.checkpoint(block, x, preserve_rng_state=False)"),
    "script/grad-scaler": script(
        launcher="scaler = torch.amp.GradScaler()\nwith torch.autocast('cuda', dtype=torch.bfloat16):\n    pass\n"
    ),
    "interpreter/compile-tools": (
        replace(host(compiler="")[0], interpreter=_known(interpreter(headers="")[0].interpreter)),
        H100_TARGET,
    ),
    "interpreter/shadowed-modules": interpreter(shadowed=("/srv/timeit.py",)),
    "packages/triton-pair": said("torch==2.6.0\ntriton==3.5.1\nCannot find a working triton installation\n"),
    "host/cache-directories": host(storage=(Storage(purpose="triton-cache", path="/t", noexec=True, writable=True),)),
    "host/shared-memory": host(shm=64 << 20),
    "host/open-files": host(files_soft=1024),
    "host/cpu-quota": host(cpus=96, affinity=96, cpu_quota=7.65),
    "host/cpu-throttled": host(cpu_quota=4.0, cpu_periods=1000, cpu_throttled=900),
    "host/memory": host(memory_limit=64 << 30),
    "host/disk-space": host(storage=(Storage(purpose="temporary", path="/tmp", free=10 << 20, writable=True),)),
    "host/network-storage": host(storage=(Storage(purpose="hf-home", path="/hf", filesystem="nfs4", writable=True),)),
    "host/governor": host(governor="powersave"),
    "host/clocksource": host(clocksource="hpet"),
    "host/kernel": host(kernel="4.19.91"),
    "host/numa": (replace(host(numa_nodes=2, cpus=128, affinity=128)[0], gpus=Gpus(count=8)), H100_TARGET),
    "host/affinity": host(cpus=64, affinity=8),
    "network/one-thread": variables(LOCAL_WORLD_SIZE="8", OMP_NUM_THREADS="1"),
    "network/peer-access": gpus("NVIDIA A100", "NVIDIA A100", peer_access=((True, False), (False, True))),
    "network/topology": gpus("NVIDIA A100", "NVIDIA A100", topology=(("X", "SYS"), ("SYS", "X"))),
    "network/acs": network(acs=True),
    "network/old-driver-peer": said(
        "GPU 0: NVIDIA GeForce RTX 4090\nGPU 1: NVIDIA GeForce RTX 4090\nNvidia driver version: 535.104.05\n"
    ),
    "network/slow-nodes": said("NNODES=2\nnccl transport: sockets\nnetwork card: 10 Gbit/s\n"),
    "network/infiniband-down": (replace(H100, network=Network(infiniband=("mlx5_0 down",))), H100_TARGET),
    "gpu/throttled": gpu(throttle_reasons=("hw-slowdown",), utilization=100, sm_clock=510, sm_clock_max=1980),
    "gpu/power-limit": gpu(power_limit=350.0),
    "gpu/pcie-link": gpu(pcie_width=1),
    "gpu/occupied": (replace(H100, gpus=Gpus(devices=(Gpu(index=0, name="H100", memory_used=40 << 30),))), H100_TARGET),
    "gpu/memory-errors": gpu(ecc_uncorrected=3),
    "gpu/kernel-log": gpu(xid=(79,)),
    "gpu/persistence": gpu(persistence=False),
    "gpu/application-clocks": gpu(sm_clock_application=1200, sm_clock_max=1980),
    "gpu/temperature": gpu(temperature=93, temperature_slowdown=90),
    "gpu/nvlink": gpu(nvlinks=14, nvlinks_down=4),
    "gpu/mig": gpu(mig=True),
    "gpu/count": (
        replace(gpus("NVIDIA H100")[0], driver=Driver(pci=("0000:01:00.0 10de:2330", "0000:02:00.0 10de:2330"))),
        H100_TARGET,
    ),
    "torch/nvcc": said(
        "The detected CUDA version (12.4) mismatches the version that was used to compile PyTorch (11.8)\n"
    ),
    "torch/threads": (replace(CPU, torch=replace(_known(CPU.torch), threads=1)), CPU_TARGET),
    "torch/thread-pool": said("libgomp: Thread creation failed: Resource temporarily unavailable\n"),
    "driver/toolkits": host(toolkits=("11.8", "12.4")),
    "packages/conflicts": (
        replace(
            H100,
            packages=Packages(
                distributions=(
                    Distribution(name="transformers", version="5", requires=("numpy>=99",)),
                    Distribution(name="numpy", version="2.0.0"),
                )
            ),
        ),
        NOTHING,
    ),
    "packages/damaged": (
        replace(
            H100,
            packages=Packages(
                damaged=(DamagedFile(distribution="torch", kind="missing-file", path="torch/lib/libtorch.so"),),
                damage_checked="sizes",
            ),
        ),
        NOTHING,
    ),
    "packages/missing": (replace(H100, packages=Packages()), H100_TARGET),
    "packages/pinned-versions": (packages({"transformers": "4.41.2"})[0], H100_TARGET),
    "packages/known-slow": packages({"torch": "2.9.0+cu128"}),
    "packages/known-broken": packages({"transformers": "4.46.0"}),
    "packages/flash-attn-namespace": packages({"flash-attn-4": "4.0.0", "xformers": "0.0.33"}),
    "packages/shared-folder": packages({"cupy-cuda11x": "13.3.0", "cupy-cuda12x": "13.3.0"}),
    "packages/cuda-wheels": packages({"nvidia-cudnn-cu12": "9.10.2.21", "nvidia-cudnn-cu13": "9.13.0.50"}),
    "network/launcher-on-cpu": launcher(use_cpu="true"),
    "script/nan-filter": script(
        launcher="from transformers import TrainingArguments\nTrainingArguments('out', logging_nan_inf_filter=True)\n"
    ),
    "script/checkpointing-small-model": script(launcher=_SMALL),
    "script/stateful-dataset": script(launcher=_STATEFUL),
    "precision/bf16-support": (
        replace(gpus("Tesla V100-SXM2-32GB")[0], launcher=Launcher(settings={"mixed_precision": "bf16"})),
        NOTHING,
    ),
    "precision/cudnn-flags": flags(cudnn_benchmark="true"),
    "packages/known-conflicts": packages({"torch": "2.4.0", "deepspeed": "0.14.0"}),
    "attention/cudnn-first": (
        replace(flags(sdp="cudnn,flash,efficient,math")[0], gpus=gpus("NVIDIA A100-SXM4-80GB")[0].gpus),
        NOTHING,
    ),
}
