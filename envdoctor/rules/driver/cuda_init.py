from typing import NamedTuple

from envdoctor.knowledge.questions import anywhere, driver_owner, hidden_by
from envdoctor.rules.rule import ERROR, IGNORECASE, Facts, Finding, Findings, Pattern, Skip, Who, finding, known, rule


class _Code(NamedTuple):
    """One error of cuInit: its words, what it means, what helps, and who can do it (None: the driver's owner)."""

    number: int
    words: str
    meaning: str
    remedy: str
    commands: tuple[str, ...] = ()
    who: Who | None = None


_CODES = (
    _Code(
        101,
        r"invalid device ordinal|CUDA_ERROR_INVALID_DEVICE",
        "a device was asked for that does not exist, by CUDA_VISIBLE_DEVICES or by a local rank beyond the GPUs",
        "Correct CUDA_VISIBLE_DEVICES, or start as many processes as there are GPUs.",
        ("unset CUDA_VISIBLE_DEVICES",),
        "you",
    ),
    _Code(
        46,
        r"CUDA-capable device\(s\) is/are busy or unavailable|devices are busy or unavailable",
        "the GPU is reserved by another process, in an exclusive compute mode, or MIG is on without any instance",
        "Look at the processes and the compute mode.",
        (
            "nvidia-smi --query-gpu=compute_mode,mig.mode.current --format=csv",
            "nvidia-smi --query-compute-apps=pid,name --format=csv",
        ),
    ),
    _Code(
        3,
        r"CUDA error(?: \(3\))?: initialization error|cuda runtime error \(3\) ?: initialization error"
        r"|cuInit failed: initialization error|cudaErrorInitializationError|CUDA_ERROR_NOT_INITIALIZED",
        "the driver does not start in this process: it was forked after CUDA had started, or the driver is damaged",
        "Start workers with the method spawn; where a fresh process fails as well, install the driver again.",
        ("python -c 'import torch; torch.cuda.init()'",),
        "you",
    ),
    _Code(
        802,
        r"system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY",
        "the NVSwitch fabric is not up: Fabric Manager does not run, or is of another version than the driver",
        "Start Fabric Manager of exactly the driver's version.",
        ("sudo systemctl restart nvidia-fabricmanager", "journalctl -u nvidia-fabricmanager --no-pager | tail"),
        "host",
    ),
    _Code(
        803,
        r"unsupported display driver / cuda driver combination|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "the libcuda in use does not belong to the loaded kernel module: another version was installed over it, or a "
        "compatibility library stands before it on the path",
        "Take CUDA's compat folder off LD_LIBRARY_PATH; if libcuda itself was replaced, reboot or install one driver.",
        ("env -u LD_LIBRARY_PATH python -c 'import torch; torch.cuda.init()'", "ldconfig -p | grep libcuda.so"),
        "you",
    ),
    _Code(
        804,
        r"forward compatibility was attempted on non supported HW|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "NVIDIA's forward-compatibility library was loaded on a GPU that it does not serve (GeForce and most "
        "workstation cards)",
        "Take the cuda-compat folder off LD_LIBRARY_PATH, and use a torch build that the driver runs.",
        ("env -u LD_LIBRARY_PATH python -c 'import torch; torch.cuda.init()'", "dpkg -l 'cuda-compat*'"),
        "image",
    ),
    _Code(
        805,
        r"MPS client failed to connect|CUDA_ERROR_MPS_CONNECTION_FAILED",
        "the Multi-Process Service is set up but does not answer",
        "Stop MPS, or unset CUDA_MPS_PIPE_DIRECTORY.",
        ("echo quit | nvidia-cuda-mps-control",),
    ),
    _Code(
        999,
        r"CUDA unknown error|CUDA_ERROR_UNKNOWN|Error 999: unknown error",
        "the driver gives no reason; usually nvidia-uvm is not loaded or its device file is missing, the machine "
        "slept, or a GPU has failed",
        "Load nvidia-uvm again, then reboot if that does not help.",
        ("sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm",),
    ),
    _Code(
        3,
        r"Error 3: initialization error|CUDA_ERROR_NOT_INITIALIZED",
        "the driver could not be started from this process: no access to a device file, a fork after CUDA had started, "
        "or a driver that is only half installed",
        "Try it in a fresh process, then look at the device files and the driver's installation.",
        ("python -c 'import torch; torch.cuda.init()'", "ls -l /dev/nvidia*"),
    ),
    _Code(
        34,
        r"CUDA driver is a stub library|CUDA_ERROR_STUB_LIBRARY",
        "the toolkit's stub of libcuda is loaded in place of the driver's library",
        "Take the toolkit's lib64/stubs folder off LD_LIBRARY_PATH.",
        ("ldconfig -p | grep libcuda.so", "env -u LD_LIBRARY_PATH python -c 'import torch; torch.cuda.init()'"),
        "you",
    ),
    _Code(
        2,
        r"cudaGetDeviceCount\(\).{0,200}Error 2: out of memory",
        "there is no memory left to start CUDA with: of the GPU, of the host, or, in WSL, of what Windows maps for it "
        "(several GPUs, or libcuda links that were changed by hand)",
        "Look at the memory of GPU and host; in WSL put the links in /usr/lib/wsl/lib back by an update of the Windows "
        "driver, restart WSL, and try one GPU at a time.",
        ("nvidia-smi", "CUDA_VISIBLE_DEVICES=0 python -c 'import torch; torch.cuda.init()'"),
    ),
    _Code(
        500,
        r"cudaGetDeviceCount\(\).{0,200}named symbol not found",
        "the driver's library in this container is older than the driver: seen under Docker Desktop and WSL after an "
        "update of the Windows driver",
        "Update Docker Desktop and WSL (wsl --update, wsl --shutdown), or take the Windows driver back by a release.",
        ("wsl --update", "wsl --shutdown"),
        "host",
    ),
    _Code(
        304,
        r"OS call failed or operation not supported on this OS|CUDA_ERROR_OPERATING_SYSTEM",
        "the kernel refused a call, mostly because the container may not open a device file or the GPU was taken away "
        "from a running container (systemctl daemon-reload)",
        "Start the container again; give it all of /dev/nvidia*, /dev/nvidiactl and /dev/nvidia-uvm.",
        ("ls -l /dev/nvidia*",),
        "host",
    ),
)
_BY_NUMBER = {code.number: code for code in _CODES}
_ELSEWHERE = frozenset({35, 100})  # an insufficient driver and no device have rules of their own
_NUMBERED = Pattern(r"(?:cudaGetDeviceCount\(\)\D{0,200}?|CUDA )Error (\d{1,3})\b", IGNORECASE)


