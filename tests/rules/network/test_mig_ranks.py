import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.rules.network.mig_ranks import mig_ranks
from tests.rules.judging import findings, silent

DIVIDED = Gpus(devices=(Gpu(index=0, name="NVIDIA A100", mig=True),))


@pytest.mark.parametrize(
    "variables", [{"WORLD_SIZE": "2"}, {"CUDA_VISIBLE_DEVICES": "MIG-aaaa,MIG-bbbb"}, {"LOCAL_WORLD_SIZE": "7"}]
)
def test_several_ranks_on_slices(variables: dict[str, str]) -> None:
    (finding,) = findings(mig_ranks, Facts(gpus=DIVIDED, variables=variables))
    assert (finding.kind, finding.subject) == ("config-mismatch", "MIG")


def test_one_rank_or_whole_gpus() -> None:
    assert silent(mig_ranks, Facts(gpus=DIVIDED, variables={"WORLD_SIZE": "1"}))
    assert silent(mig_ranks, Facts(gpus=DIVIDED))
    whole = Gpus(devices=tuple(Gpu(index=i, name="NVIDIA A100", mig=False) for i in range(2)))
    assert silent(mig_ranks, Facts(gpus=whole, variables={"WORLD_SIZE": "2"}))
