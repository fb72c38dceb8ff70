import pytest

from envdoctor.facts.model import Unavailable
from envdoctor.facts.pasted import read
from tests.facts.pasted.reading import distribution, driver, gpus, host, interpreter, packages, torch, versions

NEW = """\
Collecting environment information...
PyTorch version: 2.8.0+cu128
Is debug build: False
CUDA used to build PyTorch: 12.8
ROCM used to build PyTorch: N/A

OS: Ubuntu 24.04.2 LTS (x86_64)
GCC version: (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0
Clang version: Could not collect
CMake version: version 3.28.3
Libc version: glibc-2.39

Python version: 3.12.3 (main, Jun 18 2025, 17:59:45) [GCC 13.3.0] (64-bit runtime)
Python platform: Linux-6.8.0-63-generic-x86_64-with-glibc2.39
Is CUDA available: True
CUDA runtime version: 12.8.93
CUDA_MODULE_LOADING set to: LAZY
GPU models and configuration:
GPU 0: NVIDIA H100 80GB HBM3
GPU 1: NVIDIA H100 80GB HBM3

Nvidia driver version: 570.133.20
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.9.8.0
/usr/lib/x86_64-linux-gnu/libcudnn_adv.so.9.8.0
Is XPU available: False
HIP runtime version: N/A
MIOpen runtime version: N/A
Is XNNPACK available: True
Caching allocator config: {'PYTORCH_CUDA_ALLOC_CONF': 'expandable_segments:True'}

CPU:
Architecture:                         x86_64
CPU op-mode(s):                       32-bit, 64-bit
CPU(s):                               208
On-line CPU(s) list:                  0-207
Vendor ID:                            GenuineIntel
Model name:                           Intel(R) Xeon(R) Platinum 8480+
Thread(s) per core:                   2
Core(s) per socket:                   52
Socket(s):                            2
Flags:                                fpu vme avx2 avx512f
                                      avx512_bf16 amx_bf16
NUMA node(s):                         2
Vulnerability Retbleed:               Not affected

Versions of relevant libraries:
[pip3] numpy==2.2.6
[pip3] nvidia-cudnn-cu12==9.10.2.21
[pip3] torch==2.8.0+cu128
[pip3] torchvision==0.23.0+cu128
[conda] Could not collect
"""
OLD = """\
PyTorch version: 1.0.0
Is debug build: No
CUDA used to build PyTorch: 9.0.176

OS: Ubuntu 16.04.5 LTS
GCC version: (Ubuntu 5.4.0-6ubuntu1~16.04.10) 5.4.0 20160609
CMake version: Could not collect

Python version: 3.6
Is CUDA available: Yes
CUDA runtime version: 9.0.176
GPU models and configuration: GPU 0: GeForce GTX 1050
Nvidia driver version: 396.54
cuDNN version: /usr/lib/x86_64-linux-gnu/libcudnn.so.7.1.4

Versions of relevant libraries:
[pip] Could not collect
[conda] cudatoolkit               10.1.243             h6bb024c_0
[conda] pytorch                   1.0.0           py3.6_cuda9.0.176_cudnn7.4.1_1    pytorch
[conda] torchvision               0.2.1                      py_2    pytorch
[conda] transformers              4.1.0                    pypi_0    pypi
"""


