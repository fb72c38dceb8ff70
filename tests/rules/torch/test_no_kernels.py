from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Origin, Torch
from envdoctor.facts.pasted import read
from envdoctor.rules.torch.no_kernels import no_kernels
from tests.rules.cuda_machines import (
    CPU_TARGET,
    KERNELS_CU126,
    KERNELS_CU130,
    brief,
    driver,
    gpu,
    gpus,
    machine,
    only,
    pasted,
    torch,
)
from tests.rules.judging import silent, skipped
from tests.rules.told import root

FIXED = "{} with CUDA capability sm_{} is not compatible with the current PyTorch installation"


def report(name: str, version: str = "", kernels: tuple[str, ...] = (), *messages: str) -> Facts:
    return pasted(
        *messages,
        gpus=Gpus(devices=(Gpu(index=0, name=name),)),
        torch=Torch(version=version, arch_list=kernels),
    )


@pytest.mark.parametrize(
    ("facts", "subject"),
    [
        (report("NVIDIA GeForce RTX 5090", "2.7.0+cu126", KERNELS_CU126), "NVIDIA GeForce RTX 5090"),
        (report("NVIDIA GeForce RTX 5090", "2.6.0+cu124"), "NVIDIA GeForce RTX 5090"),  # by the table alone
        (report("NVIDIA B200", "2.7.0+cu126"), "NVIDIA B200"),
        (report("Tesla V100-PCIE-32GB", "2.14.0+cu130"), "Tesla V100-PCIE-32GB"),
        (report("Tesla P100-PCIE-16GB", "2.8.0+cu128"), "Tesla P100-PCIE-16GB"),
        (report("Tesla P100-PCIE-16GB", "", KERNELS_CU130), "Tesla P100-PCIE-16GB"),
        # PTX of an old architecture in a CUDA line whose libraries do not know the GPU
        (
            report("NVIDIA GeForce RTX 3090", "1.7.1", ("sm_37", "sm_70", "sm_75", "compute_37")),
            "NVIDIA GeForce RTX 3090",
        ),
        (report("NVIDIA H100 PCIe", "1.13.1+cu117"), "NVIDIA H100 PCIe"),
        (pasted(FIXED.format("NVIDIA GeForce RTX 5090", 120)), "NVIDIA GeForce RTX 5090"),
        (pasted("Found GPU0 GeForce GT 610M which is of cuda capability 2.1."), "GeForce GT 610M"),
        (pasted("Found GPU0 Tesla V100 which is of compute capability (CC) 7.0."), "Tesla V100"),
        (pasted("CUDA error: no kernel image is available for execution on the device"), "the GPU"),
        (pasted(torch=Torch(version="", arch_list=KERNELS_CU130, capabilities=("7.0",))), "GPU 0"),
    ],
)
def test_found(facts: Facts, subject: str) -> None:
    assert brief(no_kernels, facts) == [f"error no-kernels-for-gpu {subject}"]


