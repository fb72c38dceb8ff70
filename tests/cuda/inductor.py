"""torch.compile on the device that is not there: Dynamo, AOTAutograd and Inductor run as they would on the chip.

What they make is run too: products and attention by tensors without content, Triton's kernels as launches that are
noted. Their texts are kept, so that they can be compiled for the chip (`tests.cuda.cubins`).

What torch would capture as a CUDA graph is run as it is and counted as one; inputs that a graph would copy are not.

Three things are done on the host that Inductor does on the device: it learns its patterns there, folds constants there,
and takes its buffers from the device's allocator in C++. No driver is asked: nothing is loaded and nothing timed, so
that products of odd sizes are never padded here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch._inductor.compile_fx as compile_fx
from torch._dynamo.callback import callback_handler
from torch._dynamo.device_interface import CudaInterface
from torch._inductor import utils
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.debug import DebugContext
from torch._inductor.fx_passes import joint_graph
from torch._inductor.runtime import hints
from torch.utils._python_dispatch import TorchDispatchMode

from tests.cuda.chips import Chip
from tests.cuda.device import Device
from tests.cuda.watch import Watch

HOST = torch.device("cpu")
Launched = Callable[[str, list[Any]], None]


class Driver:
    """Triton's driver, as far as code generation asks it."""

    def __init__(self, chip: Chip) -> None:
        from triton.backends.compiler import GPUTarget

        self.target = GPUTarget("cuda", 10 * chip.capability[0] + chip.capability[1], 32)

    def get_current_target(self) -> Any:
        return self.target

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def is_active(self) -> bool:
        return True


class OnTheHost(TorchDispatchMode):  # type: ignore[misc]
    """Tensors that would be made on a device are made on the host."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is not None:
            kwargs["device"] = HOST
        return func(*args, **kwargs)


class Kernel:
    """One that Inductor wrote. `run`: as its launcher is called."""

    def __init__(self, name: str, text: str, launched: Launched) -> None:
        self.name, self.text, self.launched = name, text, launched

    def run(self, *args: Any, **_: Any) -> None:
        self.launched(self.name, [value for value in args if isinstance(value, torch.Tensor)])


def _forget() -> None:
    """What Inductor remembers of the last chip: it takes one process for one device, and keeps what that has said."""
    for owner in (hints.DeviceProperties, utils):
        for value in list(vars(owner).values()):
            function = getattr(value, "__func__", value)
            if isinstance(function, functools._lru_cache_wrapper):
                function.cache_clear()


def prepared(device: Device) -> DebugContext:
    """Inductor and Triton take the pretended chip for the one they compile for."""
    _forget()
    chip = device.chip
    capability = 10 * chip.capability[0] + chip.capability[1]
    for owner in (CudaInterface, CudaInterface.Worker):
        owner.get_device_properties = staticmethod(lambda *_, **__: device.properties)
        owner.current_device = staticmethod(lambda: 0)
    CudaInterface.get_compute_capability = staticmethod(lambda *_: capability)
    CudaInterface.is_available = staticmethod(lambda: True)
    CudaInterface.is_triton_capable = staticmethod(lambda *_: True)
    CudaInterface.raise_if_triton_unavailable = staticmethod(lambda *_: None)
    import triton

    triton.runtime.driver.set_active(Driver(chip))
    return DebugContext()


@contextmanager
def compiling(device: Device, watch: Watch) -> Iterator[dict[str, str]]:
    """While this lasts torch.compile works for the pretended chip, and `watch` is told of launches. Texts of Triton's
    kernels by name, as they are made (a name that stands for several texts has a number behind it).
    """
    texts: dict[str, str] = {}

    def made(_: Any, name: str, text: str, device_str: str = "cuda") -> Kernel:
        number, key = 1, name
        while texts.setdefault(key, text) != text:
            number += 1
            key = f"{name}#{number}"
        return Kernel(name, text, watch.launched)

    def begins(_: Any) -> None:
        watch.compiling += 1

    def ends(_: Any) -> None:
        watch.compiling -= 1

    guards, fold, learn = torch._C._dynamo.guards, joint_graph.UniformValueConstantFolder.run, joint_graph.lazy_init

    def folded(graph: Any) -> Any:
        with OnTheHost():
            return fold(graph)

    def as_graph(model: Any, *_: Any, **__: Any) -> Any:
        def run(inputs: Any) -> Any:
            with watch.graph():
                return model(inputs)

        return run

    replaced: list[tuple[Any, str, Any]] = [
        (compile_fx, "cudagraphify", as_graph),
        (AsyncCompile, "triton", made),
        (joint_graph, "lazy_init", lambda *_: learn(HOST)),
        (joint_graph.UniformValueConstantFolder, "run", folded),
        (guards, "_empty_strided_cuda", _empty),
        (guards, "_reinterpret_tensor", _reinterpreted),
    ]
    prepared(device)
    with ExitStack() as held:
        # What was compiled before would be taken from a cache, and no text would come by. Whether products of odd sizes
        # are padded Inductor finds out by timing both.
        off = {"fx_graph_cache": False, "shape_padding": False}
        held.enter_context(torch._inductor.config.patch(compile_threads=1, **off))
        held.enter_context(torch._functorch.config.patch(enable_autograd_cache=False))
        held.callback(torch._dynamo.reset)
        torch._dynamo.reset()
        for owner, name, value in replaced:
            held.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)
        callback_handler.register_start_callback(begins)
        held.callback(callback_handler.remove_start_callback, begins)
        callback_handler.register_end_callback(ends)
        held.callback(callback_handler.remove_end_callback, ends)
        yield texts


def _empty(size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def _reinterpreted(tensor: torch.Tensor, size: Any, stride: Any, offset: int = 0) -> torch.Tensor:
    return torch.as_strided(tensor, size, stride, tensor.storage_offset() + offset)
