"""What of the facts decides compatibility, gathered into one `Machine`: from probes, or from the crumbs of a report;
and what they prove about the GPU and who may touch its driver. Asked once for each facts."""

from __future__ import annotations

import re
from typing import Literal

from envdoctor.facts.model import Facts, Gpu
from envdoctor.facts.need import known
from envdoctor.knowledge import gpus as table
from envdoctor.knowledge.cuda_lines import from_code
from envdoctor.knowledge.generations import generation
from envdoctor.knowledge.gpus import GpuModel, capability_of
from envdoctor.knowledge.messages import anywhere, texts
from envdoctor.knowledge.numbers import line, numbers
from envdoctor.knowledge.solver import Machine
from envdoctor.knowledge.topics import topics_of
from envdoctor.values.once import once
from envdoctor.values.pattern import Pattern


@once
def machine_of(facts: Facts) -> Machine:
    """The machine behind these facts; whatever they do not say stays unknown."""
    interpreter, devices = known(facts.interpreter), capabilities(facts)
    return Machine(
        # A Jetson's driver comes with its system image and has a number of its own: JetPack 7 calls it 580.00, and it
        # runs CUDA 13.0 all the same. Only the CUDA version that it names itself can be compared.
        driver=None if is_board(facts) else driver_version(facts),
        driver_cuda=driver_cuda(facts),
        capabilities=devices,
        python=interpreter.version if interpreter else None,
        platform=platform_of(facts),
        libc=interpreter.libc if interpreter else None,
    )


@once
def driver_version(facts: Facts) -> str | None:
    """Version of the NVIDIA driver: of the kernel module, else of its libraries."""
    driver = known(facts.driver)
    if driver is None:
        return None
    versions = (driver.kernel_module, driver.management_library, driver.library)
    return next((version for version in versions if numbers(version)), None)


@once
def driver_cuda(facts: Facts) -> str | None:
    """The CUDA version that the driver's library names: what torch met ("found version 11040"), else what was read."""
    for text in texts(facts):
        if match := re.search(r"driver.{0,60}too old \(found version (\d{4,5})\)", text, re.IGNORECASE | re.DOTALL):
            return from_code(int(match[1]))
    driver = known(facts.driver)
    return line(driver.cuda) if driver else None


@once
def is_board(facts: Facts) -> bool:
    """Is this a Jetson? Its GPU is part of the processor, and driver and libraries come with the board's image.

    Told by the GPU, else by the name of NVIDIA's kernel for it ("5.15.148-tegra"), which containers share.
    """
    if boards := [generation(text) for text in capabilities(facts)]:
        return all(found is not None and found.embedded for found in boards)
    host = known(facts.host)
    return host is not None and host.machine == "aarch64" and "tegra" in (host.kernel or "")


@once
def needs_board_wheels(facts: Facts) -> bool:
    """Does torch come from NVIDIA's index for Jetson here? A report may name the board in its words alone."""
    if "board" in facts.remarks:
        return True
    devices = capabilities(facts)
    return is_board(facts) and "11.0" not in devices and facts.origin.kind == "pasted"


CONTAINERS = frozenset({"docker", "podman", "kubernetes", "lxc"})


def in_container(facts: Facts) -> bool:
    host = known(facts.host)
    return host is not None and host.container in CONTAINERS


def in_wsl(facts: Facts) -> bool:
    """By the kernel that a probe saw, or by what a text shows, where that shows no container beside it."""
    host = known(facts.host)
    if host is not None and host.container:
        return host.container.startswith("wsl")
    shown = topics_of(facts)
    return "WSL" in shown and "a container" not in shown


def bus_is_ours(facts: Facts) -> bool:
    """May what is on the PCI bus be used here? A container sees its host's bus, but only its own device files."""
    driver = known(facts.driver)
    return driver is not None and (bool(driver.devices) or not in_container(facts))


@once
def gpu_names(facts: Facts) -> tuple[str, ...]:
    """Names of all GPUs: from NVML or the report, else from the PCI bus where that is this machine's own."""
    gpus = known(facts.gpus)
    if gpus is not None and gpus.devices:
        return tuple(gpu.name for gpu in gpus.devices)
    return tuple(model.printed for model in models_on_bus(facts))


@once
def models_on_bus(facts: Facts) -> tuple[GpuModel, ...]:
    """The GPUs on the PCI bus that the table knows, where the bus is this machine's own."""
    driver = known(facts.driver)
    return table.on_bus(driver.pci) if driver and driver.pci and bus_is_ours(facts) else ()


