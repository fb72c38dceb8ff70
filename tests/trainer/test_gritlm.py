"""The pair task from file to steps: roles, plan, losses, resuming, and bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.trainer.conftest import TINY, WORDS, chat, write_lines
from tests.trainer.running import same, weights
from trainer import loop
from trainer.checkpoints import save
from trainer.checkpoints.resume import restore
from trainer.compute.optimizer import Stepper
from trainer.data.batches import Batch
from trainer.data.counts import Counts
from trainer.errors import TrainerError
from trainer.measure.history import History
from trainer.measure.measurement import Stopwatch
from trainer.model.build import build
from trainer.model.fitting import settle
from trainer.options.settings import from_mapping
from trainer.state import Run
from trainer.tasks.gritlm import Gritlm
from trainer.tasks.sft import Sft


def words(count: int, shift: int) -> str:
    return " ".join(WORDS[(n * (shift + 1) + shift) % len(WORDS)] for n in range(count))


def pair(number: int, negatives: int = 2) -> dict:
    return {
        "query": ["find the answer", words(4, number)],
        "positives": [words(9 + number % 5, number + 1), ["an answer", words(6, number + 2)]],
        "negatives": [words(8, number + 3 + extra) for extra in range(negatives)],
    }


@pytest.fixture
def grit(tmp_path: Path, tiny: dict) -> dict:
    """18 pairs and 6 chats in two files; batches of 4 queries."""
    first = write_lines(tmp_path / "a.jsonl", [pair(n) for n in range(11)] + [chat(2, 5 + n, n) for n in range(3)])
    second = write_lines(tmp_path / "b.jsonl", [chat(2, 9, n) for n in range(3)] + [pair(n + 20, 0) for n in range(7)])
    return {**tiny, "data": [str(first), str(second)], "pairs_per_batch": 4, "temperature": 0.1}


def prepared(values: dict):
    return Gritlm().prepare(from_mapping(values, "test"), None)


def run_of(values: dict) -> Run:
    settings = from_mapping(values, "test")
    data, trainee = Gritlm().prepare(settings, None), build(settings, None)
    settings, steps = settle(settings, trainee, data, print)
    return Run(
        settings=settings, task=Gritlm(), trainee=trainee, prepared=data,
        stepper=Stepper(trainee.model, trainee.device, settings), stopwatch=Stopwatch(trainee.device),
        history=History(5), total_steps=steps, epochs=settings.epochs,
    )  # fmt: skip


def step_with_both(source) -> list:
    """The first step that has contrastive and generative micro-batches."""
    steps = (source.step(0, index) for index in range(source.steps_in(0)))
    return next(batches for batches in steps if len({type(batch) for batch in batches}) == 2)


def test_every_row_is_used_once_in_an_epoch_and_draws_differ_between_epochs(grit: dict) -> None:
    source = prepared(grit).source
    files = {query.query: query.file for query in source.found.queries}
    assert sorted(files.values()) == [0] * 11 + [1] * 7
    seen = []
    for epoch in (0, 1):
        pairs, rows = source.plan(epoch)
        assert sorted(query for batch in pairs for query, _ in batch) == sorted(files)
        assert sorted(i for row in rows for i in row) == sorted(source.found.generative)
        assert all(len({files[query] for query, _ in batch}) == 1 for batch in pairs)  # negatives of one file
        assert max(map(len, pairs)) == 4
        by_query = {query.query: query for query in source.found.queries}
        for batch in pairs:
            for query, (positive, *negatives) in batch:
                assert positive in by_query[query].positives
                assert len(negatives) == min(1, len(by_query[query].negatives))
                assert set(negatives) <= set(by_query[query].negatives)
        seen.append(pairs)
    assert seen[0] != seen[1]
    mixed = prepared({**grit, "one_file_per_batch": False}).source.plan(0)[0]
    assert any(len({files[query] for query, _ in batch}) == 2 for batch in mixed)


def test_the_plan_depends_on_seed_and_epoch_alone(grit: dict) -> None:
    """Asked for in any order, by any number of readers, a step is the same step."""
    one, two = prepared(grit).source, prepared(grit).source
    for epoch, index in ((1, 2), (0, 0), (1, 1)):
        left, right = one.step(epoch, index), two.step(epoch, index)
        two.step(0, 1)
        assert [type(batch) for batch in left] == [type(batch) for batch in right]
        for a, b in zip(left, right, strict=True):
            for x, y in zip(getattr(a, "rows", [a]), getattr(b, "rows", [b]), strict=True):
                x, y = getattr(x, "batch", x), getattr(y, "batch", y)
                assert torch.equal(x.inputs["input_ids"], y.inputs["input_ids"])


def test_instructions_and_marks_are_seen_but_not_in_the_mean(grit: dict) -> None:
    data = prepared(grit)
    query = data.source.found.queries[0]
    ids, marks = data.source.documents.examples([query.query])[0]
    decode = data.tokenizer.decode
    assert decode(ids.tolist()) == "<|user|>\nfind the answer\n<|embed|>\n" + words(4, 0)
    assert decode([i for i, mark in zip(ids.tolist(), marks, strict=True) if mark]).strip() == words(4, 0)
    ids, marks = data.source.documents.examples([query.positives[0]])[0]
    assert decode(ids.tolist()) == "<|embed|>\n" + words(9, 1)


def test_a_step_is_the_weighted_sum_of_both_mean_losses(grit: dict) -> None:
    values = {**grit, "contrastive_weight": 0.3, "generative_weight": 2.0, "accumulate": 2}
    run = run_of(values)
    batches = step_with_both(run.prepared.source)
    divisor = sum(batch.weight for batch in batches)
    total = sum(float(Gritlm().loss(run.trainee, b, run.settings, 1 / divisor).detach()) for b in batches)
    token_sum = tokens = pair_sum = queries = 0.0
    for batch in batches:
        if isinstance(batch, Batch):
            token_sum += float(Sft().loss(run.trainee, batch, run.settings, 1.0).detach())
            tokens += batch.trained
        else:
            pair_sum += float(Gritlm().loss(run.trainee, batch, run.settings, 1.0).detach()) / batch.factor
            queries += batch.queries
    assert tokens > 0 < queries
    assert total == pytest.approx(0.3 * pair_sum / queries + 2.0 * token_sum / tokens, rel=1e-5)


@pytest.mark.parametrize("order", [True, False])
def test_the_order_of_the_two_passes_changes_no_gradient(grit: dict, order: bool) -> None:
    run = run_of({**grit, "generative_first": order, "accumulate": 2})
    batches = step_with_both(run.prepared.source)
    assert isinstance(batches[0], Batch) is order
    divisor = sum(batch.weight for batch in batches)
    grads = []
    for sequence in (batches, batches[::-1]):
        run.trainee.model.zero_grad(set_to_none=True)
        for batch in sequence:
            Gritlm().loss(run.trainee, batch, run.settings, 1 / divisor).backward()
        grads.append({name: p.grad for name, p in run.trainee.model.named_parameters()})
    assert all(torch.allclose(grads[0][n], grads[1][n], atol=1e-6) for n in grads[0])


@pytest.mark.parametrize("part", ["contrastive_weight", "generative_weight"])
def test_a_part_with_weight_zero_is_not_computed(grit: dict, part: str) -> None:
    source = prepared({**grit, part: 0.0}).source
    batches = [batch for index in range(source.steps_in(0)) for batch in source.step(0, index)]
    assert {isinstance(batch, Batch) for batch in batches} == {part == "contrastive_weight"}
    assert all(sum(b.weight for b in source.step(0, i)) > 0 for i in range(source.steps_in(0)))


def test_training_learns_both_ways(grit: dict) -> None:
    """The right passage of a query is found among all after training, and the token loss falls."""
    run = run_of({**grit, "epochs": 12, "learning_rate": 5e-3, "negatives_per_query": 2})
    source = run.prepared.source

    def state() -> tuple[float, float]:
        with torch.no_grad():
            both = {True: 0.0, False: 0.0}
            for index in range(source.steps_in(0)):
                for batch in source.step(0, index):
                    kind = isinstance(batch, Batch)
                    value = float(Gritlm().loss(run.trainee, batch, run.settings, 1.0))
                    both[kind] += value if kind else value / batch.factor
        return both[True], both[False]

    before = state()
    loop.train(run, [])
    after = state()
    assert after[0] < 0.7 * before[0]
    assert after[1] < 0.7 * before[1]


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [0, 60])
def test_resuming_gives_the_same_bits(grit: dict, tmp_path: Path, chunk: int) -> None:
    values = {**grit, "epochs": 2, "accumulate": 2, "gradcache_chunk": chunk}
    whole = run_of(values)
    loop.train(whole, [])
    first = run_of(values)
    first.saver = save.Saver(tmp_path / "c", 2)
    loop.train(first, [lambda counts, run: run.position.step == 4])
    second = run_of(values)
    folder, _ = save.newest(tmp_path / "c")
    loop.train(second, [], restore(second, *save.read(folder)))
    assert first.history.losses + second.history.losses == whole.history.losses
    assert len(whole.history.losses) > 5
    assert same(weights(second), weights(whole))


def test_before_and_after_have_the_same_loss_on_the_same_batch(grit: dict) -> None:
    """The padded, tokenised-in-the-loop way of the preset `before` computes what the packed way does."""
    settings = from_mapping(grit, "test", "before", "gritlm")
    plain = Gritlm().prepare(settings, None)
    run, other = run_of(grit), build(settings, None)
    other.model.load_state_dict(run.trainee.model.state_dict())
    count, texts = len(run.prepared.source.found.queries), {}
    for source in (run.prepared.source, plain.source):
        assert len(source.found.queries) == count
        query = source.found.queries[3]
        texts[source] = [ids.tolist() for ids, _ in source.documents.examples([query.query, *query.negatives])]
    assert texts[plain.source] == texts[run.prepared.source]
    query_batch = [(q.query, (q.positives[0], *q.negatives)) for q in run.prepared.source.found.queries[:4]]
    plain_batch = [(q.query, (q.positives[0], *q.negatives)) for q in plain.source.found.queries[:4]]
    packed, padded = run.prepared.source._pairs(query_batch), plain.source._pairs(plain_batch)
    assert packed.real == packed.slots == padded.real < padded.slots
    losses = [
        float(Gritlm().loss(who, batch, chosen, 1.0).detach())
        for who, batch, chosen in (
            (run.trainee, replace(packed, factor=1.0), run.settings), (other, replace(padded, factor=1.0), settings)
        )
    ]  # fmt: skip
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_counts_of_a_step(grit: dict) -> None:
    source = prepared({**grit, "generative_weight": 0.0}).source
    counts = Counts.of(source.step(0, 0))
    assert counts.trained == 0 < counts.real == counts.slots
    assert counts.documents == len(source.plan(0)[0][0]) + sum(len(p) for _, p in source.plan(0)[0][0])


def test_tokens_are_reused(grit: dict) -> None:
    assert [prepared(grit).facts["reused_tokens"] for _ in range(2)] == [False, True]
    assert prepared({**grit, "embed_mark": "[e]"}).facts["reused_tokens"] is False


def test_a_left_out_first_pair_hands_its_place_to_the_next(grit: dict, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "c.jsonl", [{"query": words(400, 1), "positives": ["x"]}, pair(1), pair(2)])
    values = {**grit, "data": [grit["data"][0], str(path)], "over_long": "skip"}
    assert [query.file for query in prepared(values).source.found.queries] == [0] * 11 + [1] * 2


def test_long_texts_of_a_pair_can_be_cut(grit: dict, tmp_path: Path) -> None:
    long = {"query": words(400, 1), "positives": [words(500, 2)], "instruction": words(3, 3)}
    path = write_lines(tmp_path / "c.jsonl", [long, pair(1)])
    values = {**grit, "data": [grit["data"][0], str(path)], "over_long": "cut"}
    source = prepared(values).source
    assert [query.file for query in source.found.queries] == [0] * 11 + [1] * 2
    query = source.found.queries[11]
    lengths = [len(ids) for ids, _ in source.documents.examples([query.query, query.positives[0]])]
    assert lengths == [values["tokens_per_row"]] * 2


BAD = {
    "empty": ([], "empty-data", "no examples"),
    "broken": ([pair(1), '{"query": '], "broken-line", "line 2: not JSON"),
    "no positives": ([{"query": "x"}], "missing-column", "line 1: a query, but no column 'positives'; it has 'query'"),
    "empty positives": ([{"query": "x", "positives": []}], "bad-column", "line 1: positives must be"),
    "a text, not a list": ([{"query": "x", "positives": "y"}], "bad-column", "line 1: positives must be"),
    "a number": ([pair(1), {"query": 3, "positives": ["y"]}], "bad-column", "line 2: a query or passage must be"),
    "blank": ([{"query": "x", "positives": [" "]}], "bad-column", "line 1: a query or passage must be"),
    "three": ([{"query": ["a", "b", "c"], "positives": ["y"]}], "bad-column", "line 1: a query or passage must be"),
    "too long": ([pair(1), {"query": "x", "positives": [words(500, 1)]}], "example-too-long", "line 2: a text of"),
    "neither": ([{"body": "x"}], "missing-column", "line 1: no column 'prompt' or 'completion'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_told_by_file_and_line(grit: dict, tmp_path: Path, case: str) -> None:
    rows, kind, said = BAD[case]
    path = tmp_path / "bad.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    with pytest.raises(TrainerError) as caught:
        prepared({**grit, "data": [str(path)]})
    assert caught.value.kind == kind
    assert said in caught.value.message
    assert "bad.jsonl" in caught.value.message
    assert caught.value.remedy


def test_nothing_of_the_wanted_kind_is_told(grit: dict, tmp_path: Path) -> None:
    only = write_lines(tmp_path / "chats.jsonl", [chat(2, 5)])
    with pytest.raises(TrainerError, match="0 pairs and 1 generative") as caught:
        prepared({**grit, "data": [str(only)], "generative_weight": 0.0})
    assert caught.value.kind == "nothing-to-train"
    with pytest.raises(TrainerError, match="no such file"):
        prepared({**grit, "data": [str(tmp_path / "absent.jsonl")]})


def test_the_command_trains_and_saves_a_model(grit: dict, tmp_path: Path, capsys) -> None:
    from trainer.__main__ import main

    config = tmp_path / "settings.json"
    config.write_text(json.dumps({**grit, "gradcache_chunk": 100, "max_steps": 2}))
    report = tmp_path / "report.json"
    assert main(["gritlm", "--config", str(config), "--report", str(report)]) == 0
    told = json.loads(report.read_text())
    assert told["outcome"] == "finished"
    assert told["data"]["pairs"] == 18
    assert all(np.isfinite(told["losses"]))
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()
    assert TINY["hidden_size"] == json.loads((tmp_path / "run" / "model" / "config.json").read_text())["hidden_size"]
