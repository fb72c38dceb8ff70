"""What the names and sizes say that an error of loading lists."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding

RULES = load_rules()
HEAD = "RuntimeError: Error(s) in loading state_dict for Net:\n"


def root_of(text: str) -> Finding | None:
    return diagnose(read(HEAD + text), no_target(), RULES).root_cause


def listed(which: str, *names: str) -> str:
    return f"\t{which} key(s) in state_dict: " + ", ".join(f'"{name}"' for name in names) + ".\n"


def size(name: str, stored: str, wanted: str) -> str:
    return (
        f"\tsize mismatch for {name}: copying a param with shape torch.Size([{stored}]) from checkpoint, "
        f"the shape in current model is torch.Size([{wanted}]).\n"
    )


NAMES = ("conv1.weight", "bn1.weight", "bn1.bias", "fc.weight")


@pytest.mark.parametrize(
    ("text", "said", "helps"),
    [
        (
            listed("Missing", *NAMES) + listed("Unexpected", *(f"module.{name}" for name in NAMES)),
            "names in the file begin with module.",
            "removeprefix('module.')",
        ),
        (
            listed("Missing", *(f"module.{name}" for name in NAMES)) + listed("Unexpected", *NAMES),
            "names in the model begin with module.",
            "'module.' + k",
        ),
        (
            listed("Missing", *NAMES) + listed("Unexpected", *(f"_orig_mod.{name}" for name in NAMES)),
            "torch.compile puts it there",
            "removeprefix('_orig_mod.')",
        ),
        (
            listed("Missing", *NAMES) + listed("Unexpected", *(f"base_model.model.{name}" for name in NAMES)),
            "PEFT puts it there",
            "removeprefix('base_model.model.')",
        ),
        (
            listed("Missing", "module.body.0.weight", "module.body.0.bias")
            + listed("Unexpected", "body.module.0.weight", "body.module.0.bias"),
            "a wrapper's part of the name",
            "replace('module.', '')",
        ),
        (
            listed("Missing", "ups.0.parametrizations.weight.original0", "ups.0.parametrizations.weight.original1")
            + listed("Unexpected", "ups.0.weight_g", "ups.0.weight_v"),
            "weight_norm",
            "save it anew",
        ),
        (
            listed("Unexpected", "text.embeddings.position_ids", "vision.embeddings.position_ids"),
            "since 4.31",
            "strict=False",
        ),
        (listed("Unexpected", "total_ops.x.total_ops", "layer1.total_params"), "thop", "strict=False"),
        (
            listed("Unexpected", "layers.0.q_proj.lora_A.weight", "layers.0.q_proj.lora_B.weight"),
            "holds LoRA adapters",
            "PeftModel.from_pretrained",
        ),
        (
            listed("Unexpected", "layers.0.mlp.up.weight.absmax", "layers.0.mlp.up.weight.quant_map"),
            "4 bits",
            "quantization_config",
        ),
        (
            listed("Missing", "layers.0.q_proj.weight") + listed("Unexpected", "layers.0.q_proj.qweight"),
            "GPTQ or AWQ",
            "gptqmodel",
        ),
        (size("model.embed_tokens.weight", "32005, 2048", "32000, 2048"), "32005 tokens", "embeddings(32005)"),
        (size("roi_heads.box_predictor.cls_score.weight", "81, 1024", "5, 1024"), "81 outputs", "strict=False"),
        (size("model.24.m.0.weight", "255, 128, 1, 1", "18, 128, 1, 1"), "255 outputs", "number of classes"),
        (size("pos_embed", "1, 197, 768", "1, 577, 768"), "another image size", "interpolate"),
        (size("layers.3.self_attn.q_proj.lora_A.default.weight", "16, 4096", "8, 4096"), "rank 16", "r=16"),
        (
            size("layers.3.self_attn.q_proj.lora_A.default.weight", "16, 5120", "16, 4096"),
            "another base model",
            "adapter_config.json",
        ),
        (size("layers.0.mlp.up_proj.weight", "8388608, 1", "4096, 4096"), "packed in 4 bits", "load_in_4bit"),
        (size("conv_in.weight", "320, 9, 3, 3", "320, 4, 3, 3"), "9 channels", "inpainting"),
    ],
)
def test_the_lists_are_read(text: str, said: str, helps: str) -> None:
    root = root_of(text)
    assert root is not None
    assert root.rule == "packages/checkpoint-keys"
    assert said in root.message
    assert helps in root.remedy.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        listed("Missing", "encoder.0.weight", "encoder.0.bias")
        + listed("Unexpected", "stem.conv.weight", "stem.bn.bias"),
        size("blocks.0.mlp.fc.weight", "3072, 768", "2048, 768"),
        size("layers.0.self_attn.q_proj.lora_A.weight", "8, 4096", "4096, 8"),
        size("layer1.0.conv1.weight", "64, 64, 3, 3", "32, 64, 3, 3") + size("fc.weight", "10, 512", "5, 512"),
    ],
)
def test_where_they_leave_it_open_the_general_row_speaks(text: str) -> None:
    root = root_of(text)
    assert root is not None
    assert (root.rule, root.subject) == ("packages/known-errors", "the checkpoint")
