import pytest

from envdoctor.rules.script.loader_without_workers import loader_without_workers
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found

DATASET = """\
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __init__(self, rows, tokenizer):
        self.rows, self.tokenizer = rows, tokenizer
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        return self.tokenizer(self.rows[index], truncation=True)
"""
COLLATE = """\
import torch
def collate(rows):
    return tokenizer([row["text"] for row in rows], padding=True, return_tensors="pt")
"""


@pytest.mark.parametrize(
    "source",
    [
        DATASET + "train = Rows(rows, tokenizer)\nloader = DataLoader(train, batch_size=8)\n",
        DATASET + "loader = DataLoader(Rows(rows, tokenizer), batch_size=8, num_workers=0)\n",
        COLLATE + "loader = torch.utils.data.DataLoader(rows, batch_size=8, collate_fn=collate)\n",
        "from torch.utils.data import DataLoader\n"
        "DataLoader(rows, collate_fn=lambda r: tokenizer(r, return_tensors='pt'))\n",
        DATASET.replace("self.tokenizer(self.rows[index], truncation=True)", "self.tokenizer.encode(self.rows[index])")
        + "DataLoader(dataset=Rows(rows, tokenizer))\n",
    ],
)
def test_prepared_while_the_gpu_waits(source: str) -> None:
    (finding,) = found(loader_without_workers, source)
    assert finding.kind == "script-slow"
    assert "num_workers=4" in finding.remedy.commands[0]


@pytest.mark.parametrize(
    "source",
    [
        DATASET + "loader = DataLoader(Rows(rows, tokenizer), batch_size=8, num_workers=4)\n",
        DATASET + "loader = DataLoader(Rows(rows, tokenizer), batch_size=8, num_workers=args.workers)\n",
        DATASET + "loader = DataLoader(Rows(rows, tokenizer), **options)\n",
        "from torch.utils.data import DataLoader\nDataLoader(tokenised, batch_size=8)\n",
        COLLATE.replace("tokenizer(", "stack(") + "DataLoader(rows, collate_fn=collate)\n",
        "from torch.utils.data import DataLoader\nfrom transformers import DataCollatorWithPadding\n"
        "DataLoader(tokenised, collate_fn=DataCollatorWithPadding(tokenizer))\n",
    ],
)
def test_nothing_heavy_or_workers(source: str) -> None:
    assert silent(loader_without_workers, facts(source))