@pytest.mark.parametrize(
    "facts",
    [
        machine(),
        report("NVIDIA GeForce RTX 4090", "2.6.0+cu124", KERNELS_CU126),  # sm_86 code serves sm_89
        report("NVIDIA L4", "1.13.1+cu117"),
        report("NVIDIA B300 SXM6 AC", "2.15.0+cu130", KERNELS_CU130),  # sm_100 code serves sm_103
        report("NVIDIA GB10", "2.9.0+cu130", KERNELS_CU130),
        report("Tesla T4", "2.6.0+cu124"),
        report("NVIDIA GeForce MX150", "1.9.0"),
        report("NVIDIA Frobnicator", "2.6.0+cu124", KERNELS_CU126),
        # built from source: the tables do not speak for it
        report("NVIDIA GeForce RTX 5090", "2.7.0a0+git1234567"),
        # an extension said it; torch itself covers the GPU
        report("Tesla T4", "2.6.0+cu124", KERNELS_CU126, "no kernel image is available for execution on the device"),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(no_kernels, facts)


OLD = ("sm_35", "sm_52", "sm_60", "sm_61", "sm_70", "compute_70")


def test_an_old_warning_of_a_gpu_whose_code_is_there_is_no_error() -> None:
    warned = report("Tesla T4", "1.6.0", OLD, FIXED.format("Tesla T4", 75))
    assert brief(no_kernels, warned) == ["warning no-kernels-for-gpu Tesla T4"]
    assert "no cause of a failure" in only(no_kernels, warned).message
    failed = report("Tesla T4", "", OLD, FIXED.format("Tesla T4", 75), "CUDA error: no kernel image is available")
    assert all("holds no c" not in found for found in brief(no_kernels, failed))


def test_not_judged() -> None:
    assert skipped(no_kernels, pasted(torch=Torch(version="2.6.0")))
    assert skipped(no_kernels, pasted(FIXED.format("X", 120)), CPU_TARGET)


def test_every_kind_of_card_in_a_mixed_box_is_judged() -> None:
    box = gpus(gpu(0, "NVIDIA H100 PCIe"), gpu(1, "Tesla P100-PCIE-16GB"), gpu(2, "Tesla P100-PCIE-16GB"))
    assert brief(no_kernels, machine(gpus=box)) == ["error no-kernels-for-gpu Tesla P100-PCIE-16GB"]


def test_remedy_is_a_build_that_driver_and_gpu_run() -> None:
    blackwell = gpus(gpu(0, "NVIDIA GeForce RTX 5090"))
    facts = machine(
        gpus=blackwell,
        driver=driver(kernel_module="570.26", cuda="12.8"),
        torch=torch(version="2.7.0+cu126", cuda="12.6", arch_list=KERNELS_CU126),
    )
    assert only(no_kernels, facts).remedy.commands == (
        "uv pip install --torch-backend=cu128 --reinstall-package torch 'torch==2.7.*'",
    )
    pascal = gpus(gpu(0, "Tesla P100-PCIE-16GB"), gpu(1, "NVIDIA GeForce RTX 5090"))
    none = only(no_kernels, machine(gpus=pascal))
    assert none.remedy.commands == ()
    assert "no published build serves 6.0 and 12.0 together" in none.remedy.text


def test_a_guessed_build_accuses_nobody_where_another_of_its_release_would_do() -> None:
    def found(version: str, name: str, cuda: str | None = None) -> list[str]:
        facts = Facts(
            origin=Origin(kind="pasted"),
            torch=Torch(version=version, cuda=cuda),
            gpus=Gpus(devices=(Gpu(index=0, name=name),)),
        )
        return brief(no_kernels, facts)

    # by default it is built for CUDA 10.2, on PyTorch's own index and by conda for 11.3 too
    assert found("1.10.2", "NVIDIA RTX A6000") == ["note no-kernels-for-gpu NVIDIA RTX A6000"]
    assert found("1.10.2", "NVIDIA RTX A6000", "11.3") == []
    assert found("2.6.0", "NVIDIA GeForce RTX 5090") == ["error no-kernels-for-gpu NVIDIA GeForce RTX 5090"]


NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def test_the_error_proves_no_guessed_build_guilty() -> None:
    """PyPI's wheel of 2.7 is for CUDA 12.6 and knows no RTX 50, that for 12.8 does: an extension may have said it."""
    open_ = only(no_kernels, report("NVIDIA GeForce RTX 5090", "2.7.0", (), NO_IMAGE))
    assert "torch 2.7.0, whose CUDA line is not told" in open_.message
    assert "or an extension" in open_.message
    assert "get_arch_list" in open_.remedy.text
    for facts in (
        report("NVIDIA GeForce RTX 5090", "2.7.0+cu126", (), NO_IMAGE),
        report("NVIDIA GeForce RTX 5090", "2.6.0", (), NO_IMAGE),  # none of its builds would do
        report("NVIDIA GeForce RTX 5090", "2.7.0", (), FIXED.format("NVIDIA GeForce RTX 5090", 120)),
    ):
        assert "holds no code for NVIDIA GeForce RTX 5090 (sm_120): no kernel" in only(no_kernels, facts).message


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("sageattention-2.2.0-cp312-cp312-linux_x86_64.whl", "--no-binary :all: 'sageattention'"),
        ("File x/bitsandbytes/nn.py in bitsandbytes.ops()", "pip install --upgrade bitsandbytes"),
        ("plain torch", "--reinstall-package torchaudio 'torch' 'torchvision' 'torchaudio'"),
    ],
)
def test_what_is_compiled_for_one_gpu_is_compiled_anew_and_what_has_wheels_is_upgraded(words: str, first: str) -> None:
    found = only(no_kernels, read(f"{words}\n{NO_IMAGE}"))
    assert found.remedy.commands[0].endswith(first)


