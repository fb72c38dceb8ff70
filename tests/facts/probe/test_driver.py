"""The NVIDIA driver and the network by their files, on recorded machines."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from envdoctor.facts import wire
from envdoctor.facts.model import Driver
from envdoctor.facts.probe.machine import driver, network
from envdoctor.facts.probe.machine.reading import Root
from tests.facts.probe.roots import lay

PROPRIETARY = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025\nGCC version: x\n"
)
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder)\n"


def gpu(address: str, vendor: str = "0x10de", device: str = "0x2330", kind: str = "0x030200") -> dict[str, str | bytes]:
    folder = f"/sys/bus/pci/devices/{address}"
    return {f"{folder}/vendor": vendor, f"{folder}/device": device, f"{folder}/class": kind}


def read(root: Root, **environ: str) -> Driver:
    return wire.from_json(Driver, driver.read(root, environ))


def test_a_healthy_machine(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "/sys/module/nvidia/version": "580.95.05\n",
            "/proc/driver/nvidia/version": OPEN,
            "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05": "",
            "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.95.05": "",
            "/dev/nvidia0": "",
            "/dev/nvidia10": "",
            "/dev/nvidiactl": "",
            "/dev/nvidia-uvm": "",
            "/dev/nvidia-caps": "",
            **gpu("0000:3b:00.0"),
            **gpu("0000:5e:00.0"),
            **gpu("0000:3b:00.1", kind="0x040300"),  # its audio function
            **gpu("0000:03:00.0", vendor="0x1a03"),  # the board's own VGA
        },
    )
    libraries = tmp_path / "usr/lib/x86_64-linux-gnu"
    (libraries / "libcuda.so.1").symlink_to("libcuda.so.580.95.05")
    (libraries / "libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.580.95.05")
    assert read(root) == Driver(
        kernel_module="580.95.05",
        library="580.95.05",
        library_path="/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        management_library="580.95.05",
        devices=("/dev/nvidia0", "/dev/nvidia10"),
        pci=("0000:3b:00.0 10de:2330", "0000:5e:00.0 10de:2330"),
        open_module=True,
    )


def test_no_nvidia_at_all(tmp_path: Path) -> None:
    root = lay(
        tmp_path, {**gpu("0000:c1:00.0", "0x1002", "0x74a1", "0x120000"), **gpu("0000:00:02.0", "0x8086", "0x56c0")}
    )
    told = read(root)
    assert not told.nvidia_present
    assert (told.kernel_module, told.library, told.management_library) == ("", "", "")
    assert told.other_accelerators == ("Intel 0000:00:02.0 8086:56c0", "AMD 0000:c1:00.0 1002:74a1")


def test_a_card_without_a_driver(tmp_path: Path) -> None:
    told = read(lay(tmp_path, gpu("0000:01:00.0")))
    assert told.nvidia_present
    assert told.kernel_module == ""


def test_the_kernel_module_in_a_container_without_sys(tmp_path: Path) -> None:
    told = read(lay(tmp_path, {"/proc/driver/nvidia/version": PROPRIETARY}))
    assert (told.kernel_module, told.open_module) == ("550.163.01", False)


def test_a_compat_library_first_on_the_library_path(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "/sys/module/nvidia/version": "550.163.01",
            "/usr/local/cuda/compat/libcuda.so.580.65.06": "",
            "/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01": "",
        },
    )
    (tmp_path / "usr/local/cuda/compat/libcuda.so.1").symlink_to("libcuda.so.580.65.06")
    (tmp_path / "usr/lib/x86_64-linux-gnu/libcuda.so.1").symlink_to("libcuda.so.550.163.01")
    assert read(root).library == "550.163.01"
    assert read(root, LD_LIBRARY_PATH="relative:/none:/usr/local/cuda/compat").library == "580.65.06"


def test_the_linker_cache_comes_before_the_usual_folders(tmp_path: Path) -> None:
    cache = b"glibc-ld.so.cache1.1\0\0libcuda.so.1\0/opt/driver/libcuda.so.1\0libm.so.6\0/lib/libm.so.6\0"
    root = lay(
        tmp_path,
        {"/etc/ld.so.cache": cache, "/opt/driver/libcuda.so.535.1.2": "", "/usr/lib64/libcuda.so.550.1": ""},
    )
    (tmp_path / "opt/driver/libcuda.so.1").symlink_to("libcuda.so.535.1.2")
    (tmp_path / "usr/lib64/libcuda.so.1").symlink_to("libcuda.so.550.1")
    assert read(root).library_path == "/opt/driver/libcuda.so.1"
    (tmp_path / "opt/driver/libcuda.so.1").unlink()
    assert read(root).library_path == "/usr/lib64/libcuda.so.1"


def test_wsl(tmp_path: Path) -> None:
    root = lay(tmp_path, {"/usr/lib/wsl/lib/libcuda.so.1.1": "", "/dev/dxg": ""})
    (tmp_path / "usr/lib/wsl/lib/libcuda.so.1").symlink_to("libcuda.so.1.1")
    told = read(root)
    assert told.nvidia_present
    assert (told.devices, told.library, told.library_path) == (("/dev/dxg",), "", "/usr/lib/wsl/lib/libcuda.so.1")


@pytest.mark.parametrize(
    ("files", "devices"),
    [
        (("nvhost-gpu",), ("/dev/nvhost-gpu",)),
        (("nvgpu/igpu0/ctrl", "nvhost-gpu", "nvidiactl"), ("/dev/nvgpu/igpu0/ctrl",)),
        (("nvidia0", "nvidiactl", "nvgpu/igpu0/ctrl"), ("/dev/nvidia0",)),
        (("nvmap",), ()),
    ],
)
def test_a_jetson(files: tuple[str, ...], devices: tuple[str, ...], tmp_path: Path) -> None:
    library = "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1"
    told = read(lay(tmp_path, {library: "", **{f"/dev/{name}": "" for name in files}}))
    assert told.devices == devices
    assert told.nvidia_present == bool(devices)


def test_device_files_that_may_not_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = lay(tmp_path, {"/dev/nvidia0": "", "/dev/nvidia1": "", "/dev/nvidiactl": ""})
    # As root every file may be opened, so the answer of the kernel is given here
    monkeypatch.setattr("os.access", lambda path, mode: not path.endswith("nvidia1"))
    assert read(root).device_denied == ("/dev/nvidia1",)


def test_kernel_errors(tmp_path: Path) -> None:
    log = "\n".join(
        [
            "6,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
            "6,2,3,-;NVRM: Xid (PCI:0000:3B:00): 79, pid=1",
            "6,3,4,-;NVRM: Xid (PCI:0000:5e:00): 31, pid=77, name=python",
            "6,4,5,-;usb 1-1: new device",
        ]
    )
    told = driver.kernel_errors(lay(tmp_path, {"/dev/kmsg": log}))
    assert told == {"0000:3b:00": [79], "0000:5e:00": [31]}
    assert driver.kernel_errors(Root("/nowhere")) == {}


def test_interfaces_and_infiniband(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "/sys/class/net/lo/operstate": "unknown",
            "/sys/class/net/eth0/operstate": "up",
            "/sys/class/net/eth0/speed": "100000\n",
            "/sys/class/net/eth1/operstate": "down",
            "/sys/class/net/eth2/operstate": "up",
            "/sys/class/net/eth2/speed": "-1",
            "/sys/class/net/docker0/operstate": "up",
            "/sys/class/net/veth12/operstate": "up",
            "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
            "/sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
            "/sys/class/infiniband/mlx5_1/ports/1/state": "1: DOWN\n",
            "/sys/class/infiniband/mlx5_1/ports/1/rate": "10 Gb/sec (4X SDR)\n",
            "/sys/class/infiniband/mlx5_1/ports/2/state": "4: ACTIVE\n",
            "/sys/class/infiniband/mlx5_1/ports/2/rate": "200 Gb/sec\n",
            "/sys/module/nvidia_peermem/refcnt": "0",
        },
    )
    told = network.read(root, True)
    assert told["interfaces"] == ["eth0 100000", "eth2"]
    assert told["infiniband"] == ["mlx5_0 active 400", "mlx5_1:1 down 10", "mlx5_1:2 active 200"]
    assert told["peer_memory"] is True


@pytest.mark.parametrize(
    ("types", "expected"),
    [(["DMA-FQ", "identity"], True), (["identity"], False), (["DMA"], True), ([], False)],
)
def test_iommu_counts_when_it_translates(types: list[str], expected: bool, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"/sys/kernel/mm/x": ""}
    files.update({f"/sys/kernel/iommu_groups/{n}/type": kind for n, kind in enumerate(types)})
    assert network.iommu(lay(tmp_path, files)) is expected


def space(control: int, *, cut: int | None = None) -> bytes:
    """A PCIe configuration space: an AER capability, which leads to ACS."""
    data = bytearray(4096)
    struct.pack_into("<I", data, 0x100, 0x148 << 20 | 2 << 16 | 0x0001)
    struct.pack_into("<I", data, 0x148, 0 << 20 | 1 << 16 | network.ACS)
    struct.pack_into("<H", data, 0x148 + 6, control)
    return bytes(data[:cut])


@pytest.mark.parametrize(
    ("data", "expected"),
    [(space(0b11101), True), (space(0b00001), False), (space(0), False), (space(0, cut=64), None), (bytes(4096), None)],
)
def test_access_control_services(data: bytes, expected: bool | None, tmp_path: Path) -> None:
    folder = "/sys/bus/pci/devices/0000:00:01.0"
    root = lay(tmp_path, {f"{folder}/class": "0x060400", f"{folder}/config": data})
    assert network.access_control(root) is expected


def test_a_capability_list_in_a_circle() -> None:
    data = bytearray(4096)
    struct.pack_into("<I", data, 0x100, 0x100 << 20 | 0x0001)
    assert network.acs_control(bytes(data)) is None