def model_of(gpu: Gpu, facts: Facts) -> GpuModel | None:
    """The model of a GPU that NVML or a report lists. Where the bus shows one model only, its id wins over the name,
    which may leave several open (an RTX 3080 with 10 or 12 GB)."""
    named = table.identify(gpu.name)
    on_bus = {model.name: model for model in models_on_bus(facts)}
    if len(on_bus) == 1:
        (model,) = on_bus.values()
        if (named is None and gpu.capability == model.capability) or (named is not None and named.chip == model.chip):
            return model
    return named


def peak_tflops(facts: Facts) -> float | None:
    """Dense tensor-core peak of the slowest GPU in TFLOP/s, in bf16, or in fp16 where there is none; None without GPUs
    and where one's is not known."""
    gpus = known(facts.gpus)
    boards = [table.board(gpu.name) and model_of(gpu, facts) for gpu in gpus.devices] if gpus else []
    peaks = [board and (board.peak.get("bfloat16") or board.peak.get("float16")) for board in boards]
    return min((peak for peak in peaks if peak), default=None) if all(peaks) else None


@once
def capabilities(facts: Facts) -> tuple[str, ...]:
    """Compute capabilities of all GPUs, as read, else by their names, else as torch reports them."""
    gpus = known(facts.gpus)
    if gpus is not None and gpus.devices:
        found = [gpu.capability or capability_of(gpu.name) for gpu in gpus.devices]
    else:
        torch = known(facts.torch)
        if torch is not None and torch.capabilities:
            return torch.capabilities
        found = [model.capability for model in models_on_bus(facts)]
    return tuple(each for each in found if each is not None)


def platform_of(facts: Facts) -> str:
    """`sysconfig.get_platform()` of the environment, or the nearest guess; Linux on x86-64 where nothing speaks."""
    interpreter, host = known(facts.interpreter), known(facts.host)
    if interpreter is not None and interpreter.platform:
        return interpreter.platform
    system = ((host.system if host else None) or "Linux").lower()
    machine = (host.machine if host else None) or "x86_64"
    return {"windows": "win-amd64", "darwin": f"macosx-11.0-{machine}"}.get(system, f"linux-{machine}")


_OTHER_MAKERS = Pattern(
    r"\bAMD\b|\bRadeon\b|\bRX ?-?[4-9]\d{2,3}\b|\bInstinct\b|\bMI[123]\d\d[AX]?\b|\bIntel\b|\bgfx\d", re.IGNORECASE
)


@once
def nvidia_gpu(facts: Facts) -> str | None:
    """What shows that there is an NVIDIA GPU, or None. A driver alone (a container sees its host's) is not enough."""
    names = gpu_names(facts)
    own = [name for name in names if not _OTHER_MAKERS.search(name)]
    if names:
        return f"{len(own)}x {own[0]}" if len(own) > 1 else next(iter(own), None)
    driver = known(facts.driver)
    if driver is not None and driver.pci and bus_is_ours(facts):
        return f"NVIDIA device {driver.pci[0]}"
    if driver is not None and driver.devices:
        return driver.devices[0]
    gpus = known(facts.gpus)
    if gpus is not None and gpus.count:
        return f"{gpus.count} GPU{'s' if gpus.count > 1 else ''}"
    # A report that prints a driver's version was made where the driver answered.
    version = driver_version(facts) if facts.origin.kind == "pasted" else None
    return f"NVIDIA driver {version}" if version else None


def driver_owner(facts: Facts) -> Literal["host", "you"]:
    """Inside a container the driver belongs to whoever runs the host; elsewhere it is one's own."""
    return "host" if in_container(facts) else "you"


_UNLICENSED = Pattern(
    r"(?i)(?:nvidia-gridd|vGPU|GRID).{0,80}(?:Failed to acquire license|unlicensed|not licensed)"
    r"|does(?: not|n't) have (?:a )?valid Grid license|CUDA_ERROR_DEVICE_NOT_LICENSED",
)


def lacks_licence(facts: Facts) -> bool:
    """Is this a virtual GPU without a licence? What does not work on it may follow from that."""
    return anywhere(facts, _UNLICENSED) is not None


def hidden_by(facts: Facts) -> str | None:
    """The variable that hides every GPU from CUDA, as ``NAME=value``; None also where CUDA works all the same."""
    variables, torch, driver = known(facts.variables) or {}, known(facts.torch), known(facts.driver)
    if torch is not None and torch.cuda_available:
        return None
    value = variables.get("CUDA_VISIBLE_DEVICES")
    if value is not None and value.split(",")[0].strip() in ("", "-1", "none", "NoDevFiles"):
        return f"CUDA_VISIBLE_DEVICES={value}"
    # "void" is also what device plugins set when they hand over the GPU in another way (CDI): files then are there.
    value = variables.get("NVIDIA_VISIBLE_DEVICES")
    if value in ("none", "void") and (driver is None or not driver.devices):
        return f"NVIDIA_VISIBLE_DEVICES={value}"
    return None
