from __future__ import annotations

import pytest

from envdoctor.facts.model import Host, Torch
from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.driver.wsl import wsl
from tests.rules.cuda_machines import CPU_TARGET, brief, driver, machine, pasted
from tests.rules.judging import silent, skipped

WSL1 = Host(container="wsl1", kernel="4.4.0-19041-Microsoft")


def test_first_version() -> None:
    assert brief(wsl, pasted(host=WSL1, torch=Torch(version="1.12.1+cu116", cuda="11.6"))) == [
        "error gpu-not-visible WSL 1"
    ]
    assert silent(wsl, pasted(host=WSL1, torch=Torch(version="2.1.0+cpu", cuda="")))
    assert skipped(wsl, pasted(host=WSL1), CPU_TARGET)


def test_second_version() -> None:
    foreign = driver(library_path="/usr/lib/x86_64-linux-gnu/libcuda.so.560.35.05")
    assert brief(wsl, machine(host=Host(container="wsl2"), driver=foreign)) == ["warning cuda-init-failed libcuda"]
    broken = driver(library_path="/usr/lib/x86_64-linux-gnu/libcuda.so.1", cuinit=500)
    assert brief(wsl, machine(host=Host(container="wsl2"), driver=broken)) == ["error cuda-init-failed libcuda"]
    good = driver(library_path="/usr/lib/wsl/lib/libcuda.so.1")
    assert silent(wsl, machine(host=Host(container="wsl2"), driver=good))
    assert silent(wsl, machine())


NO_CUDA = "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory\n"


@pytest.mark.parametrize(
    ("told", "old"),
    [
        ("WSL2 on Windows 10 version 2004 (OS Build 19041.388)", True),
        ("Ubuntu in WSL, Microsoft Windows [Version 10.0.18363.1256]", True),
        ("WSL2 on Windows 10 21H1", True),
        ("WSL2, Windows 10 build 19044.1288", False),
        ("WSL2 on Windows 11, build 22000", False),
        ("WSL2, by platform.platform() Windows-10-10.0.19041-SP0", False),  # kernel32's number, up to 22H2
        ("Windows 10 version 2004, in the Windows terminal", False),
        ("The guide says that WSL 2 wants build 19041 or higher", False),
    ],
)
def test_a_windows_that_hands_no_gpu_over(told: str, old: bool) -> None:
    found = diagnose(read(f"{told}\n\n{NO_CUDA}"), no_target(), [wsl]).findings
    assert [one.subject for one in found] == (["Windows"] if old else [])
