"""InfoNCE, pooling, GradCache and gathering against plain computations of the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import trainer
from tests.trainer.conftest import TINY
from trainer.data.pairs import PairBatch, chunks, pool_documents
from trainer.model.build import build
from trainer.model.contrastive import embed_rows, info_nce, mean_pooled
from trainer.options.settings import from_mapping
from trainer.tasks.gritlm import Gritlm

DRAW = np.random.default_rng(5)
SIZES = (7, 31, 2, 50, 18, 9, 24)
DOCUMENTS = [(DRAW.integers(5, 2000, size), DRAW.integers(0, 2, size)) for size in SIZES]
for _, marks in DOCUMENTS:
    marks[-1] = 1
GPT2 = {
    "model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 2048, "n_positions": 256,
    "attn_pdrop": 0.0, "resid_pdrop": 0.2, "embd_pdrop": 0.2,
}  # fmt: skip


def trainee(tmp_path: Path, config: dict, **values):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    common = {"model_config": str(path), "device": "cpu", "threads": 1, "precision": "float32"}
    settings = from_mapping({**common, **values}, "test")
    return build(settings, None), settings


def batch_of(rows: list, queries: int = 3) -> PairBatch:
    """The first documents are queries; each is answered by the one `queries` places later, and the last is extra."""
    return PairBatch(tuple(rows), queries, torch.arange(queries), factor=1.0 / queries)


def gradients(model_run, settings, batch: PairBatch) -> tuple[float, dict]:
    model_run.model.zero_grad(set_to_none=True)
    loss = Gritlm().loss(model_run, batch, settings, 1.0)
    loss.backward()
    return float(loss.detach()), {
        n: p.grad.clone() for n, p in model_run.model.named_parameters() if p.grad is not None
    }


def close(left: dict, right: dict) -> bool:
    """To 1e-4, or to 1e-5 of the tensor's largest value: rounding is that of the sums, which are as large as it."""
    return left.keys() == right.keys() and all(
        torch.allclose(left[n], right[n], rtol=1e-4, atol=1e-5 * float(right[n].abs().max())) for n in left
    )


def test_info_nce_is_what_it_says() -> None:
    queries, passages = torch.randn(2, 6), torch.randn(5, 6)
    expected = 0.0
    for query, target in zip(queries, (3, 1), strict=True):
        cosines = [float(query @ p / query.norm() / p.norm()) / 0.1 for p in passages]
        expected += float(np.log(np.exp(cosines).sum())) - cosines[target]
    assert float(info_nce(queries, passages, torch.tensor([3, 1]), 0.1)) == pytest.approx(expected, rel=1e-5)


def test_the_mean_is_over_counted_tokens_of_each_document_alone(tmp_path: Path) -> None:
    """Packed, padded under transformers' own attention, and one by one: the same vectors; instructions do not count."""
    run, _ = trainee(tmp_path, TINY)
    plain, _ = trainee(tmp_path, TINY, packing=False, attention="model")
    plain.model.load_state_dict(run.model.state_dict())
    with torch.no_grad():
        row = pool_documents(DOCUMENTS, None)
        together = mean_pooled(run.hidden(row.batch, causal=False), row)
        padded = pool_documents(DOCUMENTS, 0)
        wide = mean_pooled(plain.hidden(padded.batch, causal=False), padded)
        for index, (ids, mark) in enumerate(DOCUMENTS):
            mask = torch.ones(1, 1, len(ids), len(ids), dtype=torch.bool)
            states = plain.model.get_decoder()(input_ids=torch.from_numpy(ids)[None], attention_mask=mask)
            alone = states.last_hidden_state[0][torch.from_numpy(mark).bool()].mean(0)
            assert torch.allclose(together[index], alone, atol=1e-5)
            assert torch.allclose(wide[index], alone, atol=1e-5)


def test_embedding_reads_both_ways_and_generating_one_way(tmp_path: Path) -> None:
    run, _ = trainee(tmp_path, TINY)
    ids, marks = DOCUMENTS[1]
    other = ids.copy()
    other[-1] += 1
    with torch.no_grad():
        for causal in (True, False):
            first, second = (
                run.hidden(pool_documents([(x, marks)], None).batch, causal=causal)[0] for x in (ids, other)
            )
            assert torch.equal(first, second) is causal


@pytest.mark.parametrize("budget", [20, 40, 64])
def test_gradcache_gives_the_gradients_of_the_whole_batch(tmp_path: Path, budget: int) -> None:
    run, settings = trainee(tmp_path, TINY, gradcache_chunk=budget)
    whole = gradients(run, settings, batch_of([pool_documents(DOCUMENTS, None)]))
    rows = [pool_documents(part, None) for part in chunks(DOCUMENTS, budget)]
    assert len(rows) > 1
    assert sum(len(row.counts) for row in rows) == len(DOCUMENTS)
    cached = gradients(run, settings, batch_of(rows))
    assert cached[0] == pytest.approx(whole[0], rel=1e-5)
    assert close(cached[1], whole[1])
    assert max(float(g.abs().max()) for g in whole[1].values()) > 1e-3


