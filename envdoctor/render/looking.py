"""Commands that only look: nothing is fixed by typing them, they tell which cause it is."""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.values.pattern import Pattern

_LOOKS = Pattern(
    r"(?:sudo )?(?:env -u \w+ |\w+=\S* )?(?:\S*/(?:lib|bin)/(?=nvidia-smi))?"
    r"(?:(?:ls|df|du|free|cat|head|tail|grep|which|where|type|file|stat|id|uname|nproc|lscpu|lspci|lsmod|ps|"
    r"ss|ip|netstat|lsof|dmesg|journalctl|ldd|ldconfig -p|mount \||rocminfo|rocm-smi|clinfo|sycl-ls|ucx_info|"
    r"ibv_devinfo|ibv_devices|ibstat|ofed_info|ffprobe|quota|modinfo|echo|printenv|getconf|hostname -I|sw_vers|"
    r"getent|pgrep|top|whoami|locale -a|systeminfo|ipconfig|systemd-detect-virt|hipinfo|ds_report|java -version|"
    r"squeue|sinfo|scontrol show|sacct|slurmd -G|srun --mpi=list|module (?:avail|list|spider|show)|py -0|"
    r"systemctl status|docker (?:info|ps|images|inspect|version)|kubectl (?:-n \S+ )?(?:get|describe|logs)|"
    r"ollama (?:ps|list)|ray status|\S+ --version|ffmpeg (?:-version|-hide_banner -\w+coders)|nvcc -V|python3? -VV|"
    r"nvidia-ctk cdi list|nvidia-container-cli (?:-V|info)|npu-smi info|dkms status|mokutil --sb-state|"
    r"py-spy dump|fuser -v \S+$|horovodrun --check-build|wsl (?:--status|--list)|icacls \S+$|"
    r"dpkg (?:-l|-L|-S|--list|--print)|rpm -q|apt(?:-cache)? (?:list|policy|search|show)|brew list|"
    r"(?:conda|mamba|micromamba) (?:list|info|search|config --show|env list|repoquery)|uv python (?:list|find)|"
    r"(?:\S*python3? -m pip|py -m pip|uv pip|pip3?) (?:show|list|check|freeze|debug|inspect|tree|index|config list|"
    r"cache (?:dir|list|info)|--version)|ubuntu-drivers (?:list|devices)|poetry (?:env info|show)|"
    r"git (?:status|log|remote -v|ls-remote|lfs ls-files|submodule status|config (?:--global )?--get)|hf auth whoami|"
    r"python3? -m (?:bitsandbytes|xformers\.info|torch\.utils\.collect_env|numba -s|site)|"
    r"nvidia-smi(?! .{0,80}(?:--gpu-reset|-r\b|-pm|-pl|-mig|-dci|-dgi|-cgi|-cci|-c \d|-ac|-lgc)))(?=\s|$)|"
    r"(?:export |set )?(?:NCCL_DEBUG(?:_SUBSYS)?|CUDA_LAUNCH_BLOCKING|HIP_LAUNCH_BLOCKING|AMD_LOG_LEVEL|TORCH_LOGS|"
    r"TORCH_DISTRIBUTED_DEBUG|TORCH_SHOW_CPP_STACKTRACES|TORCH_CPP_LOG_LEVEL)=\S+(?= |$)|"  # which make it say more
    r"env$|env \||set \||dir |(?:powershell )?(?:-c \")?Get-(?:CimInstance|WinEvent|PSDrive|Content)|"
    r"ssh -o BatchMode=yes \S+ hostname$|python3? -X faulthandler \S+\.py$|"
    r"(?:find|sysctl) (?!.{0,200}(?:-delete|-exec|-w |=))|ulimit -[a-z]$|"
    r"\S*python(?:3|\.exe)? (?:-X faulthandler )?-c ['\"](?:import|from)"
    r"(?!.{0,400}(?:remove|unlink|rmtree|download|\.save)))"
)
_CHANGES = Pattern(
    r"(?<![0-9&])>(?!&)(?! ?/dev/null)|&&|\|(?! ?(?:grep|head|tail|sort|wc|uniq|tr|findstr|Select-Object)\b)"
)
"""What turns a look into more: output sent to a file, a second command, a program that reads it."""
_QUOTED = Pattern(r"'[^']*'|\"[^\"]*\"")


def only_look(commands: Iterable[str]) -> bool:
    """Does none of these commands change anything? False for those that are not known."""
    return all(_looks(command) for command in commands)


def _looks(command: str) -> bool:
    bare = _QUOTED.sub("''", command)  # what stands in quotes joins no commands
    return not _CHANGES.search(bare) and all(
        _LOOKS.match(one.strip()) for one in (bare.split(";") if ";" in bare else (command,))
    )
