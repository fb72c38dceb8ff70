"""Pretraining from shards: what a row predicts, the plan, bit-exact resuming, presets and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.trainer.conftest import WORDS, write_lines
from tests.trainer.data.test_shards import TEXTS, flipped, shards_of, truncated
from tests.trainer.running import same, weights
from trainer import loop
from trainer.checkpoints import save
from trainer.checkpoints.resume import restore
from trainer.compute.optimizer import Stepper
from trainer.data.shardrows import rows_of_documents
from trainer.errors import TrainerError
from trainer.measure.history import History
from trainer.measure.measurement import Stopwatch
from trainer.model.build import build
from trainer.model.fitting import settle
from trainer.options.settings import from_mapping
from trainer.state import Run
from trainer.tasks.pretrain import Pretrain


@pytest.fixture
def plain(tiny: dict, tmp_path: Path) -> dict:
    """40 texts in four shards; rows of 32 tokens, two in a micro-batch."""
    folder = shards_of(tiny, tmp_path / "shards", shard_tokens=250)
    return {**tiny, "data": [str(folder)], "tokens_per_row": 32, "examples_per_batch": 2}


def prepared(values: dict):
    return Pretrain().prepare(from_mapping(values, "test"), None)


def run_of(values: dict) -> Run:
    settings = from_mapping(values, "test")
    data, trainee = Pretrain().prepare(settings, None), build(settings, None)
    settings, steps = settle(settings, trainee, data, print)
    return Run(
        settings=settings, task=Pretrain(), trainee=trainee, prepared=data,
        stepper=Stepper(trainee.model, trainee.device, settings), stopwatch=Stopwatch(trainee.device),
        history=History(5), total_steps=steps, epochs=settings.epochs,
    )  # fmt: skip


def test_a_row_predicts_the_next_token_and_never_a_document_s_first() -> None:
    row, places = np.array([5, 6, 1, 7, 8, 9, 1, 4, 3]), np.array([3, 7])  # two whole ends and the begin of a third
    apart = rows_of_documents([(row, places), (row + 10, places)], separate=True)
    assert apart.lengths == (3, 4, 1, 3, 4, 1)
    assert apart.borders.tolist() == [0, 3, 7, 8, 11, 15, 16]
    assert apart.inputs["position_ids"].tolist() == [[0, 1, 2, 0, 1, 2, 3, 0] * 2]
    assert apart.inputs["input_ids"][0, :8].tolist() == row[:-1].tolist()
    assert apart.positions.tolist() == [0, 1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15]
    assert apart.targets.tolist()[:6] == [6, 1, 8, 9, 1, 3]
    one = rows_of_documents([(row, places), (row + 10, places)], separate=False)
    assert one.lengths == (8, 8)
    assert one.targets.tolist() == [*row[1:].tolist(), *(row[1:] + 10).tolist()]
    assert one.inputs["position_ids"].tolist() == [[*range(8)] * 2]


def test_an_epoch_is_every_row_once_in_an_order_from_the_seed_alone(plain: dict) -> None:
    source, other = prepared(plain).source, prepared(plain).source
    assert len(source.shards) > 2

    def rows(of, epoch: int) -> list:
        steps = [of.step(epoch, index) for index in range(of.steps_in(epoch))]
        return [row.tolist() for (batch,) in steps for row in batch.inputs["input_ids"].reshape(-1, 32)]

    found = rows(source, 0)
    expected = [
        shard.ids[low : low + 32].tolist() for shard in source.shards for low in range(0, len(shard.ids) - 32, 32)
    ]
    assert len(found) == source.rows
    assert sorted(found) == sorted(expected)
    other.step(1, 0)
    assert rows(other, 0) == found
    assert rows(source, 1) != found != expected
    assert rows(prepared({**plain, "seed": 1}).source, 0) != found


@pytest.mark.parametrize("separate", [True, False])
def test_packed_rows_equal_documents_computed_alone(plain: dict, separate: bool) -> None:
    run = run_of({**plain, "separate_documents": separate})
    (batch,) = run.prepared.source.step(0, 0)
    with torch.no_grad():
        together = run.trainee.hidden(batch)
        low = 0
        for length in batch.lengths:
            ids = batch.inputs["input_ids"][:, low : low + length]
            alone = rows_of_documents([(np.append(ids[0].numpy(), 0), np.zeros(0, int))], False)
            assert torch.allclose(together[low : low + length], run.trainee.hidden(alone), atol=1e-5)
            low += length
    assert (len(batch.lengths) > 2) is separate


def test_plain_batches_under_transformers_attention_have_the_same_loss(plain: dict) -> None:
    values = {**plain, "separate_documents": False}
    run, other = run_of(values), run_of({**values, "packing": False, "attention": "model"})
    other.trainee.model.load_state_dict(run.trainee.model.state_dict())
    (packed,), (rows,) = run.prepared.source.step(0, 0), other.prepared.source.step(0, 0)
    assert rows.inputs["input_ids"].shape == (2, 32)
    losses = [float(Pretrain().loss(r.trainee, b, r.settings, 1.0).detach()) for r, b in ((run, packed), (other, rows))]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("stop_after", [1, 3, 9])
def test_resuming_gives_the_same_bits(plain: dict, tmp_path: Path, stop_after: int) -> None:
    values = {**plain, "epochs": 2, "accumulate": 2}
    whole = run_of(values)
    loop.train(whole, [])
    assert len(whole.history.losses) > 10 > whole.prepared.source.steps_in(0) - 2
    first = run_of(values)
    first.saver = save.Saver(tmp_path / "c", 2)
    loop.train(first, [lambda counts, run: run.position.step == stop_after])
    second = run_of(values)
    folder, _ = save.newest(tmp_path / "c")
    loop.train(second, [], restore(second, *save.read(folder)))
    assert first.history.losses + second.history.losses == whole.history.losses
    assert same(weights(second), weights(whole))


def test_presets() -> None:
    figures = {
        name: (s.examples_per_batch, s.accumulate, s.checkpoint_every, s.checkpoint_blocking, s.pretokenize)
        for name in ("test", "production", "before")
        for s in [from_mapping({}, "test", name, "pretrain")]
    }
    assert figures == {
        "test": (2, 2, 200, False, True),
        "production": (4, 8, 500, False, True),
        "before": (1, 1, 50, True, False),
    }
    with pytest.raises(TrainerError, match="unknown preset 'production'") as caught:
        from_mapping({}, "test", "production", "sft")
    assert "production (pretrain)" in caught.value.remedy


def test_the_preset_before_tokenises_whole_texts_in_the_loop(plain: dict, tmp_path: Path) -> None:
    texts = write_lines(tmp_path / "t.jsonl", [{"text": text} for text in TEXTS])
    values = {**plain, "data": [str(texts)]}
    values.pop("examples_per_batch")
    settings = from_mapping(values, "test", "before", "pretrain")
    data = Pretrain().prepare(settings, None)
    assert data.source.steps_in(0) == len(TEXTS)
    (batch,) = data.source.step(0, 0)
    assert batch.slots <= 32
    assert torch.isfinite(Pretrain().loss(build(settings, None), batch, settings, 1.0))


def test_other_tokenizer(plain: dict, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "tokenizer"
    shutil.copytree(plain["tokenizer"], folder)
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["merges"].pop()
    path.write_text(json.dumps(content))
    with pytest.raises(TrainerError, match="prepared with another tokenizer") as caught:
        prepared({**plain, "tokenizer": str(folder)})
    assert caught.value.kind == "other-tokenizer"


@pytest.mark.parametrize(("damage", "said"), [(truncated, "11 bytes instead of"), (flipped, "another sha256")])
def test_damaged_shards(plain: dict, damage, said: str) -> None:
    damage(Path(plain["data"][0]))
    with pytest.raises(TrainerError, match=said):
        prepared(plain)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data": []}, "no data"),
        ({"data": ["absent"]}, "absent is not a folder of token shards"),
        ({"tokens_per_row": 100_000}, "no shard has a row of tokens_per_row"),
        ({"packing": False, "attention": "model"}, "cannot keep their documents apart"),
    ],
)
def test_settings_that_cannot_be_met(plain: dict, change: dict, said: str) -> None:
    with pytest.raises(TrainerError, match=said) as caught:
        prepared({**plain, **change})
    assert caught.value.remedy


def test_texts_are_prepared_once_and_give_the_steps_of_their_shards(
    plain: dict, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"text": " ".join(WORDS[n % 7 :]) * (1 + n % 3)} for n in range(40)]
    texts = write_lines(tmp_path / "t.jsonl", rows)
    values = {**plain, "cache": str(tmp_path / "cache"), "data": [str(texts)]}
    first = prepared(values)
    assert "t.jsonl" in capsys.readouterr().err
    again = prepared(values)
    assert not capsys.readouterr().err  # nothing is made twice
    [folder] = [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]
    shards = prepared({**values, "data": [str(folder)]})
    assert first.identity == again.identity == shards.identity
    assert first.facts["examples"] == 40
    for one, other in zip(first.source.step(0, 0), shards.source.step(0, 0), strict=True):
        assert torch.equal(one.inputs["input_ids"], other.inputs["input_ids"])
    write_lines(tmp_path / "t.jsonl", rows[:30])  # another content is other shards
    assert prepared(values).facts["examples"] == 30


def test_the_command_learns_and_writes_checkpoints(plain: dict, tmp_path: Path) -> None:
    from trainer.__main__ import main

    config = tmp_path / "settings.json"
    values = {**plain, "epochs": 4, "learning_rate": 1e-2, "checkpoint_every": 5, "checkpoint_blocking": True}
    config.write_text(json.dumps(values))
    report = tmp_path / "report.json"
    assert main(["pretrain", "--config", str(config), "--report", str(report)]) == 0
    told = json.loads(report.read_text())
    assert told["losses"][-1] < 0.6 * told["losses"][0]
    assert told["data"]["tokens_left_out"] < 32 * told["data"]["shards"]
    names = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert names == [
        f"step-{step:08d}" for step in sorted({told["steps"], told["steps"] // 5 * 5, told["steps"] - 5})[-2:]
    ]
