"""The child that counts a decoder layer both ways: as it runs operator by operator, and as Inductor compiles it.

python -m tests.cuda.compiled SHAPE:TOKENS:RANK... prints one JSON line: by set-up and way, kernels of both passes,
bytes that those move which are no products and no attention (thin products are), and the products.

Both passes are lowered as one graph, with the attention operator within it as the trainer's compiled layers have it.
AOTAutograd cuts that graph in two and keeps or computes again what lies on the cut; that is not in the bytes.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import ExitStack
from typing import Any

import torch
from torch._functorch.compile_utils import fx_graph_cse
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch.fx.experimental.proxy_tensor import make_fx

from tests.cuda.chips import CHIPS
from tests.cuda.device import Device, PretendMode
from tests.cuda.inductor import prepared
from tests.cuda.setups import SHAPES
from tests.cuda.watch import THIN, Watch


def layer_of(
    shape: str, tokens: int, rank: int, narrow: bool, compiled: bool, held: ExitStack
) -> tuple[Any, list[Any], list[Any]]:
    """(function of inputs and weights to the output, inputs, weights): a decoder layer as the trainer has it."""
    from peft import LoraConfig, inject_adapter_in_model
    from transformers import AttentionInterface, AutoConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

    from tests.cuda import adapter

    values = dict(SHAPES[shape])
    config = AutoConfig.for_model(values.pop("model_type"), **values)
    attention = adapter.traceable(tokens)
    AttentionInterface.register("counted", attention.trace)
    config._attn_implementation = "counted"
    layer = LlamaDecoderLayer(config, 0)
    turning = LlamaRotaryEmbedding(config)
    if rank:
        layer.requires_grad_(False)
        names = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
        inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=names), layer)
        adapter.hold_frozen(layer, fused=narrow)
    layer, turning = layer.to("cuda"), turning.to("cuda")
    dtype = torch.bfloat16 if narrow else torch.float32
    states = torch.empty(1, tokens, config.hidden_size, dtype=dtype, device="cuda")
    if narrow:
        held.enter_context(adapter.narrow_layer(layer, compiled))
    places = torch.zeros(1, tokens, dtype=torch.int64, device="cuda")
    cos, sin = turning(states, places)
    names = [name for name, weight in layer.named_parameters() if weight.requires_grad]
    known = dict(layer.named_parameters())

    def computed(states: Any, borders: Any, *weights: Any) -> Any:
        attention.borders = borders
        with torch.autocast("cuda", torch.bfloat16):
            given = (states,)
            options = {"position_embeddings": (cos, sin), "attention_mask": None, "use_cache": False}
            out = torch.func.functional_call(layer, dict(zip(names, weights, strict=True)), given, options)
        return out[0] if isinstance(out, tuple) else out

    return computed, [states, attention.borders], [known[name] for name in names]


def both_passes(computed: Any) -> Any:
    """Output and gradients."""

    def run(states: Any, borders: Any, gradient: Any, *weights: Any) -> Any:
        inputs = [tensor.detach().requires_grad_() for tensor in (states, *weights)]
        out = computed(inputs[0], borders, *inputs[1:])
        return (out, *torch.autograd.grad(out, inputs, gradient))

    return run


def counted(shape: str, tokens: int, rank: int, narrow: bool, compiled: bool, device: Device) -> dict[str, Any]:
    """Kernels and bytes of one layer."""
    with PretendMode() as mode, ExitStack() as held:
        computed, inputs, weights = layer_of(shape, tokens, rank, narrow, compiled, held)
        given = [*inputs, torch.empty_like(inputs[0]), *(weight.detach() for weight in weights)]
        run = both_passes(computed)
        if not compiled:
            watch = Watch()
            watch.phase, watch.packed_attention = "step", lambda backward: 0.0
            held.enter_context(watch)
            run(*given)
            step = watch.now
            return {"kernels": step.kernels, "other_bytes": step.other_bytes, "small": step.small}
        traced = make_fx(run, select_decomp_table(), tracing_mode="real")(*given)
        traced.graph = fx_graph_cse(traced.graph)  # as AOTAutograd does before it hands on a graph
        traced.recompile()
        lowering = GraphLowering(traced, shape_env=None, is_inference=True)
        with V.set_fake_mode(mode), V.set_graph_handler(lowering), V.set_debug_handler(prepared(device)):
            lowering.run(*given)
            code, _ = lowering.codegen()
            _, nodes, _ = lowering.count_bytes()
            moved = sum(4 * size for node, size in nodes if _is_moving(node, 4 * size))  # Inductor counts them in fours
        text = str(getattr(code, "value", code))
        triton = len(re.findall(r"^\s*triton_\w+\.run\(", text, re.MULTILINE))
        extern = len(
            re.findall(r"^\s*(?:\w+ = )?(?:extern_kernels\.\w+|torch\.ops\.torch_attn\.[\w.]+)\(", text, re.MULTILINE)
        )
        return {"kernels": triton + extern, "other_bytes": moved, "small": 0, "triton": triton, "extern": extern}


def _is_moving(node: Any, size: int) -> bool:
    """Is this node's time that of its bytes? As `watch.Watch` has it."""
    if not node.is_extern():
        return True
    flops = node.estimate_flops()
    return flops is not None and 0 < flops < THIN * size


def main() -> None:
    """All set-ups that are named."""
    device = Device(lambda what: None)
    device.appear(CHIPS["H100"])
    answer = {}
    for word in sys.argv[1:]:
        shape, tokens, rank = word.split(":")
        ways = {"before": (False, False), "eager": (True, False), "compiled": (True, True)}
        answer[word] = {
            way: counted(shape, int(tokens), int(rank), narrow, compiled, device)
            for way, (narrow, compiled) in ways.items()
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
