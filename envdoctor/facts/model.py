"""What is known about an environment: frozen values, each section present or ``Unavailable`` with its reason.

A probe fills every field it can; a pasted report fills few. Inside a section, ``None`` means *not known*, never
"fine". Sizes are bytes, times are seconds, versions are text as their owner prints them. Paths have the user's home
shortened to ``~`` in every section alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias, TypeVar

from envdoctor.values.frozen import frozen

SCHEMA = 1

Why = Literal["absent", "crashed", "timed-out", "failed", "not-asked", "not-reported"]

AS_TOLD = "as told: "  # before a person's own line that was taken for a program's: no error may rest on it alone
IN_OTHER_WORDS = "in other words: "  # before a line that says in its own way what a program's words before it say
TRIED, HELPS, IN_VAIN = "tried", "what helps", "what does not help"  # remarks of what a person did, and how it went
TROUBLE, SHOWS = "trouble", "what the text shows"  # names of `knowledge.topics`


@frozen
class Unavailable:
    """A section that could not be read. ``why`` is for rules, ``reason`` is for people."""

    reason: str
    why: Why = "failed"


@frozen
class Interpreter:
    """The environment's own Python."""

    version: str  # "3.11.7"
    executable: str | None = None
    prefix: str | None = None
    base_prefix: str | None = None
    implementation: str = "cpython"
    markers: Mapping[str, str] = field(default_factory=dict)  # PEP 508 environment of this interpreter
    platform: str | None = None  # sysconfig.get_platform(): "linux-x86_64"
    libc: str | None = None  # "glibc 2.36"
    is_virtual: bool | None = None
    is_conda: bool | None = None
    externally_managed: bool | None = None
    site_packages: tuple[str, ...] = ()
    writable: bool | None = None  # may the current user change site_packages?
    free_threaded: bool | None = None
    debug_build: bool | None = None
    headers: str | None = None  # path of Python.h, "" when it is missing
    shadowed: tuple[str, ...] = ()  # files in the working directory or PYTHONPATH that hide a standard or pinned module
    user_site: str | None = None  # the user site directory when it is active and holds packages
    path_files: tuple[str, ...] = ()  # "FILE runs code" (.pth, sitecustomize), "FILE adds FOLDER" from outside
    active_environment: str | None = None  # VIRTUAL_ENV / CONDA_PREFIX, if any, of the calling shell
    can_go_back: bool | None = None  # has `undo` an earlier state? None: not built by envdoctor, or not known


@frozen
class Distribution:
    """One installed distribution, as its own metadata describes it."""

    name: str  # normalised (PEP 503)
    version: str
    location: str | None = None  # the directory that holds its .dist-info
    installer: str | None = None
    editable: bool = False
    source: str | None = None  # direct_url.json: "file", "vcs" or "archive"
    requires: tuple[str, ...] = ()  # Requires-Dist, unparsed
    requires_python: str | None = None
    tags: tuple[str, ...] = ()  # Tag lines of WHEEL
    variant: tuple[str, ...] = ()  # properties of variant.json: "nvidia :: sm_arch :: 90_real"
    build: str | None = None  # what a reporting tool said of the build ("py311_cu121", "cuda 12.1, torch 2.1")
    files: int | None = None  # entries of RECORD


Damage = Literal[
    "missing-file",
    "wrong-size",
    "wrong-hash",
    "no-record",
    "empty-record",
    "broken-record",
    "no-metadata",
    "broken-metadata",
    "nameless",
    "duplicate",
    "leftover",  # ~name of an interrupted pip
    "partial-file",  # .tmp* of an interrupted uv
    "orphan-file",
    "unreadable",
    "dangling-path-file",
    "version-disagrees",
    "escaping-record",
]


@frozen
class DamagedFile:
    """One piece of a damaged installation."""

    distribution: str
    kind: Damage
    path: str
    detail: str = ""


@frozen
class Packages:
    """Everything installed. When not ``complete`` (a pasted, filtered list), absence proves nothing."""

    distributions: tuple[Distribution, ...] = ()
    complete: bool = True
    damaged: tuple[DamagedFile, ...] = ()
    damage_checked: Literal["none", "sizes", "hashes"] = "none"
    pip: str | None = None  # version of pip inside the environment
    conda: Mapping[str, str] = field(default_factory=dict)  # conda package -> "version build"

    def version(self, name: str) -> str | None:
        """The installed version of ``name`` (normalised), or None."""
        for distribution in self.distributions:
            if distribution.name == name:
                return distribution.version
        return None

    def find(self, name: str) -> Distribution | None:
        for distribution in self.distributions:
            if distribution.name == name:
                return distribution
        return None


@frozen
class Storage:
    """One directory that training depends on: a cache, the temporary directory, the data."""

    purpose: str  # "temporary", "triton-cache", "inductor-cache", "hf-home", "environment", "working-directory"
    path: str
    filesystem: str | None = None  # "ext4", "nfs4", "overlay", ...
    writable: bool | None = None
    noexec: bool | None = None
    free: int | None = None
    free_inodes: int | None = None


