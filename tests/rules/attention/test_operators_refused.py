import pytest

from envdoctor.facts.pasted import read
from envdoctor.rules.attention.flash_unavailable import flash_unavailable
from envdoctor.rules.attention.operators_refused import operators_refused
from tests.rules.judging import findings, silent, skipped

HEAD = (
    "NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:\n"
    "     query       : shape=(2, 77, 8, 40) (torch.float16)\n"
)


@pytest.mark.parametrize(
    ("listing", "kind", "words"),
    [
        (
            "`fa2F@2.5.7-pt` is not supported because:\n    device=cpu (supported: {'cuda'})\n"
            "`cutlassF` is not supported because:\n    device=cpu (supported: {'cuda'})\n"
            "`smallkF` is not supported because:\n    max(query.shape[-1] != value.shape[-1]) > 32\n",
            "gpu-not-visible",
            "on the CPU",
        ),
        (
            "`fa2F@0.0.0` is not supported because:\n    xFormers wasn't build with CUDA support\n"
            "`cutlassF` is not supported because:\n    xFormers wasn't build with CUDA support\n"
            "    operator wasn't built - see `python -m xformers.info` for more info\n",
            "extension-binary-missing",
            "not there",
        ),
        (
            "`fa3F@0.0.0` is not supported because:\n"
            "    requires device with capability < (8, 0) but your GPU has capability (12, 0) (too new)\n"
            "`cutlassF-pt` is not supported because:\n"
            "    requires device with capability < (9, 0) but your GPU has capability (12, 0) (too new)\n",
            "no-kernels-for-gpu",
            "compute capability",
        ),
        (
            "`fa3F@0.0.0` is not supported because:\n"
            "    requires device with capability > (9, 0) but your GPU has capability (8, 9) (too old)\n"
            "    operator wasn't built - see `python -m xformers.info` for more info\n"
            "`cutlassF-pt` is not supported because:\n    attn_bias.stride(-2) % 8 != 0\n"
            "    HINT: slice a bigger tensor\n",
            "script-wrong",
            "stride(-2) % 8",
        ),
    ],
)
def test_the_reason_that_counts(listing: str, kind: str, words: str) -> None:
    facts = read(HEAD + listing)
    (found,) = findings(operators_refused, facts)
    assert (found.kind, words in found.message) == (kind, True)
    assert silent(flash_unavailable, facts)  # it would say less
    assert not any("wasn't built" in line or "too old" in line for line in facts.messages)


def test_all_of_it_in_one_line() -> None:
    facts = read(
        "NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs: query : "
        "shape=(1, 4, 1, 8) `cutlassF` is not supported because: device=cpu (supported: {'cuda'}) `flshattF` is not "
        "supported because: device=cpu (supported: {'cuda'}) Operator wasn't built - see `python -m xformers.info` "
        "for more info triton is not available\n"
    )
    (found,) = findings(operators_refused, facts)
    assert found.kind == "gpu-not-visible"


def test_nothing_listed() -> None:
    assert skipped(operators_refused, read(HEAD))
