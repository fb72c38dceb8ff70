"""The child that generates: Inductor's kernels for a layer's norm and SwiGLU on each chip, and cubins of them.

python -m tests.cuda.generated FOLDER CHIP... prints one JSON line.

Inductor lowers the traced forward and backward pass with the chip's properties; Triton compiles what comes out with the
ptxas that it brings. No driver is asked: kernels are neither loaded nor tuned.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch._dynamo.device_interface import CudaInterface
from torch._inductor.debug import DebugContext
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch.fx.experimental.proxy_tensor import make_fx

from tests.cuda.chips import CHIPS, Chip
from tests.cuda.device import Device, PretendMode

TOKENS, WIDTH, INNER = 4096, 2048, 8192


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


def layer(x: Any, norm: Any, gate: Any, up: Any, down: Any) -> Any:
    """RMSNorm and SwiGLU with the residual, in bfloat16 or float16 products as the chip has them."""
    half = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    with torch.autocast("cuda", half):
        hidden = norm * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))
        return x + F.linear(F.silu(F.linear(hidden, gate)) * F.linear(hidden, up), down)


def both_passes(x: Any, *weights: Any) -> Any:
    """The layer's output and the gradients of all its inputs."""
    inputs = [tensor.detach().requires_grad_() for tensor in (x, *weights)]
    out = layer(*inputs)
    return (out, *torch.autograd.grad(out.float().square().mean(), inputs))


def prepared(device: Device) -> DebugContext:
    """Inductor and Triton take the pretended chip for the one they compile for."""
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


def source_for(chip: Chip, device: Device) -> str:
    """Inductor's Python module for that chip."""
    device.appear(chip)
    debug = prepared(device)
    with PretendMode() as mode, torch.device("cuda"):
        x = torch.empty(1, TOKENS, WIDTH)
        shapes = ((WIDTH,), (INNER, WIDTH), (INNER, WIDTH), (WIDTH, INNER))
        given = [x, *(torch.empty(shape) for shape in shapes)]
        traced = make_fx(both_passes, select_decomp_table(), tracing_mode="real")(*given)
        lowering = GraphLowering(traced, shape_env=None, is_inference=True)
        with V.set_fake_mode(mode), V.set_graph_handler(lowering), V.set_debug_handler(debug):
            lowering.run(*given)
            code, _ = lowering.codegen()
    return str(getattr(code, "value", code))


def block(kernel: str, argument: str, arguments: list[str]) -> int:
    """A block size such as Inductor would try: about a thousand elements of each program."""
    if "_per_" in kernel:
        return 1  # a whole row by itself
    if "_red_" in kernel:
        return 1 if argument == "XBLOCK" else 1024
    return 32 if "YBLOCK" in arguments else 1024


def cubins(source: str, chip: Chip, folder: Path) -> dict[str, int]:
    """Bytes of the cubin of each Triton kernel in `source`."""
    import triton
    from triton.compiler import ASTSource

    found = {}
    for match in re.finditer(r"async_compile\.triton\('(\w+)', '''(.*?)'''", source, re.DOTALL):
        name, text = match[1], match[2].replace("triton_helpers.set_driver_to_gpu()", "")
        path = folder / f"{name}_{chip.capability[0]}{chip.capability[1]}.py"
        # Without the decorator that would load and tune it.
        path.write_text(re.sub(r"@triton_heuristics\.\w+\(.*?\n\)\n", "", text, flags=re.DOTALL), "utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        kernel = getattr(module, name)
        types = eval(re.search(r"'signature': (\{.*?\})", text)[1])  # type: ignore[index]
        constants = {
            (place,): block(name, argument, kernel.arg_names)
            for place, argument in enumerate(kernel.arg_names)
            if types.get(argument, "constexpr") == "constexpr"
        }
        signature = {argument: types.get(argument, "constexpr") for argument in kernel.arg_names}
        made = triton.compile(
            ASTSource(fn=kernel, signature=signature, constexprs=constants), target=Driver(chip).target
        )
        found[name] = len(made.asm["cubin"])
    return found


def main() -> None:
    """All chips that are named."""
    folder = Path(sys.argv[1])
    device = Device(lambda what: None)
    answer = {}
    for name in sys.argv[2:]:
        source = source_for(CHIPS[name], device)
        products = len(re.findall(r"extern_kernels\.\w*mm\w*\(", source))
        answer[name] = {"products": products, "cubins": cubins(source, CHIPS[name], folder)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
