"""Sampling: the right distribution, the same answers however they are batched, and a file that survives kills."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from trainer.compute.oom import OutOfMemory
from trainer.errors import TrainerError
from trainer.options.settings import Settings, from_mapping
from trainer.tasks.answers.samples import Done, samples
from trainer.tasks.answers.sampling import Answer, Sampler, choose, plan

ALMOST_ONE = 1 - 2**-53  # the largest number numpy's generators return


def test_tokens_come_as_often_as_their_probabilities_say() -> None:
    scores = torch.tensor([[0.0, 1.0, -1.0, 2.0, -torch.inf]])
    count = 20_000
    chances = torch.from_numpy((np.arange(count) + 0.5) / count)  # an even grid: no noise but rounding
    for temperature in (0.5, 1.0, 2.0):
        found = torch.bincount(choose(scores.expand(count, -1), chances, temperature, 1.0), minlength=5) / count
        assert torch.allclose(found, torch.softmax(scores[0] / temperature, -1), atol=1e-4)
    nucleus = torch.bincount(choose(scores.expand(count, -1), chances, 1.0, 0.8), minlength=5) / count
    want = torch.softmax(scores[0], -1) * torch.tensor([0, 1, 0, 1, 0])  # 0.64 + 0.24 reach 0.8
    assert torch.allclose(nucleus, want / want.sum(), atol=1e-4)


@given(
    st.lists(st.lists(st.floats(-30, 30), min_size=7, max_size=7), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.3, 1.0, 7.0]),
    st.sampled_from([0.0, 0.5, 0.999, 1.0]),
    st.sampled_from([0.0, 0.5, ALMOST_ONE]),
)
@hypothesis_settings(max_examples=200, deadline=None)
def test_no_choice_leaves_the_nucleus_or_the_vocabulary(rows: list, temperature: float, top_p: float, at: float):
    scores = torch.tensor(rows)
    scores[:, 6] = -torch.inf
    chosen = choose(scores, torch.full((len(rows),), at, dtype=torch.float64), temperature, top_p)
    for row, token in zip(scores, chosen.tolist(), strict=True):
        likely = torch.softmax(row.double() / (temperature or 1.0), -1)
        assert token < 6
        if temperature == 0 or top_p == 0:
            assert row[token] >= row.max() - 1e-5  # closer ones are equal once they are probabilities in float32
        else:  # what is strictly likelier, by more than float32 rounds, does not reach top_p alone
            assert float(likely[likely > likely[token] * (1 + 1e-4)].sum()) <= top_p + 1e-5


def test_every_answer_is_planned_once_the_longest_first() -> None:
    prompts = [[1] * size for size in (3, 9, 1, 4)]
    batches = plan(prompts, Settings(samples_per_prompt=3, sample_batch=5))
    flat = [wanted for batch in batches for wanted in batch]
    assert [len(batch) for batch in batches] == [5, 5, 2]
    assert sorted((w.prompt, w.sample) for w in flat) == [(p, s) for p in range(4) for s in range(3)]
    assert [len(w.ids) for w in flat] == sorted((len(w.ids) for w in flat), reverse=True)


@pytest.fixture
def sampler(tiny: dict) -> Sampler:
    from transformers import AutoTokenizer

    values = {**tiny, "max_new_tokens": 6, "samples_per_prompt": 2, "sample_batch": 7}
    return Sampler(from_mapping(values, "test"), None, AutoTokenizer.from_pretrained(tiny["tokenizer"]))


PROMPTS = [[40 + n for n in range(size)] for size in (2, 11, 5, 3, 8)]


def collected(sampler: Sampler, batches: list, **more) -> list[Answer]:
    found = [answer for batch in batches for answer in sampler.answers(batch, **more)]
    return sorted(found, key=lambda answer: (answer.prompt, answer.sample))


def test_answers_do_not_depend_on_their_neighbours_or_the_cache(sampler: Sampler) -> None:
    batches = plan(PROMPTS, sampler.settings)
    together = collected(sampler, batches)
    alone = [[wanted] for batch in batches for wanted in batch]
    assert collected(sampler, alone) == together
    assert collected(sampler, alone, cache=False) == together
    assert len({answer.text for answer in together}) == 10  # random weights: no two alike
    assert {answer.tokens for answer in together} <= set(range(1, 7))
    sampler.settings = dataclasses.replace(sampler.settings, seed=1)
    assert not {answer.text for answer in collected(sampler, batches)} & {answer.text for answer in together}


def test_answers_are_the_same_with_a_cache_of_one_size(sampler: Sampler, monkeypatch) -> None:
    """Which pads the prompts to a multiple of tokens, so that their widths are few."""
    batches = plan(PROMPTS, sampler.settings)
    growing = collected(sampler, batches)
    sampler.settings = dataclasses.replace(sampler.settings, sampling_cache="static")
    seen, generate = [], sampler.model.generate

    def watched(ids, **more):
        seen.append((ids.shape[1], more["generation_config"].cache_implementation))
        return generate(ids, **more)

    monkeypatch.setattr(sampler.model, "generate", watched)
    assert collected(sampler, batches) == growing
    assert set(seen) == {(128, "static")}


def test_temperature_zero_is_what_transformers_generates(sampler: Sampler) -> None:
    sampler.settings = dataclasses.replace(sampler.settings, sampling_temperature=0.0, samples_per_prompt=1)
    for answer in collected(sampler, plan(PROMPTS, sampler.settings)):
        ids = torch.tensor([PROMPTS[answer.prompt]])
        made = sampler.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False)
        assert answer.text == sampler.tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True)


def test_an_answer_ends_at_an_end_token_and_only_then_is_finished(sampler: Sampler) -> None:
    batches = plan(PROMPTS, sampler.settings)
    assert not any(answer.finished for answer in collected(sampler, batches))
    sampler.ends = set(range(2048))
    ended = collected(sampler, batches)
    assert all(answer.finished and answer.tokens == 1 and answer.text == "" for answer in ended)


def test_a_batch_that_does_not_fit_is_halved_until_it_does(sampler: Sampler, monkeypatch) -> None:
    batches = plan(PROMPTS, sampler.settings)
    want = collected(sampler, batches)
    whole, sizes = sampler._generate, []

    def limited(batch, cache):
        sizes.append(len(batch))
        if len(batch) > room:
            raise OutOfMemory("out of memory")
        return whole(batch, cache)

    monkeypatch.setattr(sampler, "_generate", limited)
    room = 2
    assert collected(sampler, batches) == want
    assert max(sizes) == 7
    room = 0
    with pytest.raises(TrainerError) as caught:
        collected(sampler, batches)
    assert caught.value.kind == "out-of-memory"


def test_logits_that_are_not_numbers_are_told(sampler: Sampler) -> None:
    with torch.no_grad():
        sampler.model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(TrainerError, match="not numbers"):
        collected(sampler, plan(PROMPTS, sampler.settings))


def done(number: int) -> Done:
    return Done(number, [Answer(number, 0, 'a "quoted"\nanswer \ud800', 3, True)], 0.5, 0.25)


def test_what_was_appended_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "rft" / "samples.jsonl"
    for number in range(3):
        with samples(path, "me") as (found, append):
            assert found == [done(n) for n in range(number)]
            append(done(number))


def test_a_torn_end_is_cut_off_wherever_the_kill_came(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    with samples(path, "me") as (_, append):
        append(done(0))
        append(done(1))
    content = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(content) if byte == ord("\n")]
    for size in sorted({*range(0, len(content), 13), *ends, *(end - 1 for end in ends)}):
        path.write_bytes(content[:size])
        with samples(path, "me") as (found, append):
            assert found == [done(n) for n in range(max(0, sum(end <= size for end in ends) - 1))]
            for number in range(len(found), 2):
                append(done(number))
        assert path.read_bytes() == content


def test_files_that_cannot_be_gone_on_with_are_refused_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    with samples(path, "me") as (_, append):
        append(done(0))
        with pytest.raises(TrainerError, match="another run"), samples(path, "me"):
            pass
    content = path.read_bytes()
    with pytest.raises(TrainerError) as caught, samples(path, "you"):
        pass
    assert caught.value.kind == "other-run"
    path.write_bytes(content + b'{"batch": 1}\n' + content.splitlines(True)[1])
    with pytest.raises(TrainerError, match="line 3") as caught, samples(path, "me"):
        pass
    assert path.read_bytes().startswith(content)
    assert caught.value.kind == "damaged-samples"


def test_a_full_disk_is_told_and_the_batches_before_stay(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "samples.jsonl"

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with samples(path, "me") as (_, append):
        append(done(0))
        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(TrainerError, match="No space left"):
            append(done(1))
    monkeypatch.undo()
    with samples(path, "me") as (found, _):
        assert found[:1] == [done(0)]
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainerError), samples(tmp_path / "file" / "samples.jsonl", "me"):
        pass
    assert json.loads(path.read_text().splitlines()[0])["schema"] == 1
