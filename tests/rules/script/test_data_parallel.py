from envdoctor.rules.script.data_parallel import data_parallel
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found


def test_one_process_for_all() -> None:
    (finding,) = found(data_parallel, "from torch import nn\nmodel = nn.DataParallel(model)\n")
    assert (finding.kind, finding.subject) == ("script-slow", "train.py:2")
    assert finding.remedy.commands == ("torchrun --nproc_per_node=gpu train.py",)


def test_one_process_each() -> None:
    assert silent(data_parallel, facts("from torch.nn.parallel import DistributedDataParallel as DDP\nDDP(model)\n"))