def test_gradcache_repeats_dropout(tmp_path: Path) -> None:
    """The same rows with their graphs kept draw the same masks; forgetting to put the states back is noticed."""
    run, settings = trainee(tmp_path, GPT2, gradcache_chunk=40)
    rows = [pool_documents(part, None) for part in chunks(DOCUMENTS, 40)]
    kept = from_mapping({"gradcache_chunk": 0}, "test")
    results = []
    for choice in (kept, settings):
        torch.manual_seed(11)
        results.append((*gradients(run, choice, batch_of(rows)), torch.rand(1)))
    (plain_loss, plain, plain_next), (loss, cached, following) = results
    assert loss == pytest.approx(plain_loss, rel=1e-6)
    assert close(cached, plain)
    assert torch.equal(following, plain_next)  # and the run goes on from where the forward pass left the generator
    torch.manual_seed(12)
    assert not close(gradients(run, settings, batch_of(rows))[1], plain)


def test_gradcache_under_autocast_and_recomputation(tmp_path: Path) -> None:
    run, settings = trainee(tmp_path, TINY, gradcache_chunk=40, precision="bfloat16", recompute=True)
    plain, kept = trainee(tmp_path, TINY, precision="bfloat16")
    plain.model.load_state_dict(run.model.state_dict())
    rows = [pool_documents(part, None) for part in chunks(DOCUMENTS, 40)]
    loss, cached = gradients(run, settings, batch_of(rows))
    expected, whole = gradients(plain, kept, batch_of(rows))
    assert loss == pytest.approx(expected, rel=1e-5)
    assert all(torch.allclose(cached[n], whole[n], rtol=0.05, atol=0.02 * float(whole[n].abs().max())) for n in whole)


def test_chunks_keep_the_order_and_the_budget() -> None:
    for budget in (1, 7, 33, 60, 1000):
        parts = chunks(DOCUMENTS, budget)
        assert [len(ids) for part in parts for ids, _ in part] == list(SIZES)
        assert all(len(part) == 1 or sum(len(ids) for ids, _ in part) <= budget for part in parts)


def test_embedding_without_chunks_is_one_pass() -> None:
    rows = [pool_documents(DOCUMENTS, None)]
    seen = []
    vectors = embed_rows(rows, lambda row: seen.append(row) or torch.ones(len(row.counts), 4), again=False)
    assert vectors.shape == (len(DOCUMENTS), 4)
    assert seen == rows


PROGRAM = """
import sys, torch, torch.distributed as dist
from pathlib import Path
from tests.trainer.model.test_contrastive import DOCUMENTS, TINY, trainee
from trainer.data.pairs import PairBatch
from trainer.data.pairs import chunks, pool_documents
from trainer.tasks.gritlm import Gritlm

rank, folder, budget = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + sys.argv[2] + "/meet", rank=rank, world_size=2)
own = folder / str(rank)
own.mkdir()
run, settings = trainee(own, TINY, gradcache_chunk=budget)
# rank 0: queries 0 and 1 with passages 3, 4, 6 (hard negative); rank 1: query 2 with passage 5
documents, targets = (([0, 1, 3, 4, 6], [0, 1]), ([2, 5], [3]))[rank]
rows = [pool_documents(part, None) for part in chunks([DOCUMENTS[i] for i in documents], budget)]
batch = PairBatch(tuple(rows), len(targets), torch.tensor(targets), 1.0 / 3, passages=(3, 1))
loss = Gritlm().loss(run, batch, settings, 1.0)
loss.backward()
grads = {name: p.grad for name, p in run.model.named_parameters()}
for value in (total := loss.detach().clone(), *grads.values()):
    dist.all_reduce(value)
    value /= 2  # what DDP and FSDP2 do
if rank == 0:
    torch.save({"loss": total, "grads": grads}, folder / "joined.pt")
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, 40])
def test_two_processes_give_the_gradients_of_one_with_the_joined_batch(tmp_path: Path, budget: int) -> None:
    root = Path(trainer.__file__).parent.parent
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(rank), str(tmp_path), str(budget)], cwd=root, stderr=subprocess.PIPE
        )
        for rank in (0, 1)
    ]
    errors = [child.communicate(timeout=180)[1].decode() for child in children]
    assert [child.returncode for child in children] == [0, 0], errors
    run, settings = trainee(tmp_path, TINY)
    order = [0, 1, 2, 3, 4, 6, 5]
    batch = PairBatch((pool_documents([DOCUMENTS[i] for i in order], None),), 3, torch.tensor([0, 1, 3]), 1.0 / 3)
    loss, expected = gradients(run, settings, batch)
    found = torch.load(tmp_path / "joined.pt", weights_only=True)
    assert float(found["loss"]) == pytest.approx(loss, rel=1e-5)
    assert close(found["grads"], expected)
