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
    try:
        yield
    finally:
        torch.distributed.new_group = new_group
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        AcceleratorState._reset_state(reset_partial_state=True)
        os.environ.clear()
        os.environ.update(before)
