"""The order of causes: complete, without doubles, and right for machines where something cheaper is wrong as well."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from envdoctor.facts.model import Distribution, Facts, Flag, Gpu, Gpus, Packages, Torch, Unavailable
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.causes import CAUSES, KINDS, rank
from envdoctor.rules.diagnose import diagnose
from tests.rules.machines import H100, H100_TARGET

RULES = load_rules()


def test_every_kind_has_one_place_of_its_own() -> None:
    assert {entry for entry in CAUSES if ":" not in entry} == KINDS
    assert [entry for entry, count in Counter(CAUSES).items() if count > 1] == []


def test_exceptions_name_a_kind_and_a_rule_that_exist() -> None:
    names = {rule.name for rule in RULES}
    for kind, _, rule in (entry.partition(":") for entry in CAUSES if ":" in entry):
        assert kind in KINDS
        assert rule in names


def test_an_exception_counts_before_the_kind() -> None:
    assert rank("gpu-not-visible", "driver/no-gpu") > rank("driver-too-old", "torch/driver-too-old")
    assert rank("driver-too-old", "torch/driver-too-old") > rank("gpu-not-visible", "plugin/of-somebody")
    with pytest.raises(KeyError):
        rank("no-such-kind", "driver/no-gpu")


def _sections(facts: Facts) -> tuple[Packages, Gpus, Torch, dict[str, str]]:
    for section in (facts.packages, facts.gpus, facts.torch, facts.variables):
        assert not isinstance(section, Unavailable)
    return facts.packages, facts.gpus, facts.torch, dict(facts.variables)  # type: ignore[return-value, arg-type]


def _worn() -> Facts:
    """An H100 on which what costs little is wrong: another order of attention, float32 precision, no certifi."""
    packages, _, torch, _ = _sections(H100)
    flags = {
        **torch.flags,
        "sdp": Flag(value="flash,efficient,math,cudnn"),
        "float32-matmul-precision": Flag(value="highest"),
    }
    rest = tuple(d for d in packages.distributions if d.name != "certifi")
    return replace(H100, packages=replace(packages, distributions=rest), torch=replace(torch, flags=flags))


WORN = _worn()


def _set(**variables: str) -> Facts:
    return replace(WORN, variables={**_sections(WORN)[3], **variables})


def _one(**changes: object) -> Facts:
    gpus = _sections(WORN)[1]
    under_load = bool(changes.pop("under_load", False))
    gpu = replace(gpus.devices[0], **changes)  # type: ignore[arg-type]
    return replace(WORN, gpus=replace(gpus, devices=(gpu,), under_load=under_load))


def _eight(facts: Facts, **changes: object) -> Facts:
    _, gpus, torch, _ = _sections(facts)
    cards = tuple(replace(gpus.devices[0], index=index, **changes) for index in range(8))  # type: ignore[arg-type]
    driver = H100.driver
    assert not isinstance(driver, Unavailable)
    pci = tuple(f"0000:0{index}:00.0 10de:2330" for index in range(8))
    devices = tuple(f"/dev/nvidia{index}" for index in range(8))
    return replace(
        facts,
        gpus=replace(gpus, devices=cards, count=8),
        torch=replace(torch, device_count=8),
        driver=replace(driver, pci=pci, devices=devices),
    )


def _slow_release() -> Facts:
    """torch 2.9.1 where a vision model is trained: Conv3d without cuDNN."""
    packages, _, torch, _ = _sections(WORN)
    rows = tuple(
        replace(d, version="2.9.1") if d.name == "torch" else d
        for d in packages.distributions
        if d.name not in ("triton", "nvidia-cudnn-cu13")
    )
    rows += (Distribution(name="diffusers", version="0.36.0"), Distribution(name="triton", version="3.5.1"))
    rows = tuple(replace(d, requires=()) for d in rows)
    return replace(
        WORN,
        packages=replace(packages, distributions=rows),
        torch=replace(torch, version="2.9.1+cu130", cudnn="9.13.0", cudnn_built="9.13.0"),
        remarks={"model": "a video model of diffusers (Wan2.1)"},
    )


def _unsupported_compat_library() -> Facts:
    """A GeForce in a container whose compatibility libcuda CUDA refuses with error 804."""
    driver, torch = H100.driver, _sections(H100)[2]
    assert not isinstance(driver, Unavailable)
    path = "/usr/local/cuda-13.0/compat/libcuda.so.1"
    return replace(
        H100,
        driver=replace(
            driver, kernel_module="570.124.06", management_library="570.124.06", cuinit=804, library_path=path
        ),
        torch=replace(torch, cuda_available=False, device_count=0, capabilities=(), flags={}),
    )


SLOW_CLOCK = {"sm_clock": 990, "sm_clock_max": 1980, "sm_clock_application": 990, "utilization": 100}
SICK = {
    "float32 products without TF32": (WORN, "precision/float32-matmul"),
    "CUDA_LAUNCH_BLOCKING": (_set(CUDA_LAUNCH_BLOCKING="1"), "variables/debug"),
    "no cache of CUDA memory": (_set(PYTORCH_NO_CUDA_MEMORY_CACHING="1"), "variables/debug"),
    "eight GPUs, NCCL_P2P_DISABLE": (_eight(_set(NCCL_P2P_DISABLE="1")), "variables/nccl"),
    "eight GPUs, two NVLinks down on each": (_eight(WORN, nvlinks=16, nvlinks_down=2), "gpu/nvlink"),
    "200 of 700 W": (_one(power_limit=200.0), "gpu/power-limit"),
    "clocks fixed at half": (_one(under_load=True, **SLOW_CLOCK), "gpu/application-clocks"),
    "torch 2.9.1 and a vision model": (_slow_release(), "packages/known-slow"),
    "error 804 of a compatibility library": (_unsupported_compat_library(), "driver/cuda-init"),
}


@pytest.mark.parametrize(("facts", "rule"), SICK.values(), ids=list(SICK))
def test_what_costs_most_is_named_first(facts: Facts, rule: str) -> None:
    diagnosis = diagnose(facts, H100_TARGET, RULES)
    assert not diagnosis.crashed
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.rule == rule


def test_the_limit_of_one_card_is_named_before_its_being_unlike_the_others() -> None:
    facts = _eight(WORN)
    gpus = _sections(facts)[1]
    slow: Gpu = replace(gpus.devices[3], power_limit=300.0)
    devices = (*gpus.devices[:3], slow, *gpus.devices[4:])
    diagnosis = diagnose(replace(facts, gpus=replace(gpus, devices=devices)), H100_TARGET, RULES)
    assert {"gpu/power-limit", "gpu/odd-one-out"} <= {finding.rule for finding in diagnosis.findings}
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.rule == "gpu/power-limit"
