import pytest

from envdoctor.facts.model import Unavailable
from envdoctor.facts.pasted import read
from tests.facts.pasted.reading import gpus, host, interpreter, launcher, network, torch, versions

TRANSFORMERS = """\
Copy-and-paste the text below in your GitHub issue and FILL OUT the two last points.

- `transformers` version: 4.49.0
- Platform: Linux-5.15.0-1073-azure-x86_64-with-glibc2.35
- Python version: 3.10.12
- Huggingface_hub version: 0.29.1
- Safetensors version: 0.5.2
- Accelerate version: 1.4.0
- Accelerate config: \tnot found
- DeepSpeed version: not installed
- PyTorch version (GPU?): 2.5.1+cu124 (True)
- Tensorflow version (GPU?): not installed (NA)
- Using distributed or parallel set-up in script?: <fill in>
- Using GPU in script?: <fill in>
- GPU type: NVIDIA A100 80GB PCIe
"""
ACCELERATE = """\
- `Accelerate` version: 1.12.0
- Platform: Linux-6.8.0-47-generic-x86_64-with-glibc2.35
- `accelerate` bash location: /home/me/bin/accelerate
- Python version: 3.10.13
- Numpy version: 1.26.4
- PyTorch version: 2.9.1+cu128
- PyTorch accelerator: CUDA
- System RAM: 187.91 GB
- GPU type: NVIDIA GeForce RTX 4090
- `Accelerate` default config:
\t- compute_environment: LOCAL_MACHINE
\t- distributed_type: DEEPSPEED
\t- mixed_precision: bf16
\t- use_cpu: False
\t- debug: False
\t- num_processes: 16
\t- machine_rank: 0
\t- num_machines: 2
\t- gpu_ids: all
\t- deepspeed_config: {'gradient_accumulation_steps': 1, 'offload_optimizer_device': 'none', 'zero_stage': 3}
\t- tpu_env: []
"""


def test_transformers() -> None:
    assert versions(TRANSFORMERS) == {
        "accelerate": "1.4.0",
        "huggingface-hub": "0.29.1",
        "safetensors": "0.5.2",
        "torch": "2.5.1+cu124",
        "transformers": "4.49.0",
    }
    assert (torch(TRANSFORMERS).cuda_available, interpreter(TRANSFORMERS).version) == (True, "3.10.12")
    assert gpus(TRANSFORMERS).devices[0].name == "NVIDIA A100 80GB PCIe"
    assert gpus(TRANSFORMERS).count is None  # it names the first one only
    assert read(TRANSFORMERS).messages == ()
    assert read(TRANSFORMERS).origin.tool == "transformers-env"
    assert isinstance(read(TRANSFORMERS).launcher, Unavailable)


def test_accelerate() -> None:
    assert (torch(ACCELERATE).version, torch(ACCELERATE).cuda_available) == ("2.9.1+cu128", True)
    assert host(ACCELERATE).memory == int(187.91 * 1024**3)
    settings = launcher(ACCELERATE).settings
    assert (settings["num_processes"], settings["use_cpu"]) == ("16", "False")
    assert settings["deepspeed_config.zero_stage"] == "3"
    assert network(ACCELERATE).nodes == 2
    assert read(ACCELERATE).origin.tool == "accelerate-env"


@pytest.mark.parametrize(
    ("line", "available"),
    [
        ("- PyTorch version (GPU?): 2.4.1+cu118 (True)", True),
        ("- PyTorch version (GPU?): 2.4.1+cu118 (False)", False),
        ("- PyTorch version (GPU?): 2.4.1+cu118 (NA)", None),
        ("- PyTorch version (accelerator?): 2.8.0+cu128 (CUDA)", True),
        ("- PyTorch version: 2.9.0+cpu\n- PyTorch accelerator: N/A", False),
    ],
)
def test_whether_cuda_is_available(line: str, available: bool | None) -> None:
    assert torch(line).cuda_available is available


def test_torch_that_is_not_installed() -> None:
    assert isinstance(
        read("- `transformers` version: 4.30.0\n- PyTorch version (GPU?): not installed (NA)\n").torch, Unavailable
    )


def test_a_configuration_as_yaml() -> None:
    text = (
        "compute_environment: LOCAL_MACHINE\ndebug: false\ndeepspeed_config:\n  gradient_accumulation_steps: 4\n"
        "  zero_stage: 3\ndistributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 8\nuse_cpu: false\n"
    )
    settings = launcher(text).settings
    assert (settings["deepspeed_config.zero_stage"], settings["num_processes"]) == ("3", "8")


def test_a_version_that_the_tool_itself_doubts() -> None:
    assert (
        versions("- `transformers` version: 5.0.0\n- Accelerate version: 0.20.0 (not in expected version range)\n")[
            "accelerate"
        ]
        == "0.20.0"
    )


@pytest.mark.parametrize(
    "line", ["GCC version: 9.4.0", "CUDA version: 12.1", "Driver version: 535.54.03", "bash version: 5.1"]
)
def test_not_every_version_is_a_distribution(line: str) -> None:
    assert set(versions(f"PyTorch version: 2.1.0\n{line}")) == {"torch"}
