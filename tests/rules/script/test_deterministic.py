import pytest

from envdoctor.rules.script.deterministic import deterministic
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.use_deterministic_algorithms(True)\n",
        "import torch\ntorch.use_deterministic_algorithms(mode=True)\n",
        "import torch\ntorch.backends.cudnn.deterministic = True\n",
        "from torch.backends import cudnn\ncudnn.deterministic = True\n",
        "import torch.backends.cudnn as cudnn\ncudnn.enabled = False\n",
        "from transformers import TrainingArguments\nTrainingArguments(full_determinism=True)\n",
        "import lightning as L\nL.Trainer(deterministic=True)\n",
    ],
)
def test_forced(source: str) -> None:
    (finding,) = found(deterministic, source)
    assert finding.kind == "script-slow"
    assert finding.subject == "train.py:2"


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.manual_seed(0)\ntorch.backends.cudnn.benchmark = True\n",
        "import torch\ntorch.use_deterministic_algorithms(False)\n",
        "import torch\ntorch.backends.cudnn.deterministic = args.deterministic\n",
        "sample(deterministic=True)\n",
    ],
)
def test_not_forced(source: str) -> None:
    assert silent(deterministic, facts(source))
