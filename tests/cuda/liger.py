"""The child of `test_liger.py`: Liger's kernels computed by Triton's interpreter, and compiled for chips.

    python -m tests.cuda.liger numbers FAMILY ...   (with TRITON_INTERPRET=1)
    python -m tests.cuda.liger cubins CHIP ...

Prints one JSON line.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import torch

from tests.cuda.chips import CHIPS

CONFIG: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 48, "vocab_size": 64, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": None,
    "eos_token_id": 1,
}  # fmt: skip
WIDTH, HEADS, KEYS, HEAD = 8192, 32, 8, 64  # of a 1B model


def numbers(families: list[str]) -> dict[str, Any]:
    """By family: what was installed, and loss and gradients beside the model's own, on the CPU in float32."""
    from transformers import AutoConfig, AutoModelForCausalLM

    from tests.cuda.adapter import liger

    floats()
    found = {}
    for family in families:
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **CONFIG)).train()
        ids = torch.arange(20)[None] * 7 % 64
        before, state = _gradients(model, ids), torch.get_rng_state()
        with liger.install(model, torch.device("cpu"), torch.float32) as choice:
            kept = bool(torch.equal(state, torch.get_rng_state()))
            after = _gradients(model, ids)
        again = _gradients(model, ids)
        off = max(float((after[name] - right).abs().max() / right.abs().max()) for name, right in before.items())
        same = all(torch.equal(again[name], right) for name, right in before.items())
        found[family] = {
            "value": choice.value, "reason": choice.reason, "off": off, "restored": same, "random_state_kept": kept
        }  # fmt: skip
    return found


def planted() -> dict[str, Any]:
    """What is said of a gate that forgets the sigmoid, and of positions that are turned the other way."""
    import liger_kernel.ops as ops
    from transformers import AutoConfig, AutoModelForCausalLM

    from tests.cuda.adapter import liger

    floats()
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("llama", **CONFIG))
    turned = ops.LigerRopeFunction.apply
    ops.LigerSiLUMulFunction = SimpleNamespace(apply=lambda gate, up: gate * up)
    ops.LigerRopeFunction = SimpleNamespace(apply=lambda q, k, cos, sin: turned(q, k, cos, -sin))
    with liger.install(model, torch.device("cpu"), torch.float32) as choice:
        own = all("forward" not in vars(module) for module in model.modules())
    return {"value": choice.value, "reason": choice.reason, "own": own}


def floats() -> None:
    """The interpreter hands on a launch's fractions as Python has them; a launch makes them float32."""
    import numpy as np
    import triton.language as tl
    from triton.runtime import interpreter

    known = interpreter._implicit_cvt

    def converted(given: Any) -> Any:
        if isinstance(given, float):
            return tl.tensor(interpreter.TensorHandle(np.array([given], dtype=np.float32), tl.float32), tl.float32)
        return known(given)

    interpreter._implicit_cvt = converted


def _gradients(model: Any, ids: Any) -> dict[str, Any]:
    model.zero_grad()
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    return {"loss": loss.detach(), **{name: p.grad.clone() for name, p in model.named_parameters()}}


def cubins(chips: list[str]) -> dict[str, Any]:
    """By chip: bytes of the kernels' cubins in bfloat16 (float16 where the chip is older), by kernel."""
    import triton
    from liger_kernel.ops import rope, swiglu
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    gate = {"stride": "i32", "gate_multiplier": "fp32", "n_cols": WIDTH, "BLOCK_SIZE": WIDTH}
    turn = {
        **dict.fromkeys(("q_row_stride", "k_row_stride", "cos_row_stride", "sin_row_stride", "sl"), "i32"),
        "bs": 1, "cos_bs": 1, "n_qh": HEADS, "n_kh": KEYS, "hd": HEAD, "pad_n_qh": HEADS, "pad_n_kh": KEYS,
        "pad_hd": HEAD, "pad_rd": HEAD, "rd": HEAD, "BLOCK_SIZE": HEADS,
    }  # fmt: skip
    kernels = {
        "gate": (swiglu._swiglu_forward_kernel, gate), "gate back": (swiglu._swiglu_backward_kernel, gate),
        "turn": (rope._triton_rope, {**turn, "BACKWARD_PASS": False}),
        "turn back": (rope._triton_rope, {**turn, "BACKWARD_PASS": True}),
    }  # fmt: skip
    found: dict[str, Any] = {}
    for chip in chips:
        major, minor = CHIPS[chip].capability
        pointer = "*bf16" if major >= 8 else "*fp16"
        found[chip] = {}
        for name, (kernel, known) in kernels.items():
            types = {argument: known.get(argument, pointer) for argument in kernel.arg_names}
            signature = {arg: kind if isinstance(kind, str) else "constexpr" for arg, kind in types.items()}
            constants = {
                (place,): types[argument] for place, argument in enumerate(kernel.arg_names)
                if not isinstance(types[argument], str)
            }  # fmt: skip
            source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
            made = triton.compile(source, target=GPUTarget("cuda", 10 * major + minor, 32))
            found[chip][name] = len(made.asm["cubin"])
    return found


if __name__ == "__main__":
    what, *named = sys.argv[1:]
    print(json.dumps({"numbers": numbers, "cubins": cubins, "planted": lambda _: planted()}[what](named)))
