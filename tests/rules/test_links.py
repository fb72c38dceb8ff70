"""Symptoms point to the finding that causes them, and only the right ones."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.facts.model import DamagedFile, Distribution, Facts, Packages, Unavailable
from envdoctor.locks.target import Target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose
from tests.rules.judging import NOTHING, torch
from tests.rules.machines import CPU, CPU_TARGET, H100, H100_TARGET

RULES = load_rules()


def links(facts: Facts, target: Target = NOTHING) -> tuple[Diagnosis, dict[str, str | None]]:
    diagnosis = diagnose(facts, target, RULES)
    assert not diagnosis.crashed
    return diagnosis, {finding.identity: finding.symptom_of for finding in diagnosis.findings}


def packages(facts: Facts) -> Packages:
    assert isinstance(facts.packages, Packages)
    return facts.packages


def test_an_uneven_pair_explains_its_own_broken_demand_and_no_other() -> None:
    base = packages(CPU)
    rows = (
        Distribution(name="torchvision", version="0.27.0+cpu", requires=("torch==2.12.0",)),
        Distribution(name="trl", version="1.0", requires=("peft>=99",)),
    )
    facts = replace(CPU, packages=replace(base, distributions=(*base.distributions, *rows)))
    diagnosis, found = links(facts)
    assert found["packages/conflicts torchvision torch"] == "packages/torch-pair torchvision"
    assert found["packages/conflicts trl peft"] is None
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.kind == "torch-pair-mismatch"


def test_a_damaged_torch_explains_that_it_cannot_be_imported() -> None:
    piece = DamagedFile(distribution="torch", kind="wrong-size", path="torch/lib/libtorch_cpu.so")
    facts = replace(
        CPU,
        packages=replace(packages(CPU), damaged=(piece,)),
        torch=Unavailable(reason="import torch: SIGBUS", why="crashed"),
    )
    diagnosis, found = links(facts, CPU_TARGET)
    assert found["torch/import-fails torch"] == "packages/damaged torch"
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.rule == "packages/damaged"


def test_a_file_of_yours_explains_it_too() -> None:
    assert not isinstance(CPU.interpreter, Unavailable)
    facts = replace(
        CPU,
        interpreter=replace(CPU.interpreter, shadowed=("/home/me/random.py",)),
        torch=Unavailable(reason="import torch: AttributeError: module 'random' has no attribute 'x'", why="failed"),
    )
    diagnosis, found = links(facts, CPU_TARGET)
    assert found["torch/import-fails torch"] == "interpreter/shadowed-modules random"
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.kind == "interpreter"


def test_a_library_path_explains_the_cudnn_that_torch_met() -> None:
    loaded = ("/usr/local/cuda/lib64/libcudnn.so.9.1.0", "/env/lib/python3.12/site-packages/torch/lib/libtorch.so")
    assert not isinstance(H100.torch, Unavailable)
    facts = replace(
        H100,
        variables={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"},
        torch=replace(H100.torch, libraries=loaded, cudnn="9.1.0"),
    )
    diagnosis, found = links(facts, H100_TARGET)
    assert {cause for rule, cause in found.items() if rule.startswith("torch/cudnn")} <= {
        "variables/library-path LD_LIBRARY_PATH"
    }
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.subject == "LD_LIBRARY_PATH"


def test_hidden_gpus_explain_that_torch_sees_none() -> None:
    facts = replace(
        H100,
        variables={"CUDA_VISIBLE_DEVICES": "-1"},
        torch=replace(torch(), cuda_available=False, device_count=0, flags={}),
    )
    diagnosis, found = links(facts, H100_TARGET)
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.subject == "CUDA_VISIBLE_DEVICES"
    assert found.get("torch/cuda-unavailable torch", "variables/visible-devices CUDA_VISIBLE_DEVICES") == (
        "variables/visible-devices CUDA_VISIBLE_DEVICES"
    )
