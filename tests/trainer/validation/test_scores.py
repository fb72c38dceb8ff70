"""What is scored beside the loss: retrieval accuracy of held-out pairs, acceptance rate on held-out prompts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.trainer.conftest import chat, write_lines
from tests.trainer.launching import finish, single, start, torchrun
from tests.trainer.test_gritlm import grit, pair, prepared, run_of  # noqa: F401 - a fixture
from tests.trainer.test_rft import accepted, pupil, values  # noqa: F401 - fixtures
from trainer.__main__ import main
from trainer.data.pairs import pool_documents
from trainer.model.contrastive import mean_pooled
from trainer.tasks.answers.acceptance import packs
from trainer.validation.evaluation import rank
from trainer.validation.retrieval import accuracy


def test_a_query_counts_when_no_passage_is_nearer_than_one_of_its_own() -> None:
    queries = np.eye(3)
    passages = np.array([[0.9, 0, 0], [0, 0.5, 0], [0, 0.6, 0], [0, 0, 1.0]])
    # the second query has an answer and a hard negative, which is nearer
    assert accuracy(queries, passages, [1, 2, 1], [1, 1, 1]) == pytest.approx(2 / 3)
    assert accuracy(queries, passages, [1, 2, 1], [1, 2, 1]) == 1.0
    far = np.array([[0, 0, 0.1], [0, 1.0, 0], [0, 1.0, 0], [0, 0, 0.1]])  # equally near is right
    assert accuracy(queries, far, [1, 2, 1], [1, 2, 1]) == 1.0


def test_scores_come_before_the_loss_and_steps_decide_between_equals() -> None:
    rows = [
        {"step": 3, "eval_loss": 0.1, "scores": {"a": 0.5}}, {"step": 2, "eval_loss": 0.4, "scores": {"a": 0.75}},
        {"step": 1, "eval_loss": 0.4, "scores": {"a": 0.75}}, {"step": 4, "eval_loss": 0.3, "scores": {"a": 0.75}},
    ]  # fmt: skip
    assert [row["step"] for row in sorted(rows, key=rank)] == [4, 1, 2, 3]


def test_groups_keep_the_order_and_the_budget() -> None:
    assert packs([3, 3, 3, 9, 1, 1], 6) == [[0, 1], [2], [3], [4, 5]]
    assert packs([], 6) == []


@pytest.mark.parametrize("packing", [True, False])
def test_the_accuracy_is_that_of_documents_embedded_one_by_one(grit: dict, packing: bool) -> None:  # noqa: F811
    run = run_of({**grit, "eval_share": 0.4, "packing": packing, "examples_per_batch": 3, "seed": 3})
    held = run.prepared.scores
    assert len(held.queries) == 7
    trained = {one.query for one in run.prepared.source.found.queries}
    assert len(trained) == 11
    assert not trained & {one.query for one in held.queries}
    assert run.prepared.facts["eval_pairs"] == 7
    run.trainee.model.eval()
    pad = None if packing else 0
    with torch.no_grad():
        found = held(run)["retrieval_accuracy"]

        def vector(index: int) -> torch.Tensor:
            row = pool_documents(held.documents.examples([index]), pad)
            return torch.nn.functional.normalize(mean_pooled(run.trainee.hidden(row.batch, causal=False), row))[0]

        passages = [(n, i, vector(i)) for n, one in enumerate(held.queries) for i in (*one.positives, *one.negatives)]
        right = 0
        for number, one in enumerate(held.queries):
            query = vector(one.query)
            ordered = sorted(passages, key=lambda item: -float(query @ item[2]))
            right += ordered[0][0] == number and ordered[0][1] in one.positives
    assert found == right / 7
    assert found < 1


def test_the_best_step_is_that_of_the_highest_accuracy(tiny: dict, tmp_path: Path, capsys) -> None:
    rows = [{"query": f"{n} {chat(1, 6, n)['messages'][0]['content']}", "positives": [f"{n} is {n + 7} and {n}"]}
            for n in range(60)]  # fmt: skip
    data = write_lines(tmp_path / "pairs.jsonl", [*rows, *(chat(2, 6, n) for n in range(12))])
    settings = {**tiny, "data": [str(data)], "eval_share": 0.2, "eval_every": 4, "max_steps": 24, "temperature": 0.05,
                "learning_rate": 1e-2, "pairs_per_batch": 8, "early_stopping": 9}  # fmt: skip
    (tmp_path / "s.json").write_text(json.dumps(settings))
    assert main(["gritlm", "--config", str(tmp_path / "s.json"), "--report", str(tmp_path / "r.json")]) == 0
    report = json.loads((tmp_path / "r.json").read_text())
    found = [row["scores"]["retrieval_accuracy"] for row in report["validation"]["evaluations"]]
    assert all(0 < row["eval_loss"] < 9 for row in report["validation"]["evaluations"])
    best = report["validation"]
    assert len(found) == 6
    assert max(found) > 0
    assert best["best_scores"]["retrieval_accuracy"] == max(found)
    reached = [row for row in report["validation"]["evaluations"] if row["scores"]["retrieval_accuracy"] == max(found)]
    assert best["best_loss"] == min(row["eval_loss"] for row in reached)
    assert "retrieval accuracy" in capsys.readouterr().err


def test_held_out_prompts_are_answered_and_never_sampled(values: dict, tmp_path: Path, capsys) -> None:  # noqa: F811
    settings = {**values, "eval_share": 0.4, "eval_every": 1, "samples_per_prompt": 12}
    (tmp_path / "s.json").write_text(json.dumps(settings))
    assert main(["rft", "--config", str(tmp_path / "s.json"), "--report", str(tmp_path / "r.json")]) == 0
    report = json.loads((tmp_path / "r.json").read_text())
    rows = report["validation"]["evaluations"]
    assert len(rows) == report["steps"]
    assert all(row["scores"]["acceptance_rate"] in (0, 0.25, 0.5, 0.75, 1) for row in rows)
    assert report["data"]["eval_examples"] == 4
    assert report["data"]["rft"]["prompts"] == 6
    assert len({row["prompt"] for row in accepted(settings)}) <= 6
    assert "acceptance rate" in capsys.readouterr().err


def test_the_acceptance_rate_counts_right_ends_only(values: dict, tmp_path: Path) -> None:  # noqa: F811
    """Answers that the model gives are right, others are not."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = values["model"]
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    rows, expected = [], 0
    for a in range(10):
        ids = tokenizer(f"{a} + 1 =", add_special_tokens=False, return_tensors="pt")
        made = model.generate(**ids, max_new_tokens=4, do_sample=False)[0, ids["input_ids"].shape[1] :]
        ended = int(made[-1]) == tokenizer.eos_token_id
        text = tokenizer.decode(made, skip_special_tokens=True).strip()
        answer = text if a % 2 and ended and text.isdigit() else 99
        expected += answer != 99
        rows.append({"prompt": f"{a} + 1 =", "answer": answer})
    assert expected
    judged = {**values, "eval_data": [str(write_lines(tmp_path / "e.jsonl", rows))], "learning_rate": 0.0}
    (tmp_path / "s.json").write_text(json.dumps({**judged, "samples_per_prompt": 12}))
    assert main(["rft", "--config", str(tmp_path / "s.json"), "--report", str(tmp_path / "r.json")]) == 0
    (row, *_) = json.loads((tmp_path / "r.json").read_text())["validation"]["evaluations"]
    assert row["scores"]["acceptance_rate"] == expected / 10


