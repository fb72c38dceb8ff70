"""Validation loss against a plain computation, the best weights, early stopping, and going on after a stop."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.trainer.conftest import chat, write_lines
from tests.trainer.launching import finish, furthest, start, torchrun, weights
from tests.trainer.running import prepare_run
from trainer.__main__ import main
from trainer.errors import TrainerError
from trainer.options.settings import from_mapping
from trainer.validation.evaluation import loss_of


def run(tmp_path: Path, values: dict, **more: object) -> dict:
    config = tmp_path / "settings.json"
    config.write_text(json.dumps({**values, **more}))
    assert main(["sft", "--config", str(config), "--report", str(tmp_path / "report.json")]) == 0
    return json.loads((tmp_path / "report.json").read_text())


def held_out(tmp_path: Path) -> list[str]:
    return [str(write_lines(tmp_path / "held.jsonl", [chat(2, 4 + 5 * n, 3 * n) for n in range(7)]))]


def test_the_loss_is_that_of_each_example_alone(tiny: dict, tmp_path: Path) -> None:
    """Packed or padded, it is transformers' own loss of single examples, weighed by their trained tokens."""
    data = held_out(tmp_path)
    packed, padded = (
        prepare_run({**tiny, "eval_data": data, **more})
        for more in ({}, {"packing": False, "attention": "model", "examples_per_batch": 3})
    )
    padded.trainee.model.load_state_dict(packed.trainee.model.state_dict())
    with torch.no_grad():
        losses = [loss_of(one, one.prepared.validation) for one in (packed, padded)]
        sums, count = [], 0
        examples = prepare_run({**tiny, "data": data}).prepared.source.tokens
        for number in range(len(examples)):
            ids, trained = (torch.from_numpy(part.astype("int64"))[None] for part in examples.example(number))
            labels = torch.where(trained.bool(), ids, -100)
            alone = padded.trainee.model(input_ids=ids, labels=labels).loss
            sums.append(float(alone) * int(trained[0, 1:].sum()))
            count += int(trained[0, 1:].sum())
    for loss, tokens in losses:
        assert tokens == count
        assert loss == pytest.approx(math.fsum(sums) / count, abs=2e-5)


def test_a_share_is_held_out_of_training(tiny: dict) -> None:
    whole, part = prepare_run(tiny), prepare_run({**tiny, "eval_share": 0.25})
    trained = sum(len(row) for row in part.prepared.source.rows(0))
    assert trained == 18
    assert part.prepared.facts["eval_examples"] == 6
    assert len(whole.prepared.validation) == 0
    ids = [tuple(part.prepared.source.tokens.example(index)[0]) for index in range(18)]
    held = part.prepared.validation
    assert not {tuple(held._examples.example(index)[0]) for index in range(6)} & set(ids)
    other = prepare_run({**tiny, "eval_share": 0.25, "seed": 1}).prepared.validation
    assert [list(held._examples.example(n)[0]) for n in range(6)] != [
        list(other._examples.example(n)[0]) for n in range(6)
    ]
    with pytest.raises(TrainerError, match="leaves none"):
        prepare_run({**tiny, "eval_share": 0.5, "data": held_one(tiny)})


def held_one(tiny: dict) -> list[str]:
    path = Path(tiny["data"][0]).with_name("one.jsonl")
    return [str(write_lines(path, [chat(2, 5)]))]


def test_the_best_weights_are_the_models_and_the_run_stops_early(tiny: dict, tmp_path: Path, capsys) -> None:
    """A rate that ruins what the first steps learnt: the lowest validation loss lies before the end."""
    values = {
        **tiny, "eval_data": held_out(tmp_path), "eval_every": 1, "learning_rate": 0.3, "schedule": "constant",
        "warmup_steps": 40, "epochs": 30, "early_stopping": 4, "stop_diverging": False, "checkpoint_every": 1,
        "sample_prompts": ["the cost of"], "sample_tokens": 3,
    }  # fmt: skip
    told = run(tmp_path, values)
    rows = [json.loads(line) for line in (tmp_path / "run" / "evaluations.jsonl").read_text().splitlines()]
    best = min(rows, key=lambda row: row["eval_loss"])
    assert rows[-1]["step"] == told["steps"] == best["step"] + 4
    assert told["validation"]["best_step"] == best["step"]
    published = load_file(tmp_path / "run" / "model" / "model.safetensors")
    kept = load_file(tmp_path / "run" / "best" / "weights.safetensors")
    assert all(torch.equal(value, kept[name]) for name, value in published.items() if name in kept)
    last = load_file(tmp_path / "run" / "checkpoints" / f"step-{told['steps']:08d}" / "model.safetensors")
    assert not all(torch.equal(value, kept[name]) for name, value in last.items())
    said = capsys.readouterr().err
    assert "early stopping: nothing better in 4 evaluations" in said
    assert f"the model is that of step {best['step']}" in said
    samples = [json.loads(line) for line in (tmp_path / "run" / "samples.jsonl").read_text().splitlines()]
    assert [row["step"] for row in samples] == [row["step"] for row in rows]
    again = run(tmp_path, values)
    assert again["already_finished"]


def test_judging_changes_nothing_of_the_training_and_goes_on_after_a_stop(tiny: dict, tmp_path: Path) -> None:
    values = {**tiny, "epochs": 2, "lora_rank": 4, "lora_dropout": 0.1, "schedule": "constant"}
    plain = run(tmp_path, values, output=str(tmp_path / "plain"))
    judged = {"eval_data": held_out(tmp_path), "eval_every": 2, "sample_prompts": ["the cost"], "sample_tokens": 2}
    with_loss = run(tmp_path, values, output=str(tmp_path / "judged"), **judged)
    assert with_loss["losses"] == plain["losses"]
    run(tmp_path, values, output=str(tmp_path / "stopped"), max_steps=3, checkpoint_every=1, **judged)
    run(tmp_path, values, output=str(tmp_path / "stopped"), **judged)
    rows = [
        [{name: row[name] for name in ("step", "eval_loss", "tokens")} for row in map(json.loads, path.open())]
        for path in (tmp_path / name / "evaluations.jsonl" for name in ("judged", "stopped"))
    ]
    assert [row for row in rows[1] if row["step"] != 3] == rows[0]


def test_settings_that_lack_each_other_are_refused(tiny: dict) -> None:
    for values, said in (
        ({"early_stopping": 2}, "needs a validation loss"), ({"eval_share": 0.6}, "at most 0.5"),
        ({"eval_share": 0.1, "eval_data": ["a"]}, "two ways"),
    ):  # fmt: skip
        with pytest.raises(TrainerError, match=said):
            from_mapping(values, "here")


@pytest.mark.slow
def test_two_processes_find_the_same_loss(tiny: dict, tmp_path: Path) -> None:
    values = {**tiny, "eval_data": held_out(tmp_path), "accumulate": 2, "eval_every": 2, "early_stopping": 9}
    both = finish(start(torchrun(2), "sft", {**values, "accumulate": 1}, tmp_path / "two"), tmp_path / "two")
    single = run(tmp_path, values, output=str(tmp_path / "one" / "run"))
    found, expected = (report["validation"]["evaluations"] for report in (both, single))
    assert [row["tokens"] for row in found] == [row["tokens"] for row in expected]
    assert [row["eval_loss"] for row in found] == pytest.approx([row["eval_loss"] for row in expected], abs=1e-6)
    assert furthest(weights(tmp_path / "two"), weights(tmp_path / "one")) < 1e-5
