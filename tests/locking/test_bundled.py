"""The files that are shipped: every one is read, judged, and agrees with the rest of the house."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest

from envdoctor import stack, target
from envdoctor.bundle import flags_table
from envdoctor.compat.gpus import identify
from envdoctor.document import read_toml
from envdoctor.facts import Interpreter
from envdoctor.locking import inputs
from envdoctor.locking.lint import lint
from envdoctor.locking.platforms import GLIBC_OLDEST, interpreter
from envdoctor.speed import chips
from envdoctor.speed.roofline import refuse_impossible

ROOT = Path(__file__).resolve().parents[2] / "lockfiles"
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
    assert len(STACKS) >= 5
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
        for requirement in wanted.requirements:
            name, _, version = requirement.partition("==")
            assert not version or found[name] == version


@pytest.mark.parametrize(
    ("name", "torch", "cuda"),
    [
        ("cpu", "2.13.0+cpu", ""),
        ("cu130", "2.11.0", "13.0"),
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


def test_the_measured_stack_is_what_was_measured() -> None:
    found = versions("cu130", interpreter("3.12", "x86_64", libc=GLIBC_OLDEST))
    assert {name: found[name] for name in ("torch", "triton", "transformers", "accelerate", "datasets")} == {
        "torch": "2.11.0",
        "triton": "3.6.0",
        "transformers": "5.17.0",
        "accelerate": "1.15.0",
        "datasets": "5.2.0",
    }


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
    if "peak" in found.conditions:
        assert found.sources["conditions"]
    if "achievable" in found.conditions:
        assert found.sources["achievable"]


@pytest.mark.parametrize("path", TARGETS, ids=name_of)
def test_targets_are_readable(path: Path) -> None:
    """A target is read by people: what is known of a GPU fits on a screen; recorded speeds come after it."""
    text = path.read_text("utf-8").partition("[[baseline]]")[0]
    assert len(text.splitlines()) <= 45


@pytest.mark.parametrize("path", TARGETS, ids=name_of)
def test_names_capability_and_peaks_agree_with_the_tables(path: Path) -> None:
    found = target.load(path)
    for name in found.gpu_names:
        model = identify(name)
        assert model is not None, name
        assert model.capability == found.capability
    if not found.gpu_names:
        return
    chip = chips.find(found.gpu_names[0])
    assert chip is not None
    peak = found.conditions["peak"]
    for precision in ("float32", "tf32", "bfloat16", "float16"):
        assert peak.get(precision) == getattr(chip, precision)
    assert found.conditions["bandwidth"] == chip.bandwidth
    assert found.conditions.get("achievable", {}).get("bfloat16") == chip.achievable


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
