"""Weights of another kind of net, or of another vocabulary."""

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose

HEAD = "RuntimeError: Error(s) in loading state_dict for Net:\n"
MISMATCH = "\\tsize mismatch for {}: copying a param "
OLD = MISMATCH + "of torch.Size([{}]) from checkpoint, where the shape is torch.Size([{}]) in current model.\\n"
NEW = MISMATCH + "with shape torch.Size([{}]) from checkpoint, the shape in current model is torch.Size([{}]).\\n"


def said(text: str) -> str:
    root = diagnose(read(HEAD + text), no_target(), load_rules()).root_cause
    assert root is not None
    return f"{root.message} {root.remedy.text}"


@pytest.mark.parametrize("wording", [OLD, NEW, OLD.replace("checkpoint, where", "checkpoint, , where")])
def test_a_vocabulary(wording: str) -> None:
    text = (
        wording.format("embed.0.weight", "1200, 512", "9000, 512")
        + wording.format("logit.weight", "1200, 512", "9000, 512")
        + wording.format("logit.bias", "1200", "9000")
    )
    assert "1200 entries in the file and 9000 in the model" in said(text)
    assert "vocabulary" in said(text)


def test_a_last_layer_alone_is_no_vocabulary() -> None:
    text = OLD.format("conf.0.weight", "84, 512, 3, 3", "8, 512, 3, 3") + OLD.format("conf.0.bias", "84", "8")
    assert "vocabulary" not in said(text)


def test_blocks_of_the_other_kind_of_resnet() -> None:
    deeper = said(
        '\tMissing key(s) in state_dict: "layer1.0.conv3.weight", "layer1.0.bn3.weight", "layer1.2.conv1.weight".\n'
    )
    assert "ResNet-18, which has two blocks" in deeper
    assert "resnet18 or resnet34" in deeper
    shallower = said(
        '\tUnexpected key(s) in state_dict: "backbone.layer2.0.conv3.weight", "backbone.layer2.0.bn3.bias".\n'
    )
    assert "resnet50, 101 or 152" in shallower


def test_a_whole_block_that_is_missing_is_depth() -> None:
    names = ", ".join(f'"layer3.{n}.{part}.weight"' for n in (6, 7) for part in ("conv1", "conv2", "conv3"))
    text = said(f"\tMissing key(s) in state_dict: {names}.\n")
    assert "it has more of them than the file" in text
    assert "Bottleneck" not in text
