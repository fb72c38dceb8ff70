"""Interfaces, InfiniBand, and what stands between GPUs on the PCI bus."""

from __future__ import annotations

import re
import struct

from .reading import Root

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

VIRTUAL = ("lo", "veth", "docker", "br-", "virbr", "cni", "flannel", "cali", "ifb", "dummy", "tunl", "sit")
ACS = 0x000D  # PCIe extended capability; in its control word, bits 2 and 3 redirect requests and completions upstream
REDIRECTS = 0b1100


def read(root: Root, nvidia: bool) -> Dict[str, Any]:
    """A facts.Network value. ACS is looked for only beside an NVIDIA device: it takes a read per bridge."""
    modules = ("nvidia_peermem", "nv_peer_mem")
    return {
        "interfaces": interfaces(root),
        "infiniband": infiniband(root),
        "peer_memory": any(root.exists("/sys/module/" + name) for name in modules),
        "acs": access_control(root) if nvidia else None,
        "iommu": iommu(root),
    }


def interfaces(root: Root) -> List[str]:
    """Names and Mbit/s of the interfaces that are up; virtual ones of container networks are left out."""
    found = []
    for name in root.names("/sys/class/net"):
        folder = "/sys/class/net/" + name
        if name.startswith(VIRTUAL) or root.text(folder + "/operstate", 32) in ("down", "lowerlayerdown", "notpresent"):
            continue
        speed = root.number(folder + "/speed")
        found.append("%s %d" % (name, speed) if speed is not None and speed > 0 else name)
    return found


def infiniband(root: Root) -> List[str]:
    """Name, state and Gbit/s of every port: "mlx5_0 active 400"."""
    found = []
    for device in root.names("/sys/class/infiniband"):
        ports = "/sys/class/infiniband/" + device + "/ports"
        for port in root.names(ports):
            state = (root.text(ports + "/" + port + "/state") or "").rpartition(":")[2].strip().lower() or "unknown"
            rate = re.match(r"[\d.]+", root.text(ports + "/" + port + "/rate") or "")
            name = device if len(root.names(ports)) == 1 else device + ":" + port
            found.append("%s %s %s" % (name, state, rate[0] if rate else "?"))
    return found


def iommu(root: Root) -> Optional[bool]:
    """Does the IOMMU translate addresses of devices? That slows or stops traffic between GPUs; identity maps do not."""
    groups = root.names("/sys/kernel/iommu_groups")
    if not groups:
        return False if root.exists("/sys/kernel") else None
    kinds = {root.text("/sys/kernel/iommu_groups/" + group + "/type", 64) for group in groups[:64]}
    return any(kind is not None and kind.startswith("DMA") for kind in kinds) if kinds != {None} else True


def access_control(root: Root) -> Optional[bool]:
    """Does any PCI bridge redirect peer traffic? None where the configuration space may not be read (not root)."""
    answer = None
    for address in root.names("/sys/bus/pci/devices"):
        folder = "/sys/bus/pci/devices/" + address
        if not (root.text(folder + "/class", 32) or "").startswith("0x0604"):
            continue
        try:
            with open(root.path(folder + "/config"), "rb") as stream:
                space = stream.read(4096)
        except OSError:
            continue
        control = acs_control(space)
        if control is not None:
            answer = bool(answer) or bool(control & REDIRECTS)
    return answer


def acs_control(space: bytes) -> Optional[int]:
    """The ACS control word in a PCIe configuration space; None when the space is cut off or has no ACS."""
    offset = 0x100
    for _ in range(64):  # a damaged list could point in circles
        if offset < 0x100 or offset + 8 > len(space):
            return None
        (header,) = struct.unpack_from("<I", space, offset)
        if header & 0xFFFF == ACS:
            (control,) = struct.unpack_from("<H", space, offset + 6)
            return int(control)
        offset = header >> 20
    return None
