"""``PYTHON -I gpu.py ANSWER``: every GPU as NVML reads it. Runs under envdoctor's own interpreter, which has pynvml.

Each query is guarded by itself: consumer cards, vGPUs and MIG slices lack some of them, and one that is not supported
must not lose the rest.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any, Callable

import pynvml as nvml

# Bit masks of nvmlDeviceGetCurrentClocksEventReasons (nvml.h), in the words of facts.Gpu.
REASONS = {
    0x1: "idle",
    0x2: "app-clocks",
    0x4: "sw-power-cap",
    0x8: "hw-slowdown",
    0x10: "sync-boost",
    0x20: "sw-thermal",
    0x40: "hw-thermal",
    0x80: "power-brake",
    0x100: "display-clocks",
}
COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
FABRIC = {1: "not started", 2: "in progress", 3: "completed"}
ANCESTORS: dict[int | None, str] = {0: "PSB", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
MOST = 256  # GPUs of one machine; more are a driver's error, and asking each of 2**31 would fill the disk
NO_VALUE = 0xFFFFFFFF  # what some queries answer instead of an error


def main(answer_path: str) -> None:
    with open(answer_path, "w", encoding="ascii") as stream:

        def tell(**line: Any) -> None:
            stream.write(json.dumps(line) + "\n")
            stream.flush()

        tell(stage="nvmlInit")
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            text = "Driver/library version mismatch" if error.value == 18 else str(error)  # as nvidia-smi words it
            tell(error=text, code=int(error.value))
            return
        tell(
            driver=query(nvml.nvmlSystemGetDriverVersion),
            library=query(nvml.nvmlSystemGetNVMLVersion),
            cuda=_dotted_version(query(nvml.nvmlSystemGetCudaDriverVersion_v2)),
        )
        count = query(nvml.nvmlDeviceGetCount) or 0
        if count > MOST:
            tell(error="it counts %d GPUs" % count)
            return
        tell(count=count)
        handles: list[Any] = []
        wired: list[dict[str, int] | None] = []
        for index in range(count):
            tell(stage="GPU %d" % index)
            try:
                handle = nvml.nvmlDeviceGetHandleByIndex(index)
            except nvml.NVMLError as error:
                # A card that has fallen off the bus (Xid 79) is counted, and answers nothing else
                tell(lost={"index": index, "error": str(error)})
                continue
            handles.append(handle)
            wired.append(links(handle))
            tell(gpu=device(index, handle, wired[-1]), pci=_pci(handle), fabric=fabric(handle))
        tell(stage="topology")
        tell(topology=topology(handles, wired), peer_access=peers(handles))
        tell(stage="done")


def query(call: Callable[..., Any], *arguments: Any) -> Any:
    """The answer of one NVML call, or None where it is not supported, not permitted, or not in this library."""
    try:
        value = call(*arguments)
    except Exception:  # NVMLError, but also what pynvml itself raises over an older or newer library
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if isinstance(value, int) and value == NO_VALUE else value


def device(index: int, handle: Any, wires: dict[str, int] | None) -> dict[str, Any]:
    """A facts.Gpu value."""
    # Version 2 does not count what the driver keeps for itself (0.6 GB on an H100) as used
    memory = query(nvml.nvmlDeviceGetMemoryInfo, handle, getattr(nvml, "nvmlMemory_v2", None))
    memory = memory or query(nvml.nvmlDeviceGetMemoryInfo, handle)
    capability = query(nvml.nvmlDeviceGetCudaComputeCapability, handle)
    utilization = query(nvml.nvmlDeviceGetUtilizationRates, handle)
    remapped = query(nvml.nvmlDeviceGetRemappedRows, handle)
    ecc = query(nvml.nvmlDeviceGetEccMode, handle)
    mig = query(nvml.nvmlDeviceGetMigMode, handle)
    mode = query(nvml.nvmlDeviceGetComputeMode, handle)
    uuid = query(nvml.nvmlDeviceGetUUID, handle)
    return {
        "index": index,
        "name": query(nvml.nvmlDeviceGetName, handle) or "unknown",
        "capability": "%d.%d" % tuple(capability) if capability else None,
        "identity": identity(uuid) if uuid else None,
        "memory": int(memory.total) if memory else None,
        "memory_used": int(memory.used) if memory else None,
        "power_limit": _watts(query(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)),
        "power_default": _watts(query(nvml.nvmlDeviceGetPowerManagementDefaultLimit, handle)),
        "power_draw": _watts(query(nvml.nvmlDeviceGetPowerUsage, handle)),
        "sm_clock": query(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
        "sm_clock_max": query(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        "sm_clock_application": query(nvml.nvmlDeviceGetApplicationsClock, handle, nvml.NVML_CLOCK_SM),
        "memory_clock": query(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
        "memory_clock_max": query(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM),
        "utilization": int(utilization.gpu) if utilization else None,
        "temperature": query(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
        "temperature_slowdown": query(
            nvml.nvmlDeviceGetTemperatureThreshold, handle, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
        ),
        "throttle_reasons": reasons(handle),
        "pcie_generation": query(nvml.nvmlDeviceGetCurrPcieLinkGeneration, handle),
        "pcie_generation_max": query(nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        "pcie_width": query(nvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
        "pcie_width_max": query(nvml.nvmlDeviceGetMaxPcieLinkWidth, handle),
        "ecc_mode": bool(ecc[0]) if ecc else None,
        "ecc_uncorrected": query(
            nvml.nvmlDeviceGetTotalEccErrors, handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        ),
        "rows_pending": bool(remapped[2]) if remapped else None,
        "rows_failed": bool(remapped[3]) if remapped else None,
        "retired_pending": _boolean(query(nvml.nvmlDeviceGetRetiredPagesPendingStatus, handle)),
        "mig": bool(mig[0]) if mig else None,
        "persistence": _boolean(query(nvml.nvmlDeviceGetPersistenceMode, handle)),
        "compute_mode": COMPUTE_MODES.get(mode) if mode is not None else None,
        "processes": _count(query(nvml.nvmlDeviceGetComputeRunningProcesses, handle)),
        "nvlinks": None if wires is None else sum(wires.values()) - wires["down"],
        "nvlinks_down": None if wires is None else wires["down"],
        "virtual": _virtual(query(nvml.nvmlDeviceGetVirtualizationMode, handle)),
    }


def identity(uuid: str) -> str:
    """The same as envdoctor.facts.scrub.identity: this script stands alone, and no UUID leaves it."""
    return hashlib.blake2b(uuid.encode(), digest_size=8, person=b"envdoctor gpu").hexdigest()


def reasons(handle: Any) -> list[str] | None:
    """Why the clocks are not at their highest; the call was renamed with driver 535."""
    for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
        mask = query(getattr(nvml, name, _no_reading), handle)
        if mask is not None:
            return [word for bit, word in REASONS.items() if mask & bit]
    return None


def links(handle: Any) -> dict[str, int] | None:
    """Where the NVLinks lead: PCI address of the other GPU, "switch" or "down" -> number; None without any link."""
    found = {"down": 0}
    for link in range(getattr(nvml, "NVML_NVLINK_MAX_LINKS", 18)):
        state = query(nvml.nvmlDeviceGetNvLinkState, handle, link)
        if state is None:
            return found if link else None
        if not state:
            found["down"] += 1
            continue
        kind = query(nvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link)
        remote = query(nvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)
        switch = kind == getattr(nvml, "NVML_NVLINK_DEVICE_TYPE_SWITCH", 2)
        key = "switch" if switch or remote is None else _address(remote)
        found[key] = found.get(key, 0) + 1
    return found


def fabric(handle: Any) -> str | None:
    """State of this GPU in the NVSwitch fabric, which the fabric manager of the host sets up."""
    structure = getattr(nvml, "c_nvmlGpuFabricInfo_t", None)
    if structure is None:
        return None
    info = structure()
    if query(nvml.nvmlDeviceGetGpuFabricInfo, handle, nvml.byref(info)) is None:
        return None
    return FABRIC.get(int(info.state))


def topology(handles: list[Any], wired: list[dict[str, int] | None]) -> list[list[str]]:
    """Words of `nvidia-smi topo -m` for each pair: NV<links>, PIX, PXB, PHB, NODE, SYS; X for the card itself."""
    addresses = [_pci(handle) for handle in handles]
    rows = []
    for row, one in enumerate(handles):
        words = []
        for column, other in enumerate(handles):
            if row == column:
                words.append("X")
                continue
            mine, theirs = wired[row] or {}, wired[column] or {}
            # Behind NVSwitches every link leads to a switch and serves every peer
            through = mine.get("switch", 0) if theirs.get("switch") else 0
            count = mine.get(addresses[column] or "", 0) or through
            ancestor = None if count else query(nvml.nvmlDeviceGetTopologyCommonAncestor, one, other)
            words.append("NV%d" % count if count else ANCESTORS.get(ancestor, "?"))
        rows.append(words)
    return rows


def peers(handles: list[Any]) -> list[list[bool]]:
    """May each pair read the other's memory directly?"""
    index = getattr(nvml, "NVML_P2P_CAPS_INDEX_READ", 0)
    index = index[0] if isinstance(index, tuple) else index  # a stray comma in pynvml makes it a tuple
    rows = []
    for one in handles:
        states = [0 if one is other else query(nvml.nvmlDeviceGetP2PStatus, one, other, index) for other in handles]
        if None in states:
            return []
        rows.append([state == 0 for state in states])
    return rows


def _pci(handle: Any) -> str | None:
    info = query(nvml.nvmlDeviceGetPciInfo, handle)
    return _address(info) if info is not None else None


def _address(info: Any) -> str:
    """0000:3b:00, as the kernel log writes it."""
    return "%04x:%02x:%02x" % (info.domain, info.bus, info.device)


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


def _dotted_version(version: int | None) -> str | None:
    return "%d.%d" % (version // 1000, version % 1000 // 10) if version else None


def _boolean(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _count(values: list[Any] | None) -> int | None:
    return None if values is None else len(values)


def _virtual(mode: int | None) -> bool | None:
    return None if mode is None else mode != 0


def _no_reading(*_: Any) -> None:
    return None


if __name__ == "__main__":
    main(sys.argv[1])