def test_a_gpu_named_beside_the_error_says_nothing_of_a_torch_that_is_not() -> None:
    error = "no kernel image is available for execution on the device"
    turing = Gpus(devices=(Gpu(index=0, name="NVIDIA GeForce RTX 2080"),))
    found = only(no_kernels, pasted(f"RuntimeError: CUDA error: {error}", gpus=turing))
    assert (found.subject, found.message[:39]) == ("the GPU", "What was started holds no code for the ")
    line = f"RuntimeError: RMSNorm failed with error code {error}"
    assert only(no_kernels, pasted(line, gpus=turing)).subject == "flashinfer-python"
    assert only(no_kernels, pasted(line, "sglang cannot start its server", gpus=turing)).subject == "sgl-kernel"


def test_a_release_that_a_person_names_is_not_that_of_the_program() -> None:
    """A program has a torch of its own, and its warning lists what that one holds."""
    warned = (
        "NVIDIA GeForce RTX 5070 Ti with CUDA capability sm_120 is not compatible with the current PyTorch "
        "installation.\nThe current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_90."
    )
    assert root(warned, "The torch that I have on this machine is 2.9.0").message.startswith("torch holds no code")


def test_a_torch_that_knows_the_card_is_another_one_than_runs() -> None:
    warned = (
        "NVIDIA GeForce RTX 5070 Ti with CUDA capability sm_120 is not compatible with the current PyTorch "
        "installation.\nThe current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_90."
    )
    found = root(warned, "torch.cuda.get_arch_list() shows that sm_120 is there")
    assert "another torch runs" in found.message
    assert "that very Python" in found.remedy.text


NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


@pytest.mark.parametrize("image", ["vllm/vllm-openai", "lmsysorg/sglang"])
def test_what_an_engine_s_image_lacks_a_newer_image_has(image: str) -> None:
    found = root(f"docker run --rm --gpus all -p 8000:8000 {image}:v0.8.1 --model x\n{NO_IMAGE}")
    assert f"a newer tag of {image}" in found.remedy.text
    assert not any("pip" in command for command in found.remedy.commands)


def test_an_older_card_is_in_no_newer_image() -> None:
    told = "Tesla P40 with CUDA capability sm_61 is not compatible with the current PyTorch installation.\n"
    assert "a newer tag" not in root(f"docker run --gpus all vllm/vllm-openai:latest\n{told}").remedy.text


def test_ptx_of_another_generation_is_compiled_at_the_start() -> None:
    old = ("sm_37", "sm_60", "sm_75", "compute_37")
    ada = report("NVIDIA L40", "1.7.1", old, FIXED.format("NVIDIA L40", 89))
    found = only(no_kernels, ada)
    assert "no compiled code for NVIDIA L40 (sm_89), only PTX (compute_37)" in found.message
    assert "no kernel will start" not in found.message
    assert "looks like a hang" in found.message
    none = only(no_kernels, report("NVIDIA L40", "1.7.1", old[:3], FIXED.format("NVIDIA L40", 89)))
    assert "no kernel will start" in none.message
    assert "no kernel will start" in only(no_kernels, report("NVIDIA L40", "1.7.1", old, NO_IMAGE)).message
