"""One process of several, the others pretended: torch's own fake backend, whose collectives do nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily


@contextmanager
def of_several(rank: int, world: int) -> Iterator[None]:
    """This process is number `rank` of `world`, each on a machine of its own."""
    if world == 1:
        yield
        return
    from accelerate.state import AcceleratorState
    from torch.distributed.fsdp._fully_shard import _fsdp_init
    from torch.testing._internal.distributed.fake_pg import FakeStore

    told = {
        "RANK": rank, "LOCAL_RANK": 0, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": 1, "MASTER_ADDR": "localhost",
        "MASTER_PORT": 1,
    }  # fmt: skip
    before, new_group = dict(os.environ), torch.distributed.new_group

    def fake_group(*args: Any, **kwargs: Any) -> Any:
        return new_group(*args, **{**kwargs, "backend": "fake"})

    os.environ.update({name: str(value) for name, value in told.items()})
    torch.distributed.new_group = fake_group  # type: ignore[assignment]
    torch.distributed.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    mesh = torch.distributed.device_mesh.init_device_mesh

    def meshed(*args: Any, **kwargs: Any) -> Any:
        with unset_fake_temporarily(), torch.utils._python_dispatch._disable_current_modes():
            return mesh(*args, **kwargs)

    torch.distributed.device_mesh.init_device_mesh = _fsdp_init.init_device_mesh = meshed
    ddp = torch.nn.parallel.distributed
    ddp._verify_param_shape_across_processes = lambda *_: None
    ddp._sync_module_states = lambda **_: None
    wrap = ddp.DistributedDataParallel.__init__

    def wrapped(module: Any, *args: Any, **kwargs: Any) -> None:
        wrap(module, *args, **kwargs)
        module.register_comm_hook(None, _reduced)
        module.reducer = _SameBuckets(module.reducer)

    ddp.DistributedDataParallel.__init__ = wrapped  # type: ignore[method-assign]
    try:
        yield
    finally:
        ddp.DistributedDataParallel.__init__ = wrap  # type: ignore[method-assign]
        torch.distributed.new_group = new_group
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        AcceleratorState._reset_state(reset_partial_state=True)
        os.environ.clear()
        os.environ.update(before)


def _reduced(state: Any, bucket: torch.distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """DDP's default exchange of one bucket, done at once: work of the fake backend has no result to wait for."""
    done: Any = torch.futures.Future()
    torch.distributed.all_reduce(bucket.buffer())
    done.set_result(bucket.buffer())
    return done


class _SameBuckets:
    """DDP's reducer, which after the first step would agree with the others on new buckets, in the order in which
    gradients came: numbers that are not there. The first ones stay.
    """

    def __init__(self, reducer: Any) -> None:
        self._reducer = reducer

    def _rebuild_buckets(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reducer, name)
