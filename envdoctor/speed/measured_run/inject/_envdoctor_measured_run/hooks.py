"""The hooks into torch: waits for a DataLoader's batch, backward passes, optimizer steps.

Nothing here may ever stop the training: an error inside a hook ends the measuring, and is told in the record.
"""

from __future__ import annotations

import functools
import os

from .process_state import describe_loader
from .watcher import Watcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def begin(torch: Any, folder: str) -> None:
    """Put the hooks into a freshly imported torch."""
    watcher = Watcher(torch, folder)
    try:
        _watch_loaders(watcher)
        _watch_backward(torch, watcher)
        _watch_optimizers(watcher)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=watcher.lines.fork_begins,
                after_in_parent=watcher.lines.fork_ended,
                after_in_child=watcher.forked,
            )
    except Exception as error:  # noqa: BLE001 - a torch of another shape is not measured; the program runs as ever
        watcher.failed(error)


def _watch_loaders(watcher: Watcher) -> None:
    from torch.utils.data import dataloader

    base, loader = dataloader._BaseDataLoaderIter, dataloader.DataLoader
    next_batch, new_iterator = base.__next__, loader.__iter__

    def begins() -> bool:
        try:
            return watcher.data_begins()
        except Exception as error:  # noqa: BLE001 - a fault of ours is told in the record, and the training goes on
            watcher.failed(error)
            return False

    def ended(counted: bool, batch: Any) -> None:
        try:
            watcher.data_ended(counted, batch)
        except Exception as error:  # noqa: BLE001 - a fault of ours is told in the record, and the training goes on
            watcher.failed(error)

    @functools.wraps(next_batch)
    def timed_next(self: Any) -> Any:
        counted = begins()
        batch = None
        try:
            batch = next_batch(self)
            return batch
        finally:
            ended(counted, batch)

    @functools.wraps(new_iterator)
    def timed_iter(self: Any) -> Any:
        counted = begins()
        try:
            return new_iterator(self)
        finally:
            ended(counted, None)
            if counted and id(self) not in watcher.loaders:
                try:
                    watcher.loaders[id(self)] = describe_loader(self)
                except Exception as error:  # noqa: BLE001 - a fault of ours is told in the record, and the training goes on
                    watcher.failed(error)

    _keep_out_of_graphs(timed_next, timed_iter)
    base.__next__ = timed_next
    loader.__iter__ = timed_iter


def _watch_backward(torch: Any, watcher: Watcher) -> None:
    backward = torch.autograd.backward

    @functools.wraps(backward)
    def timed_backward(*arguments: Any, **options: Any) -> Any:
        try:
            watcher.backward_begins(arguments[0] if arguments else options.get("tensors"))
        except Exception as error:  # noqa: BLE001 - a fault of ours is told in the record, and the training goes on
            watcher.failed(error)
        try:
            return backward(*arguments, **options)
        finally:
            try:
                watcher.backward_ended()
            except Exception as error:  # noqa: BLE001 - a fault of ours is told in the record, and the training goes on
                watcher.failed(error)

    _keep_out_of_graphs(timed_backward)
    torch.autograd.backward = timed_backward


def _watch_optimizers(watcher: Watcher) -> None:
    from torch.optim import optimizer as optimizers

    def before(*_: Any) -> None:
        try:
            watcher.step_begins()
        except Exception as error:  # noqa: BLE001 - a fault of ours is told in the record, and the training goes on
            watcher.failed(error)

    def after(optimizer: Any, *_: Any) -> None:
        try:
            watcher.step_ended(optimizer)
        except Exception as error:  # noqa: BLE001 - a fault of ours is told in the record, and the training goes on
            watcher.failed(error)
        if watcher.stopped:
            # As sys.exit() in the script itself would end it: `finally` and atexit run, launchers see exit code 0.
            # All ranks make the same steps, so none is left waiting in a collective.
            raise SystemExit(0)

    _keep_out_of_graphs(before, after)
    optimizers.register_optimizer_step_pre_hook(before)
    optimizers.register_optimizer_step_post_hook(after)


def _keep_out_of_graphs(*functions: Callable[..., Any]) -> None:
    """What torch.compile meets of these it calls, and does not trace."""
    for function in functions:
        vars(function)["_torchdynamo_disable"] = True
