from __future__ import annotations

from envdoctor.facts.model import Host, Torch
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
