"""The files that are shipped: every one is read, judged, and agrees with the rest of the house."""

from __future__ import annotations

import functools
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from envdoctor.bundle import flags_table
from envdoctor.facts.model import Interpreter
from envdoctor.knowledge.gpus import board
from envdoctor.locks import stack, target
from envdoctor.locks.lint import lint
from envdoctor.locks.platforms import DESKTOPS, GLIBC_OLDEST, MACHINES, PYTHONS, holds, interpreter
from envdoctor.locks.writing import inputs
from envdoctor.speed.roofline import refuse_impossible
from envdoctor.values.document import read_toml

ROOT = Path(__file__).resolve().parents[3] / "lockfiles"
STACKS = sorted(ROOT.glob("pylock.*.toml"))
TARGETS = sorted((ROOT / "targets").glob("*.toml"))
INPUTS = sorted((ROOT / "inputs").glob("*.in"))
name_of = {path: path.name for path in (*STACKS, *TARGETS, *INPUTS)}.get


@functools.cache
def stack_of(name: str) -> stack.Stack:
    return stack.load(ROOT / f"pylock.{name}.toml")


def versions(name: str, one: Interpreter) -> dict[str, str]:
    pins = stack.select(stack_of(name), one)
    assert isinstance(pins, tuple), pins
    return {pin.name: pin.version for pin in pins}


def test_there_is_something_to_test() -> None:
    assert len(STACKS) >= 6
    assert len(TARGETS) >= 13
    assert {path.stem for path in INPUTS} == {path.name.split(".")[1] for path in STACKS}


@pytest.mark.parametrize("path", STACKS, ids=name_of)
def test_stacks_are_sound_and_name_no_address(path: Path) -> None:
    assert lint(path) == ()
    text = path.read_text("utf-8")
    assert "://" not in text
    assert "index" not in read_toml(path)["packages"][0]
    for package in read_toml(path)["packages"]:
        assert set(package) <= {"name", "version", "marker", "dependencies", "wheels"}
        for wheel in package["wheels"]:
            assert set(wheel) == {"path", "size", "hashes"}
            assert set(wheel["hashes"]) == {"sha256"}


@pytest.mark.parametrize("path", [*STACKS, *INPUTS], ids=name_of)
def test_nothing_shipped_names_a_registry(path: Path) -> None:
    assert not re.search(r"(?i)pypi|pythonhosted|download\.pytorch|file:", path.read_text("utf-8"))


@pytest.mark.parametrize("path", STACKS, ids=name_of)
def test_stacks_serve_whom_their_inputs_name(path: Path) -> None:
    wanted = inputs.read(ROOT / "inputs" / f"{path.name.split('.')[1]}.in")
    for one in wanted.served:
        found = versions(path.name.split(".")[1], one)
        assert {"torch", "transformers", "accelerate", "datasets", "safetensors", "tokenizers", "numpy"} <= set(found)
        for requirement in map(Requirement, wanted.requirements):
            if requirement.marker is None or holds(requirement.marker, one):
                assert requirement.specifier.contains(found[requirement.name]), (requirement, one.version)


@pytest.mark.parametrize(
    ("name", "torch", "cuda"),
    [
        ("cpu", "2.13.0+cpu", ""),
        ("cu132", "2.15.0", "13.2"),
        ("cu130", "2.14.1", "13.0"),
        ("cu128", "2.10.0", "12.8"),
        ("cu126", "2.7.1", "12.6"),
        ("phase1c", "2.9.0", "12.8"),
    ],
)
def test_stacks_are_of_the_cuda_line_they_are_named_after(name: str, torch: str, cuda: str) -> None:
    found = stack_of(name)
    assert (found.torch, found.cuda) == (torch, cuda)
    one = interpreter("3.11", "x86_64", libc=GLIBC_OLDEST)
    nvidia = {package for package in versions(name, one) if package.startswith("nvidia-") or package == "triton"}
    assert bool(nvidia) is bool(cuda)


def test_the_measured_pins_are_still_those_that_were_measured() -> None:
    measured = [one for one in target.load(ROOT / "targets" / "cpu.toml").baselines if one.evidence == "measured"]
    pins = stack.select(stack_of("cpu"), interpreter("3.11", "x86_64", libc=GLIBC_OLDEST))
    assert isinstance(pins, tuple)
    assert measured
    assert {baseline.lock for baseline in measured} == {stack.training_digest(pins)}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("machine", [*MACHINES, *DESKTOPS])