@frozen
class Host:
    """The machine or container around the environment."""

    system: str | None = None  # "Linux", "Windows", "Darwin"
    distribution: str | None = None  # "Ubuntu 24.04 LTS"
    kernel: str | None = None
    machine: str | None = None  # "x86_64"
    container: str | None = None  # "docker", "podman", "kubernetes", "wsl1", "wsl2", "lxc"; "" when none was found
    cpu_model: str | None = None
    cpu_flags: tuple[str, ...] = ()  # of avx2 avx512f avx512_bf16 avx512_vnni amx_bf16 amx_int8 amx_tile sve ...
    cpus: int | None = None  # visible
    cores: int | None = None  # physical
    affinity: int | None = None  # CPUs this process may run on
    cpu_quota: float | None = None  # CPUs the cgroup allows; None when unlimited or unknown
    cpu_periods: int | None = None  # cpu.stat nr_periods
    cpu_throttled: int | None = None  # cpu.stat nr_throttled
    governor: str | None = None
    clocksource: str | None = None
    numa_nodes: int | None = None
    memory: int | None = None
    memory_available: int | None = None  # to us: of the machine, and within the cgroup's limit
    memory_limit: int | None = None  # cgroup
    swap: int | None = None
    shm: int | None = None  # size of /dev/shm
    shm_free: int | None = None
    files_soft: int | None = None  # RLIMIT_NOFILE
    files_hard: int | None = None
    locked_memory: int | None = None  # RLIMIT_MEMLOCK, -1 when unlimited
    processes_soft: int | None = None  # RLIMIT_NPROC, -1 when unlimited
    pressure_cpu: float | None = None  # /proc/pressure/cpu, some avg10, percent
    load: float | None = None  # one-minute load
    transparent_hugepages: str | None = None
    compiler: str | None = None  # "gcc 12.2.0", "" when none was found
    nvcc: str | None = None  # toolkit version on PATH or in CUDA_HOME, "" when none was found
    toolkits: tuple[str, ...] = ()  # CUDA toolkits found under /usr/local
    uid: int | None = None
    storage: tuple[Storage, ...] = ()


@frozen
class Driver:
    """The NVIDIA driver as the machine shows it, read without asking it anything that can hang, then cuInit."""

    kernel_module: str | None = None  # "580.159.04"; "" when the module is not loaded
    library: str | None = None  # version in the file name of libcuda.so.1; "" when there is no libcuda
    library_path: str | None = None
    management_library: str | None = None  # version of libnvidia-ml.so.1
    cuda: str | None = None  # newest CUDA the driver supports, "13.0"
    cuinit: int | None = None  # 0 is success
    cuinit_error: str | None = None  # what came instead of an answer: "cuInit: SIGSEGV", "libcuda.so.1: ..."
    devices: tuple[str, ...] = ()  # /dev/nvidia0 ...
    device_denied: tuple[str, ...] = ()  # device files that this user may not open
    pci: tuple[str, ...] = ()  # NVIDIA display devices on the PCI bus: "0000:01:00.0 10de:2330"
    other_accelerators: tuple[str, ...] = ()  # AMD or Intel GPUs: named, not judged
    open_module: bool | None = None
    smi: str | None = None  # what nvidia-smi said when it failed; "" when it worked; None when not run
    fabric_manager: str | None = None  # state reported by NVML: "completed", "in progress", ...

    @property
    def nvidia_present(self) -> bool:
        """Does anything at all say that there is an NVIDIA GPU in this machine?"""
        return bool(self.kernel_module or self.devices or self.pci)


@frozen
class Gpu:
    """One GPU, as NVML reads it (or a report names it)."""

    index: int
    name: str
    capability: str | None = None  # "9.0"
    identity: str | None = None  # salted hash of the UUID: recognises the same card, names nobody
    memory: int | None = None
    memory_used: int | None = None
    power_limit: float | None = None  # watts, enforced
    power_default: float | None = None
    power_draw: float | None = None
    sm_clock: int | None = None  # MHz now
    sm_clock_max: int | None = None
    sm_clock_application: int | None = None
    memory_clock: int | None = None
    memory_clock_max: int | None = None
    utilization: int | None = None  # percent
    temperature: int | None = None
    temperature_slowdown: int | None = None
    throttle_reasons: tuple[str, ...] | None = None  # of idle, app-clocks, sw-power-cap, hw-slowdown, sync-boost,
    # sw-thermal, hw-thermal, power-brake, display-clocks; None when not read
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    ecc_mode: bool | None = None
    ecc_uncorrected: int | None = None  # volatile
    rows_pending: bool | None = None
    rows_failed: bool | None = None
    retired_pending: bool | None = None
    mig: bool | None = None
    persistence: bool | None = None
    compute_mode: str | None = None  # "default", "exclusive-process", "prohibited"
    processes: int | None = None  # other compute processes that can be seen
    nvlinks: int | None = None  # links up
    nvlinks_down: int | None = None
    xid: tuple[int, ...] = ()
    virtual: bool | None = None  # vGPU / passthrough by a hypervisor


