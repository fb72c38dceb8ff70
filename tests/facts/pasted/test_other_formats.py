import pytest

from envdoctor.facts.model import Extension, Unavailable
from envdoctor.facts.need import known
from envdoctor.facts.pasted import read
from tests.facts.pasted.reading import gpus, host, interpreter, network, torch, versions


def extension(text: str) -> Extension:
    found = read(text).extensions
    assert not isinstance(found, Unavailable)
    (one,) = found
    return one


DS = """\
DeepSpeed C++/CUDA extension op report
--------------------------------------------------
op name ................ installed .. compatible
--------------------------------------------------
 [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.
async_io ............... [NO] ....... [NO]
fused_adam ............. {built} ...... [OKAY]
--------------------------------------------------
DeepSpeed general environment info:
torch install path ............... ['/opt/lib/python3.11/site-packages/torch']
torch version .................... 2.1.2+cu121
deepspeed install path ........... ['/opt/lib/python3.11/site-packages/deepspeed']
deepspeed info ................... 0.12.5, unknown, unknown
torch cuda version ............... 12.1
torch hip version ................ None
nvcc version ..................... 12.3
deepspeed wheel compiled w. ...... torch 2.1, cuda 12.1
shared memory (/dev/shm) size .... 64.00 MB
"""


def test_ds_report() -> None:
    text = DS.format(built="[YES]")
    assert (torch(text).version, torch(text).cuda, host(text).nvcc) == ("2.1.2+cu121", "12.1", "12.3")
    assert (host(text).shm, versions(text)["deepspeed"]) == (64 << 20, "0.12.5")
    assert (extension(text).torch, extension(text).cuda) == ("2.1", "12.1")
    assert read(text).origin.tool == "ds_report"


def test_operators_that_are_built_when_needed_were_built_for_nothing() -> None:
    assert isinstance(read(DS.format(built="[NO]")).extensions, Unavailable)


def test_xformers() -> None:
    text = """\
xFormers 0.0.28.post2
memory_efficient_attention.ckF:                    unavailable
memory_efficient_attention.fa2F@v2.5.7-pt:         available
pytorch.version:                                   2.5.0+cu121
pytorch.cuda:                                      available
gpu.compute_capability:                            8.0
gpu.name:                                          NVIDIA A100-SXM4-40GB
build.cuda_version:                                1201
build.python_version:                              3.11.10
build.torch_version:                               2.5.0+cu121
build.env.TORCH_CUDA_ARCH_LIST:                    6.0+PTX 7.0 8.0+PTX 9.0a
"""
    found = extension(text)
    assert (found.version, found.torch, found.cuda, found.python) == ("0.0.28.post2", "2.5.0+cu121", "12.1", "3.11.10")
    assert found.architectures == ("6.0+PTX", "7.0", "8.0+PTX", "9.0a")
    assert (torch(text).version, torch(text).cuda_available) == ("2.5.0+cu121", True)
    assert gpus(text).devices[0].name == "NVIDIA A100-SXM4-40GB"


def test_bitsandbytes() -> None:
    text = """\
CUDA SETUP: CUDA runtime path found: /usr/local/cuda/lib64/libcudart.so
CUDA SETUP: Highest compute capability among GPUs detected: 8.0
CUDA SETUP: Detected CUDA version 114
CUDA SETUP: Required library version not found: libbitsandbytes_cuda114.so. Maybe you need to compile it from source?
CUDA SETUP: Defaulting to libbitsandbytes_cpu.so...
"""
    assert extension(text).cuda == "11.4"
    assert torch(text).capabilities == ("8.0",)
    assert any("cuda114.so" in line for line in read(text).messages)


def test_bitsandbytes_that_loads_says_nothing_wrong() -> None:
    text = (
        "bin /opt/bitsandbytes/libbitsandbytes_cuda117.so\nCUDA SETUP: Detected CUDA version 117\n"
        "CUDA SETUP: Loading binary /opt/bitsandbytes/libbitsandbytes_cuda117.so...\n"
    )
    assert read(text).messages == ()