def test_what_is_tokenised_in_the_loop_holds_nothing_out(grit: dict) -> None:  # noqa: F811
    from trainer.errors import TrainerError

    with pytest.raises(TrainerError, match="cannot be held out"):
        prepared({**grit, "eval_share": 0.2, "pretokenize": False, "packing": False})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ddp", "fsdp2"])
def test_two_processes_score_as_one(grit: dict, values: dict, tmp_path: Path, kind: str) -> None:  # noqa: F811
    others = write_lines(tmp_path / "e.jsonl", [pair(n + 40, 1) for n in range(9)] + [chat(2, 7, 3)])
    pairs = {**grit, "eval_data": [str(others)], "eval_every": 2, "epochs": 1, "parallel": kind}
    prompts = {**values, "eval_share": 0.5, "eval_every": 1, "precision": "float32", "tokens_per_row": 16,
               "samples_per_prompt": 12, "loader_workers": 0, "parallel": kind}  # fmt: skip
    cases = {
        "gritlm": ({**pairs, "pairs_per_batch": 2}, {**pairs, "pairs_per_batch": 4, "parallel": "auto"}),
        "rft": (prompts, {**prompts, "accumulate": 2, "parallel": "auto"}),
    }
    for task, (each, alone) in cases.items():
        there = finish(start(torchrun(2), task, each, tmp_path / f"{task}2"), tmp_path / f"{task}2")
        here = single(task, alone, tmp_path / f"{task}1")
        left, right = (report["validation"]["evaluations"] for report in (there, here))
        assert [row["scores"] for row in left] == [row["scores"] for row in right]
        assert len(left) >= 2
        if task == "gritlm":
            assert [row["eval_loss"] for row in left] == pytest.approx([row["eval_loss"] for row in right], abs=1e-5)
