"""Every speed feature can be switched off by a setting, and a run without it has the same losses."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import trainer
from tests.trainer.conftest import chat, write_lines
from tests.trainer.features import EXACT, FEATURES, Feature, both
from tests.trainer.launching import ROOT, environment, free_port
from tests.trainer.test_gritlm import pair
from trainer.options.settings import Settings, from_mapping
from trainer.options.training import ComputeOptions

STEPS = 3
NO_FEATURE = {
    "device": "where", "precision": "how exactly", "recompute_rng": "exactness of recomputation under dropout",
    "threads": "how much of the machine", "parallel": "how processes share", "peak_tflops": "what MFU is a share of",
}  # fmt: skip
"""Options of how it is computed that are no feature: what they are."""
NO_PART = {
    "model.build": "the model itself", "model.fitting": "decides", "model.lora": "which weights are trained",
    "model.noise": "another training", "model.unreadable": "messages", "compute.contention": "measures",
    "compute.contradictions": "refuses", "compute.extras": "imports", "compute.factored": "another optimizer",
    "compute.flops": "counts", "compute.hardware": "looks", "compute.oom": "goes on where memory runs out",
    "compute.process": "this process", "compute.randomness": "states", "checkpoints.card": "a text",
    "checkpoints.folder": "the run's folder", "checkpoints.parts": "shards", "checkpoints.publish": "the model",
    "checkpoints.resume": "what is saved", "checkpoints.save": "files", "checkpoints.upload": "copies elsewhere",
    "checkpoints.uploading": "copies elsewhere",
}  # fmt: skip
"""Modules of the wings that compute which are no feature's: what they are."""


def rows(slow: bool, how: tuple[str, ...] = ("here", "alone", "two")) -> list[str]:
    return [name for name, feature in FEATURES.items() if feature.slow is slow and feature.how in how]


def values_of(feature: Feature, tiny: dict, folder: Path) -> dict[str, Any]:
    """What both runs share: chats, or pairs; a model from random weights, or one on disk."""
    values = {**tiny, "max_steps": STEPS, "epochs": 100, "compile": "off", "recompute": "none", "learning_rate": 3e-3}
    if feature.task == "gritlm":
        values["data"] = [str(write_lines(folder / "pairs.jsonl", [pair(n) for n in range(11)] + [chat(2, 9, 1)]))]
    if feature.saved:
        values["model"] = str(saved(values, folder / "base"))
        del values["model_config"]
    return {name: value for name, value in values.items() if name not in ("output",)}


def saved(values: dict, folder: Path) -> Path:
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    config = {**json.loads(Path(values["model_config"]).read_text()), "hidden_size": 64, "intermediate_size": 128}
    AutoModelForCausalLM.from_config(AutoConfig.for_model(config.pop("model_type"), **config)).save_pretrained(folder)
    return folder


def answer_of(
    name: str, values: dict, folder: Path, python: str = sys.executable, variables: dict[str, str] | None = None
) -> dict[str, Any]:
    """Losses of both runs, from this process or others."""
    feature = FEATURES[name]
    if feature.how == "here":
        return both(feature, values, folder, [])
    folder.mkdir(parents=True)
    processes = 2 if feature.how == "two" else 1
    ports = [free_port(), free_port()] if processes > 1 else []
    (folder / "given.json").write_text(json.dumps({"values": values, "ports": ports}))
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(free_port())]
    words = ["-m", "tests.trainer.features", name, str(folder / "given.json"), str(folder)]
    done = subprocess.run(
        [python, *(launcher if processes > 1 else []), *words], cwd=ROOT, env=variables or environment(),
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    answer: dict[str, Any] = json.loads((folder / "answer.json").read_text())
    return answer


def held(name: str, answer: dict[str, Any]) -> None:
    """The switch switches, and the losses are as near as the row says."""
    on, off = answer["on"], answer["off"]
    assert on["calls"] > 0, "with the feature what belongs to it never ran"
    assert off["calls"] == 0, "without the feature it still ran"
    assert len(on["losses"]) == len(off["losses"]) == FEATURES[name].values.get("max_steps", STEPS)
    assert on["losses"] == pytest.approx(off["losses"], rel=FEATURES[name].near)
    assert on["norms"] == pytest.approx(off["norms"], rel=10 * FEATURES[name].near)
    if FEATURES[name].near > EXACT:
        assert on["losses"] != off["losses"], "a feature that rounds changes a bit somewhere"


@pytest.mark.parametrize("name", rows(slow=False))
def test_a_run_without_it_has_the_same_losses(name: str, tiny: dict, tmp_path: Path) -> None:
    if FEATURES[name].saved:
        pytest.importorskip("bitsandbytes")
    held(name, answer_of(name, values_of(FEATURES[name], tiny, tmp_path), tmp_path / "runs"))


@pytest.mark.slow
@pytest.mark.parametrize("name", rows(slow=True))
def test_a_run_without_what_compiles_or_takes_two_has_the_same_losses(name: str, tiny: dict, tmp_path: Path) -> None:
    held(name, answer_of(name, values_of(FEATURES[name], tiny, tmp_path), tmp_path / "runs"))


def test_every_row_is_run_somewhere() -> None:
    interpreted = rows(slow=True, how=("interpreted",))  # tests/cuda/test_liger.py
    assert sorted([*rows(False), *rows(True), *interpreted]) == sorted(FEATURES)


def test_every_option_of_how_it_is_computed_has_a_row() -> None:
    switches = {feature.setting for feature in FEATURES.values()}
    options = {item.name for item in dataclasses.fields(ComputeOptions)}
    assert options - switches == set(NO_FEATURE)
    assert switches <= {item.name for item in dataclasses.fields(Settings)}


def test_every_module_that_computes_has_a_row() -> None:
    """A new one fails here until it has a switch, or it is said what else it is."""
    root = Path(trainer.__file__).parent
    there = {
        f"{wing}.{path.stem}" for wing in ("model", "compute", "checkpoints") for path in (root / wing).glob("*.py")
        if path.stem != "__init__"
    }  # fmt: skip
    told = {part for feature in FEATURES.values() for part in feature.made_of}
    assert all((root / f"{part.replace('.', '/')}.py").is_file() for part in told)
    assert not told & set(NO_PART)
    assert there - told == set(NO_PART)


@pytest.mark.parametrize("name", FEATURES)
def test_both_values_of_a_row_are_ones_that_the_setting_takes(name: str) -> None:
    feature = FEATURES[name]
    found = [
        getattr(from_mapping({**feature.values, feature.setting: value}, "row"), feature.setting)
        for value in (feature.on, feature.off)
    ]
    assert found == [feature.on, feature.off]
    assert feature.on != feature.off
