import pytest

from envdoctor.facts.pasted import read
from tests.facts.pasted.reading import driver, gpus, host

OLD = """\
Thu Mar 28 12:49:52 2019
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 450.102.04   Driver Version: 450.102.04   CUDA Version: 11.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  Tesla V100-SXM2...  Off  | 00000000:04:00.0 Off |                    0 |
| N/A   53C    P0    44W / 300W |    966MiB / 32502MiB |    100%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
|   1  GeForce GTX 108...  On   | 00000000:05:00.0  On |                  N/A |
| 23%   41C    P8    10W / 250W |      0MiB / 11178MiB |      0%   E. Process |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
|    0   N/A  N/A     12345      C   python                            963MiB |
|    0   N/A  N/A      1100      G   /usr/lib/xorg/Xorg                  4MiB |
+-----------------------------------------------------------------------------+
"""
NEW = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.65.06              KMD Version: 580.65.06     CUDA UMD Version: 13.0     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                   On |
| N/A   30C    P0             62W /  400W |       0MiB /  81920MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+
"""


def test_an_old_table() -> None:
    first, second = gpus(OLD).devices
    assert (driver(OLD).kernel_module, driver(OLD).cuda, driver(OLD).smi) == ("450.102.04", "11.0", "")
    assert (first.name, first.persistence, first.ecc_uncorrected, first.processes) == ("Tesla V100-SXM2", False, 0, 1)
    assert (first.memory, first.memory_used) == (32502 << 20, 966 << 20)
    assert (first.temperature, first.power_draw, first.power_limit, first.utilization) == (53, 44.0, 300.0, 100)
    assert (second.name, second.compute_mode, second.utilization) == ("GeForce GTX 108", "exclusive-process", 0)
    assert gpus(OLD).count == 2


def test_a_new_table() -> None:
    (gpu,) = gpus(NEW).devices
    assert (driver(NEW).kernel_module, driver(NEW).cuda) == ("580.65.06", "13.0")
    assert (gpu.name, gpu.mig, gpu.persistence, gpu.power_limit) == ("NVIDIA A100-SXM4-80GB", True, True, 400.0)


def test_a_longer_name_elsewhere_completes_a_cut_one() -> None:
    assert gpus(OLD + "\nGPU 0: Tesla V100-SXM2-32GB\n").devices[0].name == "Tesla V100-SXM2-32GB"


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that it is running.",
        "Failed to initialize NVML: Driver/library version mismatch",
        "No devices were found",
        "bash: nvidia-smi: command not found",
        "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error",
    ],
)
def test_what_it_says_when_it_fails(text: str) -> None:
    assert driver(text).smi == text
    assert text in read(text).messages


def test_the_library_of_a_mismatch() -> None:
    text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n"
    assert driver(text).management_library == "550.90"


def test_the_list() -> None:
    text = (
        "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5a1f2b3c-0000-0000-0000-000000000000)\n"
        "  MIG 3g.20gb     Device  0: (UUID: MIG-5a1f2b3c-0000-0000-0000-000000000000)\n"
        "GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-6a1f2b3c-0000-0000-0000-000000000000)\n"
    )
    assert [(gpu.name, gpu.mig) for gpu in gpus(text).devices] == [
        ("NVIDIA A100-SXM4-40GB", True),
        ("NVIDIA A100-SXM4-40GB", None),
    ]
    assert gpus(text).count == 2


def test_the_query() -> None:
    text = (
        "index, name, driver_version, compute_cap, memory.total [MiB], power.limit [W], pcie.link.width.current\n"
        "0, NVIDIA H100 PCIe, 535.104.05, 9.0, 81559 MiB, 350.00 W, 16\n"
        "1, NVIDIA H100 PCIe, 535.104.05, 9.0, 81559 MiB, 300.00 W, 8\n"
    )
    assert driver(text).kernel_module == "535.104.05"
    assert [(g.capability, g.power_limit, g.pcie_width, g.memory) for g in gpus(text).devices] == [
        ("9.0", 350.0, 16, 81559 << 20),
        ("9.0", 300.0, 8, 81559 << 20),
    ]


def test_the_long_form() -> None:
    text = """\
==============NVSMI LOG==============

Timestamp                                 : Tue Jul  2 10:00:00 2024
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA L40S
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : N/A
        Pending                           : N/A
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : 1
            Link Width
                Max                       : 16x
                Current                   : 8x
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Not Active
        HW Thermal Slowdown               : Active
    FB Memory Usage
        Total                             : 46068 MiB
        Used                              : 3 MiB
    Compute Mode                          : Default
    Utilization
        Gpu                               : 0 %
    Temperature
        GPU Current Temp                  : 91 C
    GPU Power Readings
        Power Draw                        : 300.55 W
        Current Power Limit               : 300.00 W
        Default Power Limit               : 350.00 W
    Clocks
        SM                                : 510 MHz
    Max Clocks
        SM                                : 2520 MHz
"""
    (gpu,) = gpus(text).devices
    assert (driver(text).kernel_module, driver(text).cuda, gpus(text).count) == ("550.54.15", "12.4", 1)
    assert (gpu.name, gpu.persistence, gpu.mig, gpu.compute_mode) == ("NVIDIA L40S", True, None, "default")
    assert (gpu.pcie_generation, gpu.pcie_generation_max, gpu.pcie_width, gpu.pcie_width_max) == (1, 4, 8, 16)
    assert (gpu.throttle_reasons, gpu.temperature) == (("hw-thermal",), 91)
    assert (gpu.power_limit, gpu.power_default, gpu.sm_clock, gpu.sm_clock_max) == (300.0, 350.0, 510, 2520)


def test_the_topology() -> None:
    text = """\
\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m
GPU0\t X \tNV18\tPIX\t0-51\t0
GPU1\tNV18\t X \tSYS\t0-51\t0
NIC0\tPIX\tSYS\t X

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks
"""
    assert gpus(text).topology == (("X", "NV18"), ("NV18", "X"))
    assert gpus(text).count == 2
    assert read(text).messages == ()


def test_nvcc() -> None:
    text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 11.8, V11.8.89\n"
    assert host(text).nvcc == "11.8.89"


@pytest.mark.parametrize("said", ["0", "None", "3.5", "{}", "b'X'", "[1, ['X']]", "'X'"])
def test_a_topology_that_is_no_list_of_links(said: str) -> None:
    """As a report that was cut there says it; found by mutating real ones."""
    text = f"topology.GPU0: {said}\nNVIDIA-SMI 570.86.10  Driver Version: 570.86.10  CUDA Version: 12.8"
    assert read(text) is not None
