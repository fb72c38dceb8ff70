"""Variants of wheels (PEP 825): what an installer picked elsewhere, judged on this machine."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Distribution, Driver, Facts, Gpu, Gpus, Host, Packages
from envdoctor.rules.packages.wheel_variant import wheel_variant
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, locked, silent, skipped

TORCH = (
    "nvidia :: cuda_version_lower_bound :: 12.9", "nvidia :: sm_arch :: 100_real", "nvidia :: sm_arch :: 120_real",
    "nvidia :: sm_arch :: 120_virtual", "nvidia :: sm_arch :: 75_real", "nvidia :: sm_arch :: 80_real",
    "nvidia :: sm_arch :: 90_real",
)  # fmt: skip
"""As the prototype's variant cu129 of torch 2.8.0 tells them."""
AVX2, AVX512 = ("avx2",), ("avx2", "avx512f")


def machine(
    *variant: str, capability: str = "9.0", cuda: str = "12.9", flags: tuple[str, ...] = AVX512, name: str = "torch"
) -> Facts:
    return Facts(
        packages=Packages(distributions=(Distribution(name=name, version="2.8.0", variant=variant),)),
        gpus=Gpus(devices=(Gpu(index=0, name="a GPU", capability=capability),)),
        driver=Driver(kernel_module="575.57.08", library="575.57.08", cuda=cuda),
        host=Host(system="Linux", machine="x86_64", cpu_flags=flags),
    )


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (machine(*TORCH, capability="7.0"), "with code for 10.0, 12.0, 7.5, 8.0, 9.0, and this GPU has capability 7.0"),
        (machine(*TORCH, cuda="11.8"), "for CUDA 12.9 and later, and this driver has CUDA 11.8"),
        (machine("nvidia :: sm_arch :: 90a_real", capability="12.0"), "with code for 9.0, and this GPU"),
        (machine("x86_64 :: level :: v4", flags=AVX2), "for processors of level x86-64-v4, and this one lacks avx512f"),
    ],
    ids=["an old GPU", "an old driver", "code for one capability", "an old processor"],
)
def test_the_variant_of_another_machine(facts: Facts, said: str) -> None:
    (found,) = findings(wheel_variant, facts, locked(torch="2.8.1"))
    assert (found.kind, found.subject, found.severity) == ("extension-abi-mismatch", "torch", Severity.ERROR)
    assert said in found.message
    assert found.repair == (Pin(name="torch", version="2.8.1"),)


@pytest.mark.parametrize(
    "facts",
    [
        machine(*TORCH),
        machine(*TORCH, capability="8.6"),  # runs the code for 8.0
        machine(*TORCH, capability="12.1"),
        machine(*TORCH, cuda="12.2"),  # within one major version any driver does
        machine(*TORCH, cuda="13.1"),
        machine("nvidia :: sm_arch :: 75_virtual", capability="12.0"),  # compiled when it is loaded
        machine("nvidia :: sm_arch :: 90_real", "nvidia :: sm_arch :: all_major", capability="7.0"),
        machine("x86_64 :: level :: v3", flags=AVX2),
        machine("x86_64 :: level :: v2", flags=AVX2),
        machine("x86_64 :: level :: v3", flags=()),  # nothing is known of the processor
        machine("x86_64 :: level :: v4", "x86_64 :: level :: v3", flags=AVX2),  # one value of a feature is enough
        machine("blas_lapack :: library :: mkl", "somebody :: own :: 1"),
        machine("no property", "x86_64 :: level :: v4 :: more", flags=AVX2),  # as a hand may have written it
    ],
)
def test_fitting_and_unknown_variants(facts: Facts) -> None:
    assert silent(wheel_variant, facts)


def test_of_packages_without_a_lock_the_release_itself_is_installed_again() -> None:
    (found,) = findings(wheel_variant, machine("x86_64 :: level :: v4", flags=AVX2, name="numpy"))
    assert found.remedy.commands == ("python -m pip install 'numpy==2.8.0' --force-reinstall --no-deps --no-cache-dir",)


def test_unknown_is_skipped() -> None:
    assert skipped(wheel_variant, Facts())
    assert skipped(wheel_variant, Facts(packages=Packages(distributions=(Distribution(name="torch", version="2.8"),))))
