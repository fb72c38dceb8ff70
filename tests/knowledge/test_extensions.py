import pytest

from envdoctor.facts.model import Distribution, Extension, Facts, Interpreter, Packages
from envdoctor.knowledge.extensions import (
    ExtensionBuild,
    build_of_torch,
    builds,
    difference,
    extension_named,
    named_in,
    read_label,
)
from tests.rules.judging import installed, torch


@pytest.mark.parametrize(
    ("label", "built"),
    [
        ("cu12torch2.8cxx11abitrue", ExtensionBuild("2.8", "12", None, True)),
        ("cu122torch2.3cxx11abiFALSE", ExtensionBuild("2.3", "12.2", None, False)),
        ("pt25cu124", ExtensionBuild("2.5", "12.4")),
        ("pt210cu128", ExtensionBuild("2.10", "12.8")),
        ("torch260cu124", ExtensionBuild("2.6", "12.4")),
        ("cuda 12.1, torch 2.1", ExtensionBuild("2.1", "12.1")),
        ("cuda 0.0, torch 0.0", ExtensionBuild("0.0", None)),
        ("cu124", ExtensionBuild(None, "12.4")),
        ("", ExtensionBuild()),
    ],
)
def test_labels(label: str, built: ExtensionBuild) -> None:
    assert read_label(label) == built


@pytest.mark.parametrize(
    ("version", "abi"),
    [("2.5.1+cu124", False), ("2.6.0+cu124", False), ("2.6.0+cu126", True), ("2.7.0+cu128", True), ("2.6.0", None)],
)
def test_the_abi_of_torchs_own_wheels(version: str, abi: bool | None) -> None:
    found = build_of_torch(Facts(packages=installed({"torch": version})))
    assert found is not None
    assert found.cxx11_abi is abi


def test_torchs_own_word_goes_first() -> None:
    from dataclasses import replace

    facts = Facts(
        torch=replace(torch("2.6.0+cu124", cuda="12.4"), cxx11_abi=True), interpreter=Interpreter(version="3.11.7")
    )
    assert build_of_torch(facts) == ExtensionBuild("2.6", "12.4", "3.11", True)
    assert build_of_torch(Facts()) is None


def test_label_and_probe_complete_each_other() -> None:
    facts = Facts(
        packages=installed({"flash-attn": "2.8.3+cu12torch2.8cxx11abitrue", "torchvision": "0.24.0+cu128"}),
        extensions=(Extension(name="flash-attn", python="3.11"), Extension(name="vllm", torch="2.8.0")),
    )
    assert builds(facts) == {
        "flash-attn": ExtensionBuild("2.8", "12", "3.11", True),
        "vllm": ExtensionBuild("2.8", None, None, None),
    }


def test_difference_names_the_first_thing_that_differs() -> None:
    ours = ExtensionBuild("2.13", "13.0", "3.11", True)
    assert difference(ExtensionBuild("2.13", "13", "3.9+", True), ours) is None
    assert difference(ExtensionBuild(), ours) is None
    assert "CUDA 12.8" in (difference(ExtensionBuild("2.13", "12.8"), ours) or "")
    assert "for the CPU" in (difference(ExtensionBuild("2.13", "12.8"), ExtensionBuild("2.13", "")) or "")


def test_whose_error_it_is() -> None:
    assert extension_named("undefined symbol in flash_attn_2_cuda.so") == "flash-attn"
    assert extension_named("vllm: xformers failed", ["vllm"]) == "vllm"
    assert extension_named("libfoo.so") is None


def test_a_wheel_says_itself_which_torch_it_is_bound_to() -> None:
    def built(version: str, *requires: str) -> str | None:
        rows = (
            Distribution(name="torch", version="2.15.0"),
            Distribution(name="xformers", version=version, requires=requires),
        )
        found = builds(Facts(packages=Packages(distributions=rows))).get("xformers")
        return found.torch if found else None

    assert built("0.0.34", "torch==2.10.0") == "2.10"
    assert built("0.0.35", "torch>=2.10") is None
    assert built("0.0.99", "torch==2.17.0") == "2.17"
    assert built("0.0.34") == "2.10"  # the table, where the wheel is not there to be asked


def test_a_wheel_for_a_range_of_torch_is_bound_to_none_whatever_it_was_compiled_with() -> None:
    """xformers 0.0.35: compiled with torch 2.10 and Python 3.10, its wheel is for torch>=2.10, py39-none."""
    wheel = Distribution(
        name="xformers", version="0.0.35", requires=("torch>=2.10",), tags=("py39-none-manylinux_2_28_x86_64",)
    )
    compiled = Extension(name="xformers", version="0.0.35", torch="2.10.0", cuda="12.8", python="3.10.19")
    facts = Facts(packages=Packages(distributions=(wheel,)), extensions=(compiled,))
    assert builds(facts)["xformers"] == ExtensionBuild(None, "12.8", None, None)
    assert difference(builds(facts)["xformers"], ExtensionBuild("2.13", "12.6", "3.11", True)) is None
    assert difference(builds(facts)["xformers"], ExtensionBuild("2.13", "13.0", "3.11", True)) is not None


def test_an_environment_s_name_names_no_extension() -> None:
    assert named_in("/envs/mamba2/lib/python3.10/site-packages/my_ops.cpython-310-x86_64-linux-gnu.so") == []
    assert named_in("/e/site-packages/selective_scan_cuda_core.abi3.so: undefined symbol: _ZN3c10") == []
    assert named_in("/e/site-packages/selective_scan_cuda.abi3.so: undefined symbol: _ZN3c10") == ["mamba-ssm"]
    assert named_in("the conda environment mamba2, /e/mamba2/lib/site_packages/selective_scan_cuda_core.abi3.so") == []
    assert named_in("/opt/libmmcv_ops.so: undefined symbol: _ZN3c10") == ["mmcv"]
    assert named_in("/opt/conda/lib/libmamba.so.2: undefined symbol: _ZN3fmt") == []