def test_every_python_and_system_has_a_cpu_stack(python: str, machine: str) -> None:
    found = versions("cpu", interpreter(python, machine, libc=GLIBC_OLDEST))
    assert {"torch", "transformers", "accelerate", "datasets", "peft"} <= set(found)
    assert not (machine in DESKTOPS and {name for name in found if name.startswith(("nvidia-", "cuda-", "triton"))})


@pytest.mark.parametrize("name", ["cu132", "cu130", "cu128", "cu126"])
def test_the_stacks_hold_the_newest_transformers_for_each_python(name: str) -> None:
    """transformers left Python 3.10 with 5.21: one version for it, one newer one for all others."""
    wanted = inputs.read(ROOT / "inputs" / f"{name}.in")
    newer = {versions(name, one)["transformers"] for one in wanted.served if not one.version.startswith("3.10.")}
    older = {versions(name, one)["transformers"] for one in wanted.served if one.version.startswith("3.10.")}
    assert len(newer) == 1
    assert all(Version(old) < Version("5.21") <= Version(new) for old in older for new in newer)


@pytest.mark.parametrize("path", STACKS, ids=name_of)
def test_a_stack_says_when_it_was_resolved(path: Path) -> None:
    if path.name == "pylock.phase1c.toml":
        return  # its day is in its inputs
    said = read_toml(path)["tool"]["envdoctor"]["resolved"]
    assert date(2026, 11, 1) < date.fromisoformat(said)


def test_the_claimed_pins_are_those_of_the_claim() -> None:
    found = versions("phase1c", interpreter("3.11", "x86_64", libc=GLIBC_OLDEST))
    claimed = {"transformers": "4.43.3", "accelerate": "1.11.0", "datasets": "4.3.0"}
    assert {name: found[name] for name in claimed} == claimed
    (baseline,) = target.load(ROOT / "targets" / "phase1c.toml").baselines
    assert (baseline.evidence, baseline.steps_per_second, baseline.windows) == ("claimed", 3.0, ())
    impossible = refuse_impossible(baseline)
    assert impossible is not None
    assert impossible.limit == pytest.approx(2.75, abs=0.01)  # 989.5e12 / (6 x 7.5e9 x 8000)


def flags() -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location("flags_under_test", flags_table())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", TARGETS, ids=name_of)
def test_targets_name_stacks_and_flags_that_exist(path: Path) -> None:
    found = target.load(path)
    assert found.stacks
    for name in found.stacks:
        stack_of(name)
    assert set(found.flags) <= {flag.name for flag in flags().FLAGS}


@pytest.mark.parametrize("path", TARGETS, ids=name_of)
def test_everything_a_target_asks_for_has_a_source(path: Path) -> None:
    found = target.load(path)
    for name in (*found.flags, *found.variables):
        assert found.sources.get(name), name
    if "power_limit" in found.conditions:
        assert found.sources["conditions"]


@pytest.mark.parametrize("path", TARGETS, ids=name_of)
def test_targets_are_readable(path: Path) -> None:
    """A target is read by people: what is known of a GPU fits on a screen; recorded speeds come after it."""
    text = path.read_text("utf-8").partition("[[baseline]]")[0]
    assert len(text.splitlines()) <= 45


@pytest.mark.parametrize("path", TARGETS, ids=name_of)
def test_a_target_names_gpus_of_the_table_and_says_no_figure_again(path: Path) -> None:
    found = target.load(path)
    for name in found.gpu_names:
        model = board(name)
        assert model is not None, name
        assert model.capability == found.capability
    assert set(found.conditions) <= {"power_limit", "memory", "gpus", "precision"}
    if not found.gpu_names:
        return
    boards = [model for name in found.gpu_names if (model := board(name))]
    assert found.conditions["power_limit"] in [model.power for model in boards]
    assert found.conditions["memory"] in [model.memory for model in boards]


@pytest.mark.parametrize("path", TARGETS, ids=name_of)
def test_flags_fit_the_capability(path: Path) -> None:
    """TF32 and bf16 begin with 8.0: below, asking for them would promise what the chip cannot do."""
    found = target.load(path)
    if found.capability is None:
        assert not found.flags
        return
    ampere = tuple(map(int, found.capability.split("."))) >= (8, 0)
    assert ("float32-matmul-precision" in found.flags) is ampere
    if found.conditions:
        assert found.conditions["precision"] == ("bfloat16" if ampere else "float16")


@pytest.mark.parametrize("path", TARGETS, ids=name_of)
def test_baselines_belong_to_a_stack_of_the_target_and_are_possible(path: Path) -> None:
    found = target.load(path)
    for baseline in found.baselines:
        assert baseline.stack in found.stacks
        assert baseline.source
        if baseline.evidence == "measured":
            assert baseline.lock
            assert refuse_impossible(baseline) is None
