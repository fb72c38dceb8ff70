"""The fast ways compute what the plain ones do: packing, accumulation, trained positions, chunked logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.trainer.running import gradients, prepare_run
from trainer.data.batches import pack, pad_rows
from trainer.errors import TrainerError
from trainer.model.losses import token_loss

DRAW = np.random.default_rng(3)
DOCUMENTS = [(DRAW.integers(5, 2000, size), DRAW.integers(0, 2, size)) for size in (7, 31, 2, 50, 18)]
for _, marks in DOCUMENTS:
    marks[-1] = 1


def close(left: dict, right: dict, tolerance: float = 1e-5) -> bool:
    return all(torch.allclose(left[name], right[name], rtol=1e-4, atol=tolerance) for name in left)


def test_packed_equals_padded_equals_alone(tiny: dict) -> None:
    """A packed row, padded batches under transformers' own attention, and single documents: same loss and gradients."""
    run = prepare_run(tiny)
    plain = prepare_run({**tiny, "packing": False, "head": "all"})
    assert plain.trainee.model.config._attn_implementation == "sdpa"
    plain.trainee.model.load_state_dict(run.trainee.model.state_dict())
    loss, grads = gradients(run, [pack(DOCUMENTS)])
    for way, batches in (
        (run, [pack([document]) for document in DOCUMENTS]),  # also: accumulation equals one large batch
        (run, [pack(DOCUMENTS[:2]), pack(DOCUMENTS[2:])]),
        (plain, [pad_rows(DOCUMENTS, 0)]),
        (plain, [pad_rows([document], 0) for document in DOCUMENTS]),
    ):
        other_loss, other_grads = gradients(way, batches)
        assert other_loss == pytest.approx(loss, abs=1e-5)
        assert close(grads, other_grads)
    run.trainee.held.close()


def test_a_document_does_not_see_its_neighbours(tiny: dict) -> None:
    run = prepare_run(tiny)
    first, other, last = DOCUMENTS[1], DOCUMENTS[3], DOCUMENTS[4]
    with torch.no_grad():
        after_first = run.trainee.hidden(pack([first, last]))[-len(last[0]) :]
        after_other = run.trainee.hidden(pack([other, last]))[-len(last[0]) :]
        before = run.trainee.hidden(pack([last, other]))[: len(last[0])]
    assert torch.allclose(after_first, after_other, atol=1e-5)
    assert torch.allclose(after_first, before, atol=1e-5)


def test_a_model_that_leaks_is_refused(tiny: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start-up probe notices when documents see each other, here because borders are withheld."""
    from trainer.model.attention import DocumentAttention

    honest = DocumentAttention.enter
    monkeypatch.setattr(
        DocumentAttention, "enter", lambda self, lengths, borders, causal=True: honest(self, (sum(lengths),), borders)
    )
    with pytest.raises(TrainerError, match="depend on its neighbours"):
        prepare_run(tiny)


def test_recomputation_gives_the_same_gradients(tiny: dict) -> None:
    plain, recomputing = prepare_run(tiny), prepare_run({**tiny, "recompute": True})
    batch = pack(DOCUMENTS)
    assert close(gradients(plain, [batch])[1], gradients(recomputing, [batch])[1], 1e-7)


def test_answering_for_sdpa_keeps_documents_apart() -> None:
    """The way taken under transformers without AttentionInterface: the model's own call is answered per document."""
    from trainer.model.attention import choose

    torch.manual_seed(0)
    attention, _ = choose("documents", torch.device("cpu"), torch.float32)
    query, key, value = (torch.randn(1, 4, 30, 8) for _ in range(3))
    sdpa = torch.nn.functional.scaled_dot_product_attention
    pieces = [tensor.split([10, 20], 2) for tensor in (query, key, value)]
    expected = torch.cat([sdpa(q, k, v, is_causal=True) for q, k, v in zip(*pieces, strict=True)], 2)
    attention.enter((10, 20), None)
    with attention.instead_of_sdpa():
        answer = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=None, is_causal=True)
        mask = torch.ones(30, 30, dtype=torch.bool)
        untouched = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    assert torch.allclose(answer, expected, atol=1e-6)
    assert torch.allclose(untouched, sdpa(query, key, value), atol=1e-6)
    assert torch.nn.functional.scaled_dot_product_attention is sdpa


def test_embedding_passes_see_the_whole_document(tiny: dict) -> None:
    """causal=False: an early state changes with a later token of its own document, and with nothing else."""
    run = prepare_run(tiny)
    first, last = DOCUMENTS[1], DOCUMENTS[4]
    changed = last[0].copy()
    changed[-1] += 1
    with torch.no_grad():
        plain = run.trainee.hidden(pack([first, last]), causal=False)
        other = run.trainee.hidden(pack([first, (changed, last[1])]), causal=False)
    assert torch.equal(plain[: len(first[0])], other[: len(first[0])])
    assert not torch.allclose(plain[len(first[0])], other[len(first[0])], atol=1e-5)


def test_chunked_loss_is_the_plain_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(37, 8, requires_grad=True), torch.randn(50, 8, requires_grad=True)
    targets = torch.randint(50, (37,))
    plain = token_loss(hidden, weight, targets, 0.1)
    expected = torch.autograd.grad(plain * 3, [hidden, weight])
    monkeypatch.setattr("trainer.model.losses.CHUNK_BYTES", 50 * 4 * 10)  # ten rows at a time
    chunked = token_loss(hidden, weight, targets, 0.1)
    found = torch.autograd.grad(chunked * 3, [hidden, weight])
    assert torch.allclose(plain, chunked, rtol=1e-5)
    for left, right in zip(expected, found, strict=True):
        assert torch.allclose(left, right, atol=1e-5)