@frozen
class Gpus:
    """All GPUs and how they are joined. ``count`` may exceed the listed ones (a cut-off report)."""

    devices: tuple[Gpu, ...] = ()
    count: int | None = None
    topology: tuple[tuple[str, ...], ...] = ()  # matrix of link words: X, NV4, PIX, PXB, PHB, NODE, SYS
    peer_access: tuple[tuple[bool, ...], ...] = ()
    under_load: bool = False  # were clocks and links read while the GPUs worked?

    @property
    def number(self) -> int:
        """How many there are, as far as was seen."""
        return self.count or len(self.devices)


@frozen
class Flag:
    """One setting of torch as read: its value, or why reading it failed (mixed TF32 APIs raise)."""

    value: str | None = None
    error: str | None = None


@frozen
class Torch:
    """What ``import torch`` in the environment says of itself."""

    version: str
    cuda: str | None = None  # CUDA it was built with; "" for a build without CUDA
    hip: str | None = None
    xpu: str | None = None
    git: str | None = None
    debug_build: bool | None = None
    cxx11_abi: bool | None = None
    cudnn: str | None = None  # loaded at run time
    cudnn_built: str | None = None
    nccl: str | None = None
    arch_list: tuple[str, ...] = ()  # "sm_90", "compute_90"
    cuda_available: bool | None = None
    cuda_error: str | None = None  # what initialising CUDA said when it failed
    device_count: int | None = None
    capabilities: tuple[str, ...] = ()  # of torch's devices
    flags: Mapping[str, Flag] = field(default_factory=dict)  # rows of trainer/flags.py
    cpu_capability: str | None = None  # "AVX512"
    threads: int | None = None
    interop_threads: int | None = None
    openmp: str | None = None
    libraries: tuple[str, ...] = ()  # CUDA, cuDNN, NCCL, OpenMP libraries mapped into the process
    warnings: tuple[str, ...] = ()  # given while importing and initialising
    numpy: str | None = None  # error of torch's NumPy bridge; "" when it works
    import_seconds: float | None = None
    hook: str | None = None  # version of the startup hook in force; "" when none


@frozen
class Extension:
    """A compiled extension of torch and what it was built for."""

    name: str
    version: str | None = None
    torch: str | None = None
    cuda: str | None = None
    python: str | None = None
    cxx11_abi: bool | None = None
    architectures: tuple[str, ...] = ()
    binaries: tuple[str, ...] = ()
    error: str | None = None  # what importing it said


@frozen
class Network:
    """How the nodes and ranks of a distributed run are joined."""

    interfaces: tuple[str, ...] = ()  # "eth0 10000" name and Mbit/s
    infiniband: tuple[str, ...] = ()  # "mlx5_0 active 400"
    peer_memory: bool | None = None  # nvidia_peermem / dma-buf
    acs: bool | None = None  # PCIe access control services redirect peer traffic
    iommu: bool | None = None
    nodes: int | None = None
    transport: str | None = None  # what a report says NCCL used: "sockets", "IB", ...


@frozen
class Script:
    """The user's own training script or launch file, as text; rules read it, nothing runs it."""

    path: str
    source: str
    language: Literal["python", "yaml", "json", "shell"] = "python"


@frozen
class ImageFile:
    """A Dockerfile, compose file or devcontainer, as text; rules read it, nothing builds or starts it."""

    path: str
    source: str
    kind: Literal["dockerfile", "compose", "devcontainer"] = "dockerfile"


@frozen
class Launcher:
    """Settings of the launcher (accelerate's default configuration and the like), as text."""

    settings: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None


@frozen
class Origin:
    """Where these facts come from."""

    kind: Literal["probe", "recorded", "pasted", "image"] = "probe"
    tool: str = ""
    collected: str | None = None  # ISO 8601 time
    environment: str | None = None  # path of the environment, home shortened
    formats: tuple[str, ...] = ()  # of a pasted report


Section = TypeVar("Section")
Known: TypeAlias = Section | Unavailable

NOT_REPORTED = Unavailable(reason="the report does not say", why="not-reported")


@frozen
class Facts:
    """Everything the rules may look at."""

    origin: Origin = Origin()
    interpreter: Interpreter | Unavailable = NOT_REPORTED
    packages: Packages | Unavailable = NOT_REPORTED
    variables: Mapping[str, str] | Unavailable = NOT_REPORTED  # allow-listed names only, values scrubbed
    host: Host | Unavailable = NOT_REPORTED
    driver: Driver | Unavailable = NOT_REPORTED
    gpus: Gpus | Unavailable = NOT_REPORTED
    torch: Torch | Unavailable = NOT_REPORTED
    extensions: tuple[Extension, ...] | Unavailable = NOT_REPORTED
    network: Network | Unavailable = NOT_REPORTED
    launcher: Launcher | Unavailable = NOT_REPORTED
    scripts: tuple[Script, ...] = ()
    images: tuple[ImageFile, ...] = ()
    messages: tuple[str, ...] = ()  # error and warning lines that a report carries
    remarks: Mapping[str, str] = field(default_factory=dict)  # further "key: value" lines of a report, verbatim
    seconds: Mapping[str, float] = field(default_factory=dict)  # how long each probe took
