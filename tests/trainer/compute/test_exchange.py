"""Gradients exchanged while the last backward pass runs: in one order, whatever each process's passes reach."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.multiprocessing as processes

from trainer.compute import exchange
from trainer.compute.exchange import Exchange

CASES = ("plain", "idle", "again", "bfloat16", "unused")


def model() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(4)))


def one_of_two(rank: int, folder: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    exchange.BUCKET_BYTES = 300  # one matrix and its bias each
    found = {}
    for case in CASES:
        net = model()
        dtype = torch.bfloat16 if case == "bfloat16" else torch.float32
        group = Exchange(list(net.parameters()), 2, dtype)
        assert len(group.buckets) == (2 if case == "bfloat16" else 4)
        x = torch.linspace(-1, 1, 8)[None] * (rank + 1)

        def passed(last: bool, part: torch.nn.Module, group=group, x=x) -> None:
            if last:
                group.arm()
            try:
                part(x).square().sum().backward()
            finally:
                group.disarm()

        passed(False, net)
        if case == "again" and rank == 0:  # memory runs out in the last pass, which is repeated whole
            group.arm()
            handle = net[1].weight.register_hook(lambda _: (_ for _ in ()).throw(RuntimeError("out of memory")))
            with pytest.raises(RuntimeError):
                net(x).square().sum().backward()
            handle.remove()
            group.disarm()
            assert 0 < group._next < 4, "some are on their way, some are not"
            net.zero_grad(set_to_none=True)
            passed(False, net)
        if case == "unused" and rank == 1:
            passed(True, net[:2])
        elif case != "idle" or rank == 0:
            passed(True, net)
        group.finish()
        found[case] = [p.grad.clone() for p in net.parameters()]
    torch.save(found, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def expected(case: str) -> list[torch.Tensor]:
    total = None
    for rank in range(2):
        net = model()
        x = torch.linspace(-1, 1, 8)[None] * (rank + 1)
        net(x).square().sum().backward()
        if case == "unused" and rank == 1:
            net[:2](x).square().sum().backward()
        elif case != "idle" or rank == 0:
            net(x).square().sum().backward()
        grads = [p.grad for p in net.parameters()]
        total = grads if total is None else [a + b for a, b in zip(total, grads, strict=True)]
    assert total is not None
    return [gradient / 2 for gradient in total]


def test_two_processes_have_the_mean_of_their_gradients(tmp_path: Path) -> None:
    processes.spawn(one_of_two, (str(tmp_path),), nprocs=2)
    both = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    for case in CASES:
        tolerance = {"rtol": 2e-2, "atol": 1e-2} if case == "bfloat16" else {"rtol": 1e-5, "atol": 1e-6}
        for left, right, wanted in zip(both[0][case], both[1][case], expected(case), strict=True):
            assert torch.equal(left, right), case
            assert torch.allclose(left, wanted, **tolerance), case
