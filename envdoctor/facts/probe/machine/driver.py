"""The NVIDIA driver, as files show it. No driver call is made, so nothing here can hang in the driver."""

from __future__ import annotations

import os
import re

from .reading import Root

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

NVIDIA = "0x10de"
MAKERS = {"0x1002": "AMD", "0x8086": "Intel", "0x1da3": "Habana"}
BOARD_DEVICES = ("nvgpu/igpu0/ctrl", "nvhost-gpu")  # of a Jetson: L4T 35 on, and before
LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", "/lib",
    "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib64/nvidia",
    "/run/opengl-driver/lib", "/usr/lib/aarch64-linux-gnu/nvidia", "/usr/lib/aarch64-linux-gnu/tegra",
)  # fmt: skip


def read(root: Root, environ: Mapping[str, str]) -> Dict[str, Any]:
    """A facts.Driver value, as far as files tell."""
    about = root.text("/proc/driver/nvidia/version") or ""
    module = root.text("/sys/module/nvidia/version")
    if module is None:
        found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+[\d.]+)", about)
        module = found[1] if found else ""
    library = library_path(root, environ, "libcuda.so.1")
    management = library_path(root, environ, "libnvidia-ml.so.1")
    nvidia, others = display_devices(root)
    devices, denied = device_files(root, bool(library))
    return {
        "kernel_module": module,
        "library": library_version(root, library),
        "library_path": library,
        "management_library": library_version(root, management),
        "devices": devices,
        "device_denied": denied,
        "pci": nvidia,
        "other_accelerators": others,
        "open_module": ("Open Kernel Module" in about) if about else None,
    }


def library_path(root: Root, environ: Mapping[str, str], name: str) -> Optional[str]:
    """The file that the dynamic linker would take: LD_LIBRARY_PATH, then its cache, then the usual folders."""
    for folder in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if os.path.isabs(folder) and root.exists(folder + "/" + name):
            return os.path.join(folder, name)
    try:
        with open(root.path("/etc/ld.so.cache"), "rb") as stream:
            cached = re.search(rb"\0(/[^\0]*/" + re.escape(name.encode()) + rb")\0", stream.read())
    except OSError:
        cached = None
    if cached:
        path = os.fsdecode(cached[1])
        if root.exists(path):
            return path
    return next((folder + "/" + name for folder in LIBRARY_FOLDERS if root.exists(folder + "/" + name)), None)


def library_version(root: Root, path: Optional[str]) -> str:
    """libcuda.so.1 is a link to libcuda.so.<driver version>; "" without the library or where the name does not tell."""
    if path is None:
        return ""
    found = re.search(r"\.so\.(\d+\.\d+(?:\.\d+)?)$", os.path.realpath(root.path(path)))
    return found[1] if found and found[1] != "1.1" else ""  # WSL has libcuda.so.1.1


def device_files(root: Root, library: bool) -> Tuple[List[str], List[str]]:
    """/dev/nvidia0 ... (or /dev/dxg under WSL, what a Jetson has), and those of the driver's files that this user may
    not open."""
    names = [name for name in root.names("/dev") if re.match(r"nvidia(\d+|ctl|-uvm)$", name)]
    if not names and library and root.exists("/dev/dxg"):
        names = ["dxg"]
    if not any(re.match(r"nvidia\d", name) for name in names):  # the display of a Jetson may have an nvidiactl
        names += [name for name in BOARD_DEVICES if root.exists("/dev/" + name)][:1]
    paths = ["/dev/" + name for name in names]
    denied = [path for path in paths if not os.access(root.path(path), os.R_OK | os.W_OK)]
    return [path for path in paths if not path.endswith(("ctl", "-uvm"))], denied


def display_devices(root: Root) -> Tuple[List[str], List[str]]:
    """NVIDIA display devices on the PCI bus, and the accelerators of other makers."""
    nvidia, others = [], []
    folder = "/sys/bus/pci/devices/"
    for address in root.names(folder):
        kind = root.text(folder + address + "/class", 32) or ""
        # 0x03 display, 0x0302 3D controller, 0x12 processing accelerator (PCI class codes)
        if not kind.startswith(("0x03", "0x12")):
            continue
        vendor = root.text(folder + address + "/vendor", 32) or ""
        device = root.text(folder + address + "/device", 32) or ""
        if vendor == NVIDIA:
            nvidia.append("%s %s:%s" % (address, vendor[2:], device[2:]))
        elif vendor in MAKERS:
            others.append("%s %s %s:%s" % (MAKERS[vendor], address, vendor[2:], device[2:]))
    return nvidia, others


def kernel_errors(root: Root) -> Dict[str, List[int]]:
    """PCI address -> codes in "NVRM: Xid (PCI:0000:3b:00): 79, pid=..." in the kernel's log, where it may be read."""
    found: Dict[str, List[int]] = {}
    for message in _kernel_log(root):
        xid = re.search(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)", message)
        if xid and int(xid[2]) not in found.setdefault(xid[1].lower(), []):
            found[xid[1].lower()].append(int(xid[2]))
    return found


def _kernel_log(root: Root) -> Iterator[str]:
    try:
        descriptor = os.open(root.path("/dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        for _ in range(100_000):  # one message a read; the ring buffer holds far fewer
            try:
                message = os.read(descriptor, 8192)
            except BrokenPipeError:  # the oldest message was overwritten meanwhile
                continue
            except OSError:
                return
            if not message:
                return
            yield from message.decode("utf-8", "replace").splitlines()
    finally:
        os.close(descriptor)