@rule(ERROR, kind="cuda-init-failed", subject="CUDA", expected="CUDA starts")
def cuda_init(facts: Facts) -> Findings:
    """The driver is there, and CUDA does not initialise.

    Why: NVML and nvidia-smi can look healthy while cuInit fails. Its number tells the cause: 802 is the fabric of
    NVSwitch machines, 803 a libcuda of another version, 804 forward compatibility on a GPU without it, 999 mostly the
    nvidia-uvm module.
    Fix: depends on the number.
    Source: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html (CUresult)
    https://github.com/pytorch/pytorch/issues/35710 (802) https://github.com/NVIDIA/nvidia-docker/issues/1256 (804)
    """
    driver = known(facts.driver)
    number = driver.cuinit if driver else None
    code, quote = _BY_NUMBER.get(number or -1), ""
    if code is None:
        for candidate in _CODES:
            if said := anywhere(facts, Pattern(candidate.words, IGNORECASE)):
                code, quote = candidate, said[0]
                break
    numbered = anywhere(facts, _NUMBERED) if number in (None, 0) else None
    if numbered is not None and int(numbered[1]) in _ELSEWHERE:
        numbered = None
    if code is None and numbered is not None:
        code, quote = _BY_NUMBER.get(int(numbered[1])), numbered[0]
    if number in (0, None, 100) and code is None and numbered is None:
        if number is None:
            raise Skip("cuInit was not called, and no error of it is reported")
        return  # success, or no device at all: `driver/no-gpu` and `driver/devices` say why
    said = anywhere(facts, _NUMBERED)
    number = number or (code.number if code else int(said[1]) if said else None)
    yield _finding(facts, number, code, quote)


def _finding(facts: Facts, number: int | None, code: _Code | None, quote: str) -> Finding:
    name = f"cuInit {number}" if number else "cuInit"
    hidden = hidden_by(facts) if number == 101 else None
    owner = driver_owner(facts)
    return finding(
        actual=name + (f" ({quote})" if quote else ""),
        message=f"{'CUDA refuses a GPU' if number == 101 else 'CUDA does not start'} ({name}): "
        f"{code.meaning if code else 'an error that this tool has no name for'}" + (f" ({hidden})." if hidden else "."),
        fix=code.remedy if code else "Look into the kernel log; reboot, or rent another machine.",
        run=code.commands if code else "dmesg | grep -i -e nvrm -e xid | tail",
        who=(code.who if code else None) or owner,
        explains=("torch/cuda-unavailable", "torch/cuda-error", "torch/import-fails", "gpu/", "driver/nvidia-smi"),
    )
