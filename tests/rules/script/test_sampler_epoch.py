import pytest

from envdoctor.rules.script.sampler_epoch import sampler_epoch
from tests.rules.judging import silent
from tests.rules.script.scripts import LOOP, facts, found

SAMPLER = "from torch.utils.data import DistributedSampler\nsampler = DistributedSampler(data)\n"


def test_the_same_order_in_every_epoch() -> None:
    (finding,) = found(sampler_epoch, SAMPLER + LOOP)
    assert (finding.kind, finding.subject) == ("script-wrong", "train.py:2")


@pytest.mark.parametrize(
    "source",
    [
        SAMPLER + LOOP + "    sampler.set_epoch(epoch)\n",
        SAMPLER.replace("(data)", "(data, shuffle=False)") + LOOP,
        SAMPLER,
        LOOP,
    ],
)
def test_told_or_not_shuffled(source: str) -> None:
    assert silent(sampler_epoch, facts(source))
