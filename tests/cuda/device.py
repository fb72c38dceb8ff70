"""A CUDA device that is not there, as torch sees it. Runs in the child, before the trainer is imported.

The C++ side is answered by the preloaded library (`stubs/device.c`), the Python side here. What a program would wait
for is told to `Device.waits`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch._subclasses import fake_tensor

from tests.cuda.chips import Chip

COUNT = 8  # devices; torch's guard that does nothing says 8, and the autograd engine compares


class PretendMode(fake_tensor.FakeTensorMode):
    """Tensors without content on a device without driver."""

    # torch's own answer is that a device which is available may be initialised.
    avoid_device_init = property(lambda self: True)  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(allow_non_fake_inputs=True)


class Event:
    """What torch.cuda.Event is to a program: something to record and to ask for times."""

    alive: ClassVar[weakref.WeakSet[Event]] = weakref.WeakSet()
    device: ClassVar[Device]

    def __init__(self, *_: Any, **__: Any) -> None:
        Event.alive.add(self)

    def record(self, *_: Any) -> None:
        """Into a stream that is not there."""

    def wait(self, *_: Any) -> None:
        """One stream for another; no host waits."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        return 1.0

    def synchronize(self) -> None:
        Event.device.waits("Event.synchronize")


class Stream:
    """One of the device's queues."""

    stream_id = device_index = cuda_stream = 0
    device_type = 1
    device = torch.device("cuda", 0)

    def __init__(self, *_: Any, **__: Any) -> None:
        """All streams are one."""

    def record_event(self, event: Any = None) -> Event:
        return event or Event()

    def wait_event(self, event: Any) -> None:
        """On the device."""

    def wait_stream(self, stream: Any) -> None:
        """On the device."""

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None:
        Event.device.waits("Stream.synchronize")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        """The current stream again."""


class Device:
    """The device. `waits` is called with the name of whatever would make the host wait."""

    def __init__(self, waits: Callable[[str], None]) -> None:
        self.waits = waits
        self.chip: Chip
        self._library = ctypes.CDLL(os.environ["LD_PRELOAD"])
        torch.cuda.is_available()  # asked once for real, while the answer is still no
        torch._C._ensureCUDADeviceGuardSet()
        self._answer()

    def appear(self, chip: Chip) -> None:
        """From now on the device is such a chip."""
        self.chip = chip
        memory = ctypes.c_ulonglong(chip.memory)
        self._library.pretend(COUNT, chip.name.encode(), *chip.capability, chip.multiprocessors, memory)

    @property
    def properties(self) -> Any:
        """torch.cuda.get_device_properties, as far as anybody asks."""
        major, minor = self.chip.capability
        return SimpleNamespace(
            name=self.chip.name, major=major, minor=minor, multi_processor_count=self.chip.multiprocessors,
            total_memory=self.chip.memory, warp_size=32, gcnArchName="", L2_cache_size=50 << 20,
            regs_per_multiprocessor=65536, max_threads_per_multi_processor=self.chip.threads,
            max_threads_per_block=1024,
            shared_memory_per_block=48 << 10, shared_memory_per_block_optin=self.chip.shared,
            shared_memory_per_multiprocessor=self.chip.shared + (1 << 10), uuid="GPU-0", pci_bus_id=0,
        )  # fmt: skip

    def _answer(self) -> None:
        Event.device = self
        state, stream = torch.zeros(16, dtype=torch.uint8), Stream()
        answers: dict[str, Any] = {
            "is_available": lambda: True,
            "is_initialized": lambda: True,
            "_lazy_init": lambda: None,
            "init": lambda: None,
            "device_count": lambda: COUNT,
            "current_device": lambda: 0,
            "set_device": lambda *_: None,
            "get_device_name": lambda *_: self.chip.name,
            "get_device_capability": lambda *_: self.chip.capability,
            "get_device_properties": lambda *_: self.properties,
            "is_bf16_supported": lambda *_, **__: self.chip.capability >= (8, 0),
            "mem_get_info": lambda *_: (self.chip.memory, self.chip.memory),
            "get_rng_state": lambda *_: state.clone(),
            "set_rng_state": lambda *_: None,
            "manual_seed": lambda *_: None,
            "manual_seed_all": lambda *_: None,
            "empty_cache": lambda: None,
            "synchronize": lambda *_: self.waits("cuda.synchronize"),
            "is_current_stream_capturing": lambda: False,
            "current_stream": lambda *_: stream,
            "default_stream": lambda *_: stream,
            "stream": lambda *_: stream,
            "device": lambda *_: contextlib.nullcontext(),
            "Stream": Stream,
            "Event": Event,
            "reset_peak_memory_stats": lambda *_: None,
            **{name: lambda *_: 0 for name in ("memory_reserved", "max_memory_reserved", "memory_allocated")},
            "max_memory_allocated": lambda *_: 0,
        }
        for name, answer in answers.items():
            if not hasattr(torch.cuda, name):
                raise AttributeError(f"torch.cuda has no {name} any more")
            setattr(torch.cuda, name, answer)
        # FSDP2 asks here once it has gathered what no backward pass came for: an embedding that stays as it is.
        # Another function than torch.cuda's: Dynamo keeps a table by them.
        torch.accelerator.current_stream = lambda *_: stream
        fake_tensor.init_gpu_context = lambda device: None
        torch.nn.Module._apply = _apply  # type: ignore[method-assign]
        torch.Tensor.pin_memory = _pin_memory  # type: ignore[method-assign]
        torch.Tensor.record_stream = lambda self, stream: None  # type: ignore[method-assign]


def _apply(module: Any, change: Any, recurse: bool = True) -> Any:
    """torch.nn.Module._apply with new parameters in place of changed ones: tensors without content refuse torch's ways
    of changing one in place. One tensor after the other, so that no more is alive than there; ties stay ties.
    """
    places: dict[int, list[tuple[dict[str, Any], str]]] = {}
    for owner in module.modules() if recurse else [module]:
        for kind in (owner._parameters, owner._buffers):
            for name, tensor in kind.items():
                if tensor is not None:
                    places.setdefault(id(tensor), []).append((kind, name))
    for found in places.values():
        kind, name = found[0]
        tensor = kind[name]
        with torch.no_grad():
            changed = change(tensor.detach())
        if isinstance(tensor, torch.nn.Parameter):
            changed = torch.nn.Parameter(changed, tensor.requires_grad)
        for kind, name in found:
            kind[name] = changed
    return module


def _pin_memory(tensor: Any, *_: Any) -> Any:
    """The same tensor, marked: a copy from it does not wait."""
    pinned = tensor.view_as(tensor)
    pinned.is_page_locked = True
    return pinned
