from dataclasses import replace

import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.rules.attention.cudnn_first import cudnn_first
from envdoctor.rules.rule import Pin, SetFlag, SetVariable, Severity
from tests.rules.judging import asking, findings, installed, locked, silent, skipped, torch

DEFAULT = "flash,efficient,math,cudnn"
HOPPER = "NVIDIA H100 80GB HBM3"
LAST = {"TORCH_CUDNN_SDPA_DEPRIORITIZED": "1"}


def on(
    gpu: str, sdp: str = "cudnn,flash,efficient,math", version: str = "2.13.0+cu130", cudnn: str = "9.20.0"
) -> Facts:
    return Facts(
        torch=replace(torch(version, sdp=sdp), cudnn=cudnn), gpus=Gpus(devices=(Gpu(index=0, name=gpu),)), variables={}
    )


@pytest.mark.parametrize(("gpu", "ratio"), [("NVIDIA A100-SXM4-80GB", "0.82"), ("NVIDIA A10G", "0.93")])
def test_slower_than_flash_here(gpu: str, ratio: str) -> None:
    (finding,) = findings(cudnn_first, on(gpu))
    assert (finding.kind, finding.severity) == ("flag-differs", Severity.WARNING)
    assert ratio in finding.message


@pytest.mark.parametrize(
    ("facts", "repair"),
    [
        (on(HOPPER, DEFAULT), (SetVariable(name="TORCH_CUDNN_SDPA_DEPRIORITIZED", value="1"),)),
        (on(HOPPER, DEFAULT, cudnn="92000"), (SetVariable(name="TORCH_CUDNN_SDPA_DEPRIORITIZED", value="1"),)),
        (
            on("NVIDIA H200"),
            (SetVariable(name="TORCH_CUDNN_SDPA_DEPRIORITIZED", value="1"), SetFlag(name="sdp", value=DEFAULT)),
        ),
        (on("NVIDIA H200", version="2.10.0", cudnn="9.10.2"), (SetFlag(name="sdp", value=DEFAULT),)),
    ],
)
def test_a_mask_may_give_nan_gradients_on_hopper_before_cudnn_9_26(facts: Facts, repair: tuple[object, ...]) -> None:
    (finding,) = findings(cudnn_first, facts, asking("9.0"))
    assert (finding.severity, finding.repair) == (Severity.WARNING, repair)
    assert "NaN" in finding.message


def test_where_the_stack_has_a_mended_cudnn_that_is_the_repair() -> None:
    packages = installed({"torch": "2.14.1", "nvidia-cudnn-cu13": "9.24.0.43"})
    facts = replace(on(HOPPER, DEFAULT, version="2.14.1+cu130", cudnn="9.24.0"), packages=packages)
    pins = {"torch": "2.15.0", "nvidia_cudnn_cu13": "9.26.0.51"}
    (finding,) = findings(cudnn_first, facts, locked(**pins))
    assert {pin.name for pin in finding.repair if isinstance(pin, Pin)} == {"torch", "nvidia-cudnn-cu13"}
    (finding,) = findings(cudnn_first, facts, locked(torch="2.15.0", nvidia_cudnn_cu13="9.25.0.1"))
    assert finding.repair == (SetVariable(name="TORCH_CUDNN_SDPA_DEPRIORITIZED", value="1"),)


@pytest.mark.parametrize(
    "facts",
    [
        on(HOPPER, cudnn="9.26.0"),
        on(HOPPER, DEFAULT, version="2.15.0", cudnn="92600"),
        on(HOPPER, DEFAULT, version="2.10.0", cudnn="9.10.2"),  # flash is first, and stays
        replace(on(HOPPER, DEFAULT), variables=LAST),
        on(HOPPER, "flash,efficient,math"),  # switched off
        on(HOPPER, DEFAULT, version="2.11.0+cu128", cudnn="9.15.0"),  # torch trusts it from 9.15.1 on
        on("NVIDIA GeForce RTX 5090", DEFAULT),  # flash is first there
        replace(on("NVIDIA B200", DEFAULT), variables=LAST),
        on("NVIDIA L40S"),  # measured even
        on("NVIDIA A100-SXM4-80GB", DEFAULT),
        on("NVIDIA A100-SXM4-80GB", "cudnn"),  # no order: the only one
        Facts(torch=torch(), gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA A100-SXM4-80GB"),))),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(cudnn_first, facts)


def test_torch_reads_the_variable_as_1_or_0_and_leaves_other_words_out() -> None:
    (finding,) = findings(cudnn_first, replace(on(HOPPER, DEFAULT), variables={"TORCH_CUDNN_SDPA_DEPRIORITIZED": "on"}))
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize("version", ["2.10.0+cu130", "2.13.0+cu130"])
def test_an_order_set_before_is_lost_where_torch_chooses(version: str) -> None:
    """A newer cuDNN beside torch 2.10 is enough: it is the library that decides."""
    (finding,) = findings(cudnn_first, on(HOPPER, version=version, cudnn="9.19.0"))
    assert {type(step) for step in finding.repair} == {SetVariable, SetFlag}


@pytest.mark.parametrize("facts", [on("NVIDIA B200", DEFAULT), on("NVIDIA B200", cudnn="9.26.0")])
def test_generation_on_a_b200_is_a_note(facts: Facts) -> None:
    (finding,) = findings(cudnn_first, facts)
    assert (finding.severity, finding.repair) == (Severity.NOTE, ())
    assert "generate" in finding.message


def test_the_targets_own_order_is_not_questioned() -> None:
    assert silent(cudnn_first, on("NVIDIA A100-SXM4-80GB"), asking("8.0", sdp="cudnn,flash"))


def test_unknown_is_skipped() -> None:
    assert skipped(cudnn_first, Facts())
    assert skipped(cudnn_first, Facts(torch=torch(sdp="cudnn,flash")))
