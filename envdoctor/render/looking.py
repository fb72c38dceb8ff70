"""Commands that only look: nothing is fixed by typing them, they tell which cause it is."""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.values.pattern import Pattern

_LOOKS = Pattern(
    r"(?:sudo )?(?:(?:ls|df|du|free|cat|head|tail|grep|which|where|type|file|stat|id|uname|nproc|lscpu|lspci|lsmod|ps|"
    r"ss|ip|netstat|lsof|dmesg|journalctl|ldd|ldconfig -p|mount \||rocminfo|rocm-smi|clinfo|sycl-ls|ucx_info|"
    r"ibv_devinfo|ffprobe|quota|modinfo|env \||echo|printenv|getconf|hostname -I|sw_vers|squeue|sinfo|"
    r"scontrol show|sacct|systemctl status|docker info|kubectl (?:-n \S+ )?(?:get|describe|logs)|ollama (?:ps|list)|"
    r"ray status|\S+ --version|ffmpeg -version|nvcc -V|conda (?:list|info|config --show|env list)|uv python list|"
    r"(?:python3? -m pip|uv pip|pip) (?:show|list|check|freeze|debug|index|config list|cache (?:dir|list|info))|"
    r"git (?:status|log|remote -v|ls-remote|lfs ls-files|submodule status)|hf auth whoami|"
    r"python3? -m (?:bitsandbytes|xformers\.info|torch\.utils\.collect_env|numba -s|site)|"
    r"nvidia-smi(?! .{0,80}(?:--gpu-reset|-r\b|-pm|-pl|-mig|-dci|-dgi|-cgi|-cci|-c \d|-ac|-lgc)))(?=\s|$)|"
    r"python3? -X faulthandler \S+\.py$|"
    r"(?:find|sysctl) (?!.{0,200}(?:-delete|-exec|-w |=))|ulimit -[a-z]$|"
    r"python3? (?:-X faulthandler )?-c ['\"](?:import|from)(?!.{0,400}(?:remove|unlink|rmtree|download|\.save)))"
)
_CHANGES = Pattern(
    r"(?<![0-9&])>(?!&)(?! ?/dev/null)|&&|;(?! ?print)(?=[^'\"]*$)|\|(?! ?(?:grep|head|tail|sort|wc|uniq|tr)\b)"
)
"""What turns a look into more: output sent to a file, a second command, a program that reads it."""


def only_look(commands: Iterable[str]) -> bool:
    """Does none of these commands change anything? False for those that are not known."""
    return all(_LOOKS.match(command) and not _CHANGES.search(command) for command in commands)
