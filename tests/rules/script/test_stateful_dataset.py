import pytest

from envdoctor.rules.script.stateful_dataset import stateful_dataset
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found

BODY = """\
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
class Rows(Dataset):
    def __init__(self):
        self.seen = 0
        self.file = None
    def __len__(self):
        return 10
    def __getitem__(self, index):
        {line}
        return index
loader = DataLoader(Rows(), num_workers={workers})
"""
STREAM = """\
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
class Stream(IterableDataset):
    def __iter__(self):
        {line}
        yield from range(10)
loader = DataLoader(Stream(), num_workers=2)
"""


@pytest.mark.parametrize("line", ["self.seen += 1", "self.seen = index", "self.order.append(index)", "self.rows.pop()"])
def test_each_worker_changes_its_own_copy(line: str) -> None:
    (finding,) = found(stateful_dataset, BODY.format(line=line, workers=4))
    assert (finding.kind, finding.subject) == ("script-wrong", "train.py:9")


@pytest.mark.parametrize(
    ("line", "workers"),
    [
        ("self.seen += 1", 0),
        ("row = self.rows[index]", 4),
        ("if self.file is None: self.file = open('x')", 4),
        ("self.cache[index] = index", 4),
        ("found = []; found.append(index)", 4),
    ],
)
def test_no_shared_state(line: str, workers: int) -> None:
    assert silent(stateful_dataset, facts(BODY.format(line=line, workers=workers)))


def test_a_stream_that_every_worker_repeats() -> None:
    (finding,) = found(stateful_dataset, STREAM.format(line="start = 0"))
    assert "every example comes 2 times" in finding.message


def test_a_stream_that_is_divided() -> None:
    assert silent(stateful_dataset, facts(STREAM.format(line="info = get_worker_info()")))
