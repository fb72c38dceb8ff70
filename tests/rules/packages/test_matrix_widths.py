"""Widths that are whole multiples of each other, inner widths alone, and attention that takes no packed sequences."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding
from envdoctor.rules.packages.matrix_widths import matrix_widths
from tests.rules.judging import findings, silent, skipped

RULES = load_rules()
WIDTHS = "RuntimeError: mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})"


def root_of(text: str) -> Finding:
    root = diagnose(read(text), no_target(), RULES).root_cause
    assert root is not None
    return root


def test_a_layer_for_several_outputs_joined() -> None:
    (found,) = findings(matrix_widths, Facts(messages=(WIDTHS.format(77, 1024, 4096, 3072),)))
    assert "the layer is exactly 4 times as wide as the input" in found.message
    (found,) = findings(matrix_widths, Facts(messages=(WIDTHS.format(77, 2048, 1024, 320),)))
    assert "the input is exactly 2 times as wide as the layer" in found.message


@pytest.mark.parametrize("sizes", [(77, 768, 1024, 320), (8, 64, 128, 10), (1, 512, 51_200, 10), (4, 512, 512, 8)])
def test_other_widths(sizes: tuple[int, ...]) -> None:
    assert silent(matrix_widths, Facts(messages=(WIDTHS.format(*sizes),)))


def test_nothing_said() -> None:
    assert skipped(matrix_widths, Facts())


def test_what_was_loaded_beside_it() -> None:
    text = f"Requested to load OneTextModel_\nRequested to load OtherDiffusion\n{WIDTHS.format(300, 1280, 2560, 640)}\n"
    found = root_of(text)
    assert found.rule == "packages/matrix-widths"
    assert "the log loads OneTextModel_, then OtherDiffusion" in found.message


_SIZE = (
    "size mismatch for {}: copying a param with shape torch.Size({}) from checkpoint, the shape in current model is "
    "torch.Size({})."
)


def test_the_inner_width_alone() -> None:
    lines = [
        _SIZE.format("stage.2.block.0.ffn.fc1.weight", [640, 320], [1280, 320]),
        _SIZE.format("stage.2.block.0.ffn.fc1.bias", [640], [1280]),
        _SIZE.format("stage.2.block.0.ffn.fc2.weight", [320, 640], [320, 1280]),
    ]
    found = root_of("\n".join(lines))
    assert "640 in the file, 1280 in the model; the other (320)" in found.message
    wide = [line.replace("320]", "384]", 1) for line in lines]  # the outer width differs as well
    assert "inner width" not in root_of("\n".join(wide)).message
    assert "inner width" not in root_of("\n".join(line.replace("ffn.fc", "attn.q") for line in lines)).message


@pytest.mark.parametrize("argument", ["cu_seqlens", "max_seqlen_q", "cu_seq_lens_k"])
def test_attention_that_is_handed_packed_sequences(argument: str) -> None:
    found = root_of(f"TypeError: GemmaEagerAttention.forward() got an unexpected keyword argument '{argument}'")
    assert found.subject == "attention"
    assert "flash_attention_2" in found.remedy.text


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: GemmaEagerAttention.forward() got an unexpected keyword argument 'padding_mask'",
        "TypeError: GemmaFlashAttention2.forward() got an unexpected keyword argument 'cu_seqlens'",
    ],
)
def test_attention_of_other_faults(text: str) -> None:
    assert "packed into one row" not in root_of(text).message