def test_a_new_report() -> None:
    assert (torch(NEW).version, torch(NEW).cuda, torch(NEW).cuda_available) == ("2.8.0+cu128", "12.8", True)
    assert torch(NEW).debug_build is False
    assert interpreter(NEW).version == "3.12.3"
    assert interpreter(NEW).libc == "glibc 2.39"
    assert (host(NEW).system, host(NEW).distribution) == ("Linux", "Ubuntu 24.04.2 LTS")
    assert (host(NEW).kernel, host(NEW).machine) == ("6.8.0-63-generic", "x86_64")
    assert (host(NEW).compiler, host(NEW).nvcc) == ("gcc 13.3.0", "12.8.93")
    assert (driver(NEW).kernel_module, gpus(NEW).count) == ("570.133.20", 2)
    assert [gpu.name for gpu in gpus(NEW).devices] == ["NVIDIA H100 80GB HBM3"] * 2
    assert read(NEW).variables == {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    assert (host(NEW).cpus, host(NEW).cores, host(NEW).numa_nodes) == (208, 104, 2)
    assert host(NEW).cpu_model == "Intel(R) Xeon(R) Platinum 8480+"
    assert host(NEW).cpu_flags == ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
    assert versions(NEW)["nvidia-cudnn-cu12"] == "9.10.2.21"
    assert not packages(NEW).complete
    assert torch(NEW).cudnn is None  # what lies in /usr/lib is not what torch loads
    assert "libcudnn_adv.so.9.8.0" in read(NEW).remarks["cuDNN version"]
    assert read(NEW).messages == ()
    assert read(NEW).origin.formats == ("collect_env",)


def test_an_old_report() -> None:
    assert (torch(OLD).version, torch(OLD).cuda, torch(OLD).cuda_available) == ("1.0.0", "9.0", True)
    assert (driver(OLD).kernel_module, gpus(OLD).devices[0].name) == ("396.54", "GeForce GTX 1050")
    assert distribution(OLD, "torch").build == "py3.6_cuda9.0.176_cudnn7.4.1_1"
    assert distribution(OLD, "transformers").installer is None
    assert packages(OLD).conda["cudatoolkit"] == "10.1.243 h6bb024c_0"
    assert "cudatoolkit" not in versions(OLD)


@pytest.mark.parametrize(
    ("lines", "cuda"),
    [
        ("PyTorch version: 1.12.1\nCUDA used to build PyTorch: Could not collect", ""),
        ("PyTorch version: 2.1.0\nCUDA used to build PyTorch: None", ""),
        ("PyTorch version: 2.1.0+cpu", ""),
        ("PyTorch version: 2.1.0+cu118", "11.8"),
        ("PyTorch version: 1.7.1+cu92", "9.2"),
        ("PyTorch version: 2.1.0", None),
        ("PyTorch version: 2.1.0\n[conda] cpuonly 2.0 0 pytorch", ""),
        ("[conda] pytorch 2.0.1 py3.10_cuda11.8_cudnn8.7.0_0 pytorch", "11.8"),
        ("[conda] pytorch 2.1.0 cuda120_py311hf0cd8ca_301 conda-forge", "12.0"),
        ("[conda] pytorch 2.1.0 cpu_py310h07e6ca3_0 conda-forge", ""),
        ("PyTorch version: 1.13.0 (CPU only)", ""),
    ],
)
def test_which_cuda_a_build_is_for(lines: str, cuda: str | None) -> None:
    assert torch(lines).cuda == cuda


def test_rocm() -> None:
    text = (
        "PyTorch version: 2.4.0+rocm6.1\nCUDA used to build PyTorch: N/A\n"
        "ROCM used to build PyTorch: 6.1.40091-a8dbc0c19\n"
        "Is CUDA available: True\nGPU models and configuration: AMD Instinct MI250X (gfx90a:sramecc+:xnack-)\n"
        "HIP runtime version: 6.1.40091\n"
    )
    assert (torch(text).cuda, torch(text).hip) == ("", "6.1.40091")
    assert driver(text).other_accelerators == ("AMD Instinct MI250X (gfx90a:sramecc+:xnack-)",)
    assert isinstance(read(text).gpus, Unavailable)


def test_windows() -> None:
    text = (
        "PyTorch version: 2.5.1+cu124\nOS: Microsoft Windows 11 Pro (10.0.22631 64-bit)\nLibc version: N/A\n"
        "Python version: 3.10.11 | packaged by conda-forge | (main) [MSC v.1935 64 bit (AMD64)] (64-bit runtime)\n"
        "Python platform: Windows-10-10.0.22631-SP0\nNvidia driver version: 566.36\n\nCPU:\n"
        "Name: AMD Ryzen 9 7950X 16-Core Processor\nManufacturer: AuthenticAMD\nFamily: 107\nArchitecture: 9\n"
    )
    assert (host(text).system, host(text).distribution) == ("Windows", "Microsoft Windows 11 Pro (10.0.22631 64-bit)")
    assert host(text).cpu_model == "AMD Ryzen 9 7950X 16-Core Processor"
    assert interpreter(text).version == "3.10.11"
    assert interpreter(text).is_conda
    assert interpreter(text).libc is None
    assert driver(text).kernel_module == "566.36"


def test_macos() -> None:
    text = (
        "PyTorch version: 2.4.1\nCUDA used to build PyTorch: None\nOS: macOS 15.0 (arm64)\n"
        "Python platform: macOS-15.0-arm64-arm-64bit\nIs CUDA available: False\n"
        "GPU models and configuration: No CUDA\nNvidia driver version: No CUDA\nCPU:\nApple M2 Max\n"
    )
    assert (host(text).system, host(text).machine) == ("Darwin", "arm64")
    assert isinstance(read(text).gpus, Unavailable)
    assert isinstance(read(text).driver, Unavailable)


@pytest.mark.parametrize(
    ("platform", "container"),
    [
        ("Linux-4.4.0-19041-Microsoft-x86_64-with-glibc2.31", "wsl1"),
        ("Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35", "wsl2"),
        ("Linux-6.8.0-63-generic-x86_64-with-glibc2.39", None),
    ],
)
def test_windows_subsystem_for_linux(platform: str, container: str | None) -> None:
    assert host(f"Python platform: {platform}\nPyTorch version: 2.1.0").container == container


def test_torch_that_cannot_be_imported() -> None:
    absent = read("PyTorch version: N/A\nIs debug build: N/A\nCUDA used to build PyTorch: N/A\n").torch
    assert isinstance(absent, Unavailable)
    assert absent.why == "absent"
    broken = read("PyTorch version: N/A\n\nVersions of relevant libraries:\n[pip3] torch==2.1.0\n")
    assert isinstance(broken.torch, Unavailable) or broken.torch.version == "2.1.0"


def test_lost_line_breaks_are_put_back() -> None:
    flat = " ".join(NEW.split())
    assert (torch(flat).version, torch(flat).cuda) == ("2.8.0+cu128", "12.8")
    assert (driver(flat).kernel_module, len(gpus(flat).devices)) == ("570.133.20", 2)
    assert versions(flat)["torchvision"] == "0.23.0+cu128"


def test_a_json_string_of_a_report() -> None:
    assert torch(NEW.replace("\n", "\\n")).version == "2.8.0+cu128"
