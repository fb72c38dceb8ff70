"""Weights by the config against the counts that are published of real models. The sizes are theirs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from envdoctor.errors import Trouble
from envdoctor.models.architecture import NotKnown, of_config
from envdoctor.models.families import FAMILIES


def sizes(hidden: int, layers: int, heads: int, keys: int, inner: int, words: int, **more: Any) -> dict[str, Any]:
    return {
        "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": keys,
        "intermediate_size": inner, "vocab_size": words, **more,
    }  # fmt: skip


TIED: dict[str, Any] = {"tie_word_embeddings": True}
# As the models' pages on the Hub say it, from the headers of their safetensors files.
PUBLISHED: dict[str, tuple[str, dict[str, Any], int]] = {
    "GPT-2": (
        "gpt2", {"n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}, 124_439_808,
    ),
    "GPT-2 XL": (
        "gpt2", {"n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024, "vocab_size": 50257}, 1_557_611_200,
    ),
    "OPT-125M": (
        "opt",
        {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "ffn_dim": 3072, "vocab_size": 50272,
         "max_position_embeddings": 2048},
        125_239_296,
    ),
    "Llama-2 7B": ("llama", sizes(4096, 32, 32, 32, 11008, 32000), 6_738_415_616),
    "Llama-3 8B": ("llama", sizes(4096, 32, 32, 8, 14336, 128256), 8_030_261_248),
    "Llama-3 70B": ("llama", sizes(8192, 80, 64, 8, 28672, 128256), 70_553_706_496),
    "Llama-3.2 1B": ("llama", sizes(2048, 16, 32, 8, 8192, 128256, head_dim=64, **TIED), 1_235_814_400),
    "SmolLM2 135M": ("llama", sizes(576, 30, 9, 3, 1536, 49152, **TIED), 134_515_008),
    "Mistral 7B": ("mistral", sizes(4096, 32, 32, 8, 14336, 32000), 7_241_732_096),
    "Qwen2.5 0.5B": ("qwen2", sizes(896, 24, 14, 2, 4864, 151936, **TIED), 494_032_768),
    "Qwen2.5 7B": ("qwen2", sizes(3584, 28, 28, 4, 18944, 152064), 7_615_616_512),
    "Qwen3 0.6B": ("qwen3", sizes(1024, 28, 16, 8, 3072, 151936, head_dim=128, **TIED), 596_049_920),
    "Qwen3 8B": ("qwen3", sizes(4096, 36, 32, 8, 12288, 151936, head_dim=128), 8_190_735_360),
    "Phi-3 mini": ("phi3", sizes(3072, 32, 32, 32, 8192, 32064), 3_821_079_552),
    "Phi-2": ("phi", sizes(2560, 32, 32, 32, 10240, 51200), 2_779_683_840),
    "Gemma 2B": ("gemma", sizes(2048, 18, 8, 1, 16384, 256000, head_dim=256), 2_506_172_416),
    "Gemma 2 2B": ("gemma2", sizes(2304, 26, 8, 4, 9216, 256000, head_dim=256), 2_614_341_888),
    "OLMo 2 7B": ("olmo2", sizes(4096, 32, 32, 32, 11008, 100352), 7_298_617_344),
    "StarCoder2 3B": ("starcoder2", sizes(3072, 30, 24, 2, 12288, 49152), 3_030_371_328),
    "Pythia 410M": ("gpt_neox", sizes(1024, 24, 16, 16, 4096, 50304), 405_334_016),
    "Mixtral 8x7B": (
        "mixtral", sizes(4096, 32, 32, 8, 14336, 32000, num_local_experts=8, num_experts_per_tok=2), 46_702_792_704,
    ),
    "Qwen3 30B-A3B": (
        "qwen3_moe",
        sizes(2048, 48, 32, 4, 6144, 151936, head_dim=128, num_experts=128, num_experts_per_tok=8,
              moe_intermediate_size=768),
        30_532_122_624,
    ),
    "OLMoE 1B-7B": (
        "olmoe", sizes(2048, 16, 16, 16, 1024, 50304, num_experts=64, num_experts_per_tok=8), 6_919_161_856,
    ),
    "Qwen1.5 MoE A2.7B": (
        "qwen2_moe",
        sizes(2048, 24, 16, 16, 5632, 151936, num_experts=60, num_experts_per_tok=4, moe_intermediate_size=1408,
              shared_expert_intermediate_size=5632),
        14_315_784_192,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_weights_are_those_that_were_published(name: str) -> None:
    family, config, count = PUBLISHED[name]
    assert of_config({"model_type": family, **config}, Path("config.json")).parameters.total == count


def test_a_token_meets_a_part_of_the_experts_only() -> None:
    family, config, _ = PUBLISHED["Mixtral 8x7B"]
    found = of_config({"model_type": family, **config}, Path("config.json")).parameters
    assert found.active == 12_879_925_248


@pytest.mark.parametrize(
    "family", ["llama", "qwen2", "qwen3", "phi3", "gemma", "olmo2", "starcoder2", "gpt_neox", "gpt2"]
)
def test_weights_are_those_of_the_model_that_transformers_builds(family: str) -> None:
    """Also with biases and odd widths, which no published model has."""
    torch = pytest.importorskip("torch")
    from transformers import AutoConfig, AutoModelForCausalLM

    config: dict[str, Any] = sizes(48, 3, 6, 6 if family in ("gpt_neox", "gpt2") else 2, 112, 331, pad_token_id=0)
    if family in ("llama", "qwen3", "olmo2"):
        config["attention_bias"] = True
    if family == "gpt2":
        config = {"n_embd": 48, "n_layer": 3, "n_head": 6, "n_positions": 64, "vocab_size": 331, "n_inner": 100}
    made = AutoConfig.for_model(family, **config)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(made)
    written = json.loads(made.to_json_string())
    assert of_config(written, Path("config.json")).parameters.total == sum(p.numel() for p in model.parameters())


def test_adapters_are_counted_as_the_trainer_adds_them(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from trainer.model.build import build
    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    for family in ("llama", "phi3"):
        config = {"model_type": family, **sizes(32, 2, 4, 2, 48, 128, pad_token_id=0, bos_token_id=None)}
        (tmp_path / "config.json").write_text(json.dumps(config))
        values = {"model_config": str(tmp_path / "config.json"), "device": "cpu", "lora_rank": 8, "threads": 1}
        settings = from_mapping({**values, "precision": "float32"}, "test")
        trainee = build(settings, None)
        with trainee.held:
            Sft().adapt(trainee, settings)
            count = sum(p.numel() for p in trainee.model.parameters() if p.requires_grad)
        assert of_config(config, tmp_path).adapters(8) == count, family


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"hidden_size": "big"}, "hidden_size: 'big' is not a whole number"),
        ({"hidden_size": None}, "hidden_size: is not there"),
        ({"num_hidden_layers": 0}, "num_hidden_layers: 0 is not"),
        ({"vocab_size": True}, "vocab_size: True is not"),
        ({"num_hidden_layers": 10**12}, "num_hidden_layers"),
        ({"num_key_value_heads": 5}, "32 heads cannot share 5 keys"),
        ({"hidden_size": 4097}, "4097 cannot be shared by 32 heads"),
        ({"tie_word_embeddings": "yes"}, "neither true nor false"),
        ({"model_type": 3}, "says no model_type"),
    ],
)
def test_a_broken_config_is_told_by_its_field(change: dict[str, Any], says: str) -> None:
    family, config, _ = PUBLISHED["Llama-3 8B"]
    with pytest.raises(Trouble, match=re.escape(says)) as error:
        of_config({"model_type": family, **config, **change}, Path("c.json"))
    assert error.value.exit_code == 2
    assert error.value.file == "c.json"


def test_an_unknown_family_is_not_guessed() -> None:
    with pytest.raises(NotKnown, match="'qwen33' is no family") as error:
        of_config({"model_type": "qwen33"}, Path("c.json"))
    assert error.value.exit_code == 3
    assert "Did you mean qwen3?" in error.value.remedy
    assert all(family in error.value.remedy for family in FAMILIES)
