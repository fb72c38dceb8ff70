"""Which target and which stack are chosen, from tables: machine on the left, answer and reason on the right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.facts.model import Driver, Facts, Gpu, Gpus, Host, Interpreter, Origin, Torch
from envdoctor.locks import library
from envdoctor.locks.choice import choose_stack, choose_target
from envdoctor.locks.stack import Stack
from envdoctor.locks.stack import load as load_stack
from envdoctor.locks.target import Baseline, Target

TORCH = {"cu130": "2.15.0+cu130", "cu128": "2.11.0+cu128", "cu126": "2.14.0+cu126", "cpu": "2.15.0+cpu"}


def write_stack(folder: Path, name: str, pythons: str = "311 312") -> Stack:
    version = TORCH[name]
    wheels = ", ".join(
        f'{{ path = "wheels/torch-{version}-cp{tag}-cp{tag}-manylinux_2_28_x86_64.whl", '
        f'hashes = {{ sha256 = "{tag:0>64}" }} }}'
        for tag in pythons.split()
    )
    path = folder / f"pylock.{name}.toml"
    path.write_text(
        f'lock-version = "1.0"\ncreated-by = "test"\n[[packages]]\nname = "torch"\nversion = "{version}"\n'
        f"wheels = [{wheels}]\n"
    )
    return load_stack(path)


@pytest.fixture
def stacks(tmp_path: Path) -> dict[str, Stack]:
    return {name: write_stack(tmp_path, name) for name in TORCH}


def target(name: str, gpus: tuple[str, ...], capability: str | None, *stacks: str) -> Target:
    return Target(name=name, title=f"NVIDIA {name}", gpu_names=gpus, capability=capability, stacks=stacks)


TARGETS = {
    "cpu": target("cpu", (), None, "cpu"),
    "h100": target("h100", ("H100",), "9.0", "cu130", "cu128"),
    "a100": replace(
        target("a100", ("A100",), "8.0", "cu130", "cu128"),
        baselines=(Baseline(workload="w", stack="cu130", evidence="claimed", steps_per_second=1.0),),
    ),
    "rtx4090": target("rtx4090", ("RTX 4090",), "8.9", "cu130", "cu128"),
    "rtx5090": target("rtx5090", ("RTX 5090",), "12.0", "cu130", "cu128"),
    "v100": target("v100", ("V100",), "7.0", "cu126"),
}

MARKERS = {
    "implementation_name": "cpython",
    "implementation_version": "3.11.7",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_release": "6.8",
    "platform_system": "Linux",
    "platform_version": "1",
    "python_full_version": "3.11.7",
    "platform_python_implementation": "CPython",
    "python_version": "3.11",
    "sys_platform": "linux",
}


def machine(
    *names: str,
    driver: str | None = "580.65.06",
    python: str = "3.11.7",
    pci: tuple[str, ...] = (),
    kind: str = "probe",
) -> Facts:
    short = ".".join(python.split(".")[:2])
    markers = {**MARKERS, "python_version": short, "python_full_version": python, "implementation_version": python}
    return Facts(
        origin=Origin(kind=kind),  # type: ignore[arg-type]
        interpreter=Interpreter(version=python, markers=markers, platform="linux-x86_64", libc="glibc 2.36"),
        driver=Driver(kernel_module=driver if names or pci else "", pci=pci),
        gpus=Gpus(devices=tuple(Gpu(index=i, name=name) for i, name in enumerate(names))),
    )


@pytest.mark.parametrize(
    ("names", "expected", "reason"),
    [
        (("NVIDIA H100 80GB HBM3",) * 8, "h100", "NVIDIA H100 80GB HBM3 was found"),
        (("NVIDIA H100 PCIe",), "h100", "was found"),
        (("NVIDIA A100-SXM4-80GB",), "a100", "was found"),
        (("NVIDIA GeForce RTX 4090",), "rtx4090", "was found"),
        (("NVIDIA GeForce RTX 5090 D",), "rtx5090", "same chip GB202"),
        (("Tesla V100-SXM2-16GB",), "v100", "was found"),
        ((), "cpu", "no NVIDIA GPU was found"),
        # another model of the same architecture: its flags and stacks, not its speeds
        (("NVIDIA GeForce RTX 4090 Laptop GPU",), "rtx4090", "its speeds do not apply"),
        (("NVIDIA A30",), "a100", "its speeds do not apply"),
        (("NVIDIA H200",), "h100", "same chip GH100"),
        (("Tesla P100-PCIE-16GB",), "unlisted", "no target names it"),
        (("NVIDIA Frobnicator 9000",), "unlisted", "no target names it"),
        # a mixed box: what all can run is decided by the weakest
        (("NVIDIA H100 PCIe", "Tesla V100-PCIE-32GB"), "v100", "the weakest decides"),
        (("NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 4090"), "rtx4090", "RTX 5090, NVIDIA GeForce RTX 4090"),
        (("NVIDIA Frobnicator 9000", "NVIDIA H100 PCIe"), "h100", "the weakest decides"),
    ],
)
def test_auto(names: tuple[str, ...], expected: str, reason: str) -> None:
    chosen, why = choose_target("auto", machine(*names), TARGETS)
    assert (chosen.name, reason in why) == (expected, True), why


def test_speeds_of_another_model_are_left_behind() -> None:
    assert choose_target("auto", machine("NVIDIA A100 80GB PCIe"), TARGETS)[0].baselines
    assert not choose_target("auto", machine("NVIDIA A30"), TARGETS)[0].baselines


def test_a_silent_driver_leaves_the_pci_bus() -> None:
    sick = machine(driver="", pci=("0000:01:00.0 10de:2330",))
    assert choose_target("auto", sick, TARGETS)[0].name == "h100"
    unnamed = machine(driver="", pci=("0000:01:00.0 10de:ffff",))
    assert choose_target("auto", unnamed, TARGETS)[0].name == "unknown-gpu"


@pytest.mark.parametrize(
    ("torch", "devices", "expected", "reason"),
    [
        # a container sees its host's bus; what counts is what it was given, and what it was built for
        (Torch(version="2.15.0+cpu", cuda=""), (), "cpu", "no NVIDIA GPU was found"),
        (Torch(version="2.15.0+cu130", cuda="13.0"), (), "h100", "this container was given no GPU"),
        (Torch(version="2.15.0+cu130", cuda="13.0"), ("/dev/nvidia0",), "h100", "was found"),
    ],
)
def test_a_container_on_a_gpu_host(torch: Torch, devices: tuple[str, ...], expected: str, reason: str) -> None:
    facts = Facts(
        host=Host(container="docker"),
        driver=Driver(kernel_module="580.65.06", devices=devices, pci=("0000:01:00.0 10de:2330",)),
        gpus=Gpus(),
        torch=torch,
    )
    chosen, why = choose_target("auto", facts, TARGETS)
    assert (chosen.name, reason in why) == (expected, True), why


def test_capability_known_only_to_torch() -> None:
    facts = Facts(torch=Torch(version="2.15.0", cuda="13.0", capabilities=("9.0",)))
    assert choose_target("auto", facts, TARGETS)[0].name == "h100"


def test_a_report_without_gpu_is_not_a_cpu_machine() -> None:
    facts = Facts(origin=Origin(kind="pasted"))
    chosen, why = choose_target("auto", facts, TARGETS)
    assert (chosen.name, why) == ("none", "the report names no GPU")


@pytest.mark.parametrize("name", ["h100", "H100", "NVIDIA H100"])
def test_by_name(name: str) -> None:
    assert choose_target(name, Facts(), TARGETS)[0].name == "h100"


def test_unknown_name_has_near_matches() -> None:
    with pytest.raises(Trouble) as caught:
        choose_target("h1000", Facts(), TARGETS)
    assert "there is no target 'h1000'" in str(caught.value)
    assert "Did you mean h100" in caught.value.remedy
    assert caught.value.exit_code == 2


def test_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('schema = 1\ntitle = "Mine"\ngpu = { names = ["L4"], capability = "8.9" }\nstacks = ["cu130"]\n')
    chosen, why = choose_target(str(path), Facts(), TARGETS)
    assert (chosen.name, chosen.path) == ("mine", path)
    assert str(path) in why


@pytest.mark.parametrize(
    ("name", "gpus", "driver", "expected", "reason"),
    [
        ("h100", ("NVIDIA H100 PCIe",), "580.65.06", "cu130", "cu130 runs with driver 580.65.06"),
        ("h100", ("NVIDIA H100 PCIe",), "570.124.06", "cu128", "passed over: cu130: CUDA 13.0 needs driver 580"),
        ("h100", ("NVIDIA H100 PCIe",), "525.60.13", "cu128", "passed over"),
        ("rtx5090", ("NVIDIA GeForce RTX 5090",), "575.51.03", "cu128", "passed over: cu130"),
        ("v100", ("Tesla V100-SXM2-16GB",), "535.54.03", "cu126", "capability 7.0"),
        # prepared elsewhere
        ("h100", (), None, "cu130", "there is no NVIDIA GPU here, so the driver could not be checked"),
        ("h100", ("Tesla T4",), "535.54.03", "cu130", "the GPU here is not the NVIDIA h100"),
        ("cpu", (), None, "cpu", "the target's stack"),
        ("cpu", ("Tesla T4",), "450.80.02", "cpu", "the target's stack"),
    ],
)
def test_stack(
    stacks: dict[str, Stack], name: str, gpus: tuple[str, ...], driver: str | None, expected: str, reason: str
) -> None:
    chosen = choose_stack(TARGETS[name], stacks, machine(*gpus, driver=driver))
    assert chosen.choice is not None, chosen.no_choice
    assert chosen.choice.stack == expected
    assert reason in chosen.choice.reason
    assert chosen.choice.pins[0].version == TORCH[expected]
    assert chosen.choice.cuda == stacks[expected].cuda
    assert len(chosen.choice.digest or "") == 64
    assert chosen.no_choice is None


@pytest.mark.parametrize(
    ("name", "gpus", "driver", "python", "reason"),
    [
        ("h100", ("NVIDIA H100 PCIe",), "515.65.01", "3.11.7", "CUDA 12.8 needs driver 525.60.13"),
        ("rtx5090", ("NVIDIA GeForce RTX 5090",), "560.35.05", "3.11.7", "does not know Blackwell"),
        ("h100", ("NVIDIA H100 PCIe",), "580.65.06", "3.9.18", "not for this Python"),
        ("v100", ("Tesla V100-SXM2-16GB", "NVIDIA B200"), "580.65.06", "3.11.7", "no code for sm_100"),
        ("v100", ("Tesla V100-SXM2-16GB",), "590.44.01", "3.11.7", "no longer knows Volta"),
    ],
)
def test_none_exists(
    stacks: dict[str, Stack], name: str, gpus: tuple[str, ...], driver: str, python: str, reason: str
) -> None:
    chosen = choose_stack(TARGETS[name], stacks, machine(*gpus, driver=driver, python=python))
    assert chosen.choice is None
    assert reason in (chosen.no_choice or "")


def test_what_is_published_is_told_when_no_lock_fits(stacks: dict[str, Stack]) -> None:
    mixed = machine("Tesla V100-SXM2-16GB", "NVIDIA B200")
    chosen = choose_stack(TARGETS["v100"], stacks, mixed)
    assert "torch 2.10+cu128 is the newest published build that runs here" in (chosen.no_choice or "").lower()


def test_a_missing_lockfile_is_passed_over(stacks: dict[str, Stack]) -> None:
    del stacks["cu130"]
    chosen = choose_stack(TARGETS["h100"], stacks, machine("NVIDIA H100 PCIe"))
    assert chosen.choice is not None
    assert chosen.choice.stack == "cu128"
    assert "cu130 is not among the lockfiles" in chosen.choice.reason


def test_an_unlisted_gpu_takes_the_newest_stack_that_runs(stacks: dict[str, Stack]) -> None:
    facts = machine("Tesla P100-PCIE-16GB")
    wanted, _ = choose_target("auto", facts, TARGETS)
    assert choose_target(wanted.name, facts, TARGETS)[0] == wanted  # what a remedy names can be asked for
    chosen = choose_stack(wanted, stacks, facts)
    assert chosen.choice is not None
    assert chosen.choice.stack == "cu126"


def test_override(stacks: dict[str, Stack]) -> None:
    good = choose_stack(TARGETS["h100"], stacks, machine("NVIDIA H100 PCIe"), "cu128")
    assert good.choice is not None
    assert good.choice.reason == "cu128 was asked for"
    bad = choose_stack(TARGETS["h100"], stacks, machine("NVIDIA H100 PCIe", driver="535.54.03"), "cu130")
    assert bad.choice is not None
    assert "will not run here: CUDA 13.0 needs driver 580" in bad.choice.reason
    by_path = choose_stack(TARGETS["h100"], stacks, machine("NVIDIA H100 PCIe"), "/elsewhere/pylock.cu128.toml")
    assert by_path.choice is not None
    assert by_path.choice.stack == "cu128"
    with pytest.raises(Trouble, match="there is no stack 'cu131'") as caught:
        choose_stack(TARGETS["h100"], stacks, machine(), "cu131")
    assert "cu130" in caught.value.remedy


def test_of_a_report_the_platform_is_assumed(stacks: dict[str, Stack]) -> None:
    facts = Facts(
        origin=Origin(kind="pasted"),
        interpreter=Interpreter(version="3.12"),
        driver=Driver(kernel_module="550.54.15"),
        gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA H100 80GB HBM3"),)),
    )
    chosen = choose_stack(choose_target("auto", facts, TARGETS)[0], stacks, facts)
    assert chosen.choice is not None
    assert chosen.choice.stack == "cu128"
    assert "cp312" in chosen.choice.pins[0].wheel


def test_an_unknown_python_gets_no_stack(stacks: dict[str, Stack]) -> None:
    chosen = choose_stack(TARGETS["h100"], stacks, Facts())
    assert chosen.choice is None
    assert "the Python version is not known" in (chosen.no_choice or "")


@pytest.mark.parametrize(
    ("gpu", "driver", "python", "stack"),
    [
        ("NVIDIA H100 80GB HBM3", "580.65.06", "3.12.1", "cu132"),
        ("NVIDIA H100 80GB HBM3", "580.65.06", "3.10.12", "cu130"),  # torch 2.15 has no wheels for it
        ("NVIDIA H100 80GB HBM3", "570.86.10", "3.12.1", "cu128"),
        ("NVIDIA GeForce RTX 4090", "535.54.03", "3.14.0", "cu128"),
        ("NVIDIA GeForce RTX 5090", "595.10.01", "3.13.0", "cu132"),
        ("NVIDIA GeForce RTX 5090", "570.86.10", "3.13.0", "cu128"),
        ("NVIDIA B200", "580.65.06", "3.12.1", "cu132"),
        ("NVIDIA B200", "570.86.10", "3.12.1", None),  # torch 2.10 corrupts its context: the driver comes first
        ("Tesla T4", "580.65.06", "3.11.7", "cu132"),
        ("Tesla T4", "535.54.03", "3.11.7", "cu128"),
        ("Tesla V100-SXM2-16GB", "580.65.06", "3.12.1", "cu128"),
        ("Tesla V100-SXM2-16GB", "535.54.03", "3.14.0", "cu128"),
        ("Tesla P100-PCIE-16GB", "535.54.03", "3.12.1", "cu126"),
        ("Tesla P100-PCIE-16GB", "580.65.06", "3.14.0", None),  # torch 2.7.1 has no wheels for it
    ],
)
def test_the_bundled_stack_for_a_driver_a_gpu_and_a_python(
    gpu: str, driver: str, python: str, stack: str | None
) -> None:
    facts = machine(gpu, driver=driver, python=python)
    found, _ = choose_target("auto", facts, library.load_targets())
    chosen = choose_stack(found, library.load_stacks(found), facts)
    assert (chosen.choice.stack if chosen.choice else None) == stack, chosen.no_choice
    assert chosen.choice is not None or "580" in (chosen.no_choice or "") or "cu126" in (chosen.no_choice or "")


@pytest.mark.parametrize(
    ("system", "processor", "wheel"),
    [
        ("Windows", "AMD64", "torch-2.15.0-cp312-cp312-win_amd64.whl"),
        ("Darwin", "arm64", "torch-2.15.0-cp312-cp312-macosx_14_0_arm64.whl"),
        ("Linux", "x86_64", "torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl"),
    ],
)
def test_a_report_from_any_system_finds_its_wheels_in_the_cpu_stack(system: str, processor: str, wheel: str) -> None:
    facts = Facts(
        origin=Origin(kind="pasted"),
        interpreter=Interpreter(version="3.12.4"),
        host=Host(system=system, machine=processor),
    )
    cpu = library.load_targets()["cpu"]
    chosen = choose_stack(cpu, library.load_stacks(cpu), facts)
    assert chosen.choice is not None, chosen.no_choice
    assert [pin.wheel for pin in chosen.choice.pins if pin.name == "torch"] == [wheel]
    assert chosen.choice.cuda == ""