def test_vllm() -> None:
    text = """\
==============================
       PyTorch Info
==============================
PyTorch version              : 2.7.0+cu126
CUDA used to build PyTorch   : 12.6
GPU models and configuration :
GPU 0: NVIDIA H100 80GB HBM3
GPU 1: NVIDIA H100 80GB HBM3

Nvidia driver version        : 560.35.03
==============================
         vLLM Info
==============================
vLLM Version                 : 0.9.1 (git sha: b6553be)
vLLM Build Flags:
  CUDA Archs: Not Set; ROCm: Disabled; Neuron: Disabled
==============================
     Environment Variables
==============================
NCCL_CUMEM_ENABLE=0
LD_LIBRARY_PATH=/usr/local/cuda/lib64
VLLM_API_KEY=secret
"""
    assert (torch(text).version, torch(text).cuda, gpus(text).count) == ("2.7.0+cu126", "12.6", 2)
    assert versions(text)["vllm"] == "0.9.1"
    assert read(text).variables == {"NCCL_CUMEM_ENABLE": "0", "LD_LIBRARY_PATH": "/usr/local/cuda/lib64"}
    assert read(text).origin.formats[:2] == ("collect_env", "vllm")


def test_lightning() -> None:
    text = """\
* CUDA:
\t- GPU:
\t\t- NVIDIA A100-SXM4-40GB
\t\t- NVIDIA A100-SXM4-40GB
\t- available:         True
\t- version:           11.7
* Lightning:
\t- lightning:         2.0.1
\t- torch:             2.0.0
* Packages:
\t- absl-py:           1.4.0
* System:
\t- OS:                Linux
\t- architecture:
\t\t- 64bit
\t- processor:         x86_64
\t- python:            3.10.9
\t- release:           5.15.0-67-generic
"""
    assert (torch(text).version, torch(text).cuda, torch(text).cuda_available) == ("2.0.0", "11.7", True)
    assert (gpus(text).count, versions(text)["absl-py"]) == (2, "1.4.0")
    assert (interpreter(text).version, host(text).kernel) == ("3.10.9", "5.15.0-67-generic")


def test_a_prompt() -> None:
    text = (
        ">>> import torch\n>>> torch.__version__\n'1.3.0'\n>>> print(torch.cuda.is_available())\nFalse\n"
        ">>> torch.version.cuda\n'10.1'\n"
    )
    assert (torch(text).version, torch(text).cuda, torch(text).cuda_available) == ("1.3.0", "10.1", False)
    text = "print(torch.__version__)\n1.8.1+cu102\ntorch.cuda.get_device_capability(0)\n(8, 6)\n"
    assert (torch(text).version, torch(text).capabilities) == ("1.8.1+cu102", ("8.6",))


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ("NCCL_P2P_DISABLE=1", {"NCCL_P2P_DISABLE": "1"}),
        ("export CUDA_VISIBLE_DEVICES='0,1'", {"CUDA_VISIBLE_DEVICES": "0,1"}),
        ("CUDA_VISIBLE_DEVICES=", {"CUDA_VISIBLE_DEVICES": ""}),
        ("OMP_NUM_THREADS: 1", {"OMP_NUM_THREADS": "1"}),
        ('os.environ["CUDA_LAUNCH_BLOCKING"] = "1"', {"CUDA_LAUNCH_BLOCKING": "1"}),
        (
            "CUDA_VISIBLE_DEVICES=1 NCCL_DEBUG=INFO torchrun train.py",
            {"CUDA_VISIBLE_DEVICES": "1", "NCCL_DEBUG": "INFO"},
        ),
    ],
)
def test_variables(line: str, variables: dict[str, str]) -> None:
    assert read(line).variables == variables


