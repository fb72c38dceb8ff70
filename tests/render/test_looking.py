"""Commands that only look are not called a fix."""

from __future__ import annotations

import re

import pytest

from envdoctor.knowledge.errors import ERRORS
from envdoctor.render.looking import only_look

LOOKS = [
    "nvidia-smi",
    "nvidia-smi -L",
    "sudo dmesg | grep -i xid",
    "env | grep LD_LIBRARY_PATH",
    "ldconfig -p | grep libcuda",
    "find / -name 'libnvrtc.so*' 2>/dev/null",
    "python -m pip show torch",
    "python -c 'import torch; print(torch.__version__, torch.version.cuda)'",
    "kubectl -n gpu-operator get pods -o wide",
    "uv --version",
    "ulimit -f",
    "export NCCL_DEBUG=INFO",
    "CUDA_LAUNCH_BLOCKING=1 python train.py",
    "conda search -c conda-forge --subdir linux-aarch64 pytorch",
    "dpkg -l 'cuda-compat*'",
    "sudo dmesg -T | grep -i -E 'xid|nvrm|mce'",
    "g++ --version; nvcc --version",
    "python -m pip debug --verbose",
    "rocminfo | grep gfx",
    "npu-smi info",
    "env -u LD_LIBRARY_PATH python -c 'import torch; torch.cuda.init()'",
]
CHANGES = [
    "nvidia-smi --gpu-reset",
    "sudo nvidia-smi -pl 200",
    "sudo nvidia-smi mig -dci && sudo nvidia-smi mig -dgi",
    "echo quit | nvidia-cuda-mps-control",
    "ssh-keygen -t ed25519",
    "env -u LD_LIBRARY_PATH python train.py",
    "find . -name '*.lock' -delete",
    "sysctl -w vm.max_map_count=262144",
    "python -m pip list --format=freeze > requirements.txt",
    "python -m pip install torch",
    "python -c \"import nltk; nltk.download('punkt')\"",
    "ls; rm -rf build",
    "conda config --set channel_priority flexible",
    "rm -rf ~/.cache/torch_extensions",
    "export OMP_NUM_THREADS=4",
    "nproc; sudo reboot",
    "dpkg -i driver.deb",
    "conda install pytorch",
    "git config --global core.autocrlf input",
    "CUDA_VISIBLE_DEVICES=0 python train.py",
]


@pytest.mark.parametrize("command", LOOKS)
def test_a_look_is_one(command: str) -> None:
    assert only_look([command])
    assert not only_look([command, "sudo reboot"])


@pytest.mark.parametrize("command", CHANGES)
def test_what_changes_something_is_no_look(command: str) -> None:
    assert not only_look([command])


SAYS_MORE = re.compile(r"^set \||\w+_(?:DEBUG|BLOCKING|LOGS)=")
VERBS = {"install", "uninstall", "rm", "restart", "export", "set", "unset", "reinstall", "modprobe", "reboot"}


def test_no_command_of_the_table_that_installs_or_removes_is_a_look() -> None:
    commands = {command for row in ERRORS for command in (*row.commands, *row.windows)}
    changing = [command for command in commands if VERBS & set(command.split())]
    assert len(changing) > 100
    assert not [command for command in changing if only_look([command]) and not SAYS_MORE.search(command)]