@pytest.mark.parametrize("line", ["WANDB_API_KEY=abc", "HTTP_PROXY=http://x", "PYTORCH_VERSION 2", "MY_SECRET_TOKEN=1"])
def test_variables_that_are_nobody_elses_business(line: str) -> None:
    facts = read(f"PyTorch version: 2.1.0\n{line}")
    assert isinstance(facts.variables, Unavailable) or not (set(facts.variables) - {"PYTORCH_VERSION"})


def test_nccl() -> None:
    text = "NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\nNCCL INFO Using network Socket\nslow on two nodes\n"
    assert (network(text).transport, network(text).nodes) == ("sockets", 2)
    text = "network_card: 25 Gbit/s Ethernet\ninfiniband: mlx5_0 down 400\nACS: enabled\nnnodes: 4\n"
    assert network(text).interfaces == ("ethernet 25000",)
    assert network(text).infiniband == ("mlx5_0 down 400",)
    assert (network(text).acs, network(text).nodes) == (True, 4)


@pytest.mark.parametrize(
    ("line", "container"),
    [
        ("running in a Docker container", "docker"),
        ("We run inside Kubernetes pods", "kubernetes"),
        ("docker run --gpus all -it image", "docker"),
        ("container_image: NGC pytorch 23.03-py3", "docker"),
    ],
)
def test_containers(line: str, container: str) -> None:
    assert host(line).container == container


def test_what_docker_was_told() -> None:
    text = "docker run --shm-size=8g --cpus=4 image"
    assert (host(text).shm, host(text).cpu_quota) == (8 << 30, 4.0)


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("cpus_visible: 96", "cpus", 96),
        ("cgroup_cpu_quota: 4.0", "cpu_quota", 4.0),
        ("cpu.max: 400000 100000", "cpu_quota", 4.0),
        ("ulimit_n: 1024", "files_soft", 1024),
        ("docker.shm_size: 64M", "shm", 64 << 20),
        ("CPU: AMD EPYC 7742", "cpu_model", "AMD EPYC 7742"),
    ],
)
def test_keys_in_a_persons_own_words(line: str, field: str, value: object) -> None:
    assert getattr(host(line), field) == value


def test_architectures_and_capabilities() -> None:
    text = (
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
        "The current PyTorch install supports CUDA capabilities sm_50 sm_80 sm_90.\n"
    )
    assert torch(text).arch_list == ("sm_50", "sm_80", "sm_90")
    assert torch(text).capabilities == ("12.0",)
    assert gpus(text).devices[0].name == "NVIDIA GeForce RTX 5090"
    text = (
        "Found GPU0 Tesla V100 which is of compute capability (CC) 7.0.\n"
        "- 7.5 which supports hardware CC >=7.5,<8.0\n- 9.0 which supports hardware CC >=9.0,<10.0\n"
    )
    assert torch(text).arch_list == ("sm_75", "sm_90")


def test_cudnn_of_torch() -> None:
    assert torch("torch.backends.cudnn.version(): 8902\nPyTorch version: 2.1.0").cudnn == "8.9.2"
    assert torch("torch.backends.cudnn.version(): 90100\nPyTorch version: 2.4.0").cudnn == "9.1.0"


def test_libraries_that_are_loaded() -> None:
    text = (
        "loaded libcudnn.so.9: /opt/nvidia/cudnn/lib/libcudnn.so.9\nlibcudnn_graph.so.9: /usr/lib/libcudnn_graph.so.9\n"
    )
    assert torch(text).libraries == ("/opt/nvidia/cudnn/lib/libcudnn.so.9", "/usr/lib/libcudnn_graph.so.9")


def test_of_several_base_images_the_last_runs() -> None:
    facts = read(
        "My old file had\nFROM pytorch/pytorch:1.6.0-cuda10.1-cudnn7-runtime\nand now it is\n"
        "FROM pytorch/pytorch:1.10.0-cuda11.3-cudnn8-runtime\nRuntimeError: NCCL error\n"
    )
    torch = known(facts.torch)
    assert torch is not None
    assert (torch.version, torch.cuda) == ("1.10.0", "11.3")
