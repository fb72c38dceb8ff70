import pytest

from envdoctor.rules.script.tf32_setting import tf32_setting
from tests.rules.judging import silent
from tests.rules.script.scripts import LOOP, facts, found

OLD = "torch.backends.cuda.matmul.allow_tf32 = True\n"
NEW = "torch.backends.cuda.matmul.fp32_precision = 'tf32'\n"


@pytest.mark.parametrize(
    "source",
    ["import torch\n" + OLD + NEW, "import torch\n" + NEW + "TrainingArguments(tf32=True)\n", "import torch\n" + NEW],
)
def test_mixed_or_only_new(source: str) -> None:
    (finding,) = found(tf32_setting, source)
    assert finding.kind == "tf32-api-mixed"


@pytest.mark.parametrize("line", [OLD, 'torch.set_float32_matmul_precision("high")\n'])
def test_too_late(line: str) -> None:
    (finding,) = found(tf32_setting, LOOP + line)
    assert finding.kind == "script-slow"
    assert "after training" in finding.message


@pytest.mark.parametrize(
    "source",
    [
        "import torch\n" + OLD,
        "import torch\ntorch.set_float32_matmul_precision('high')\n" + LOOP,
        "import torch\n" + OLD + LOOP,
        LOOP + "torch.backends.cuda.matmul.allow_tf32 = False\n",
        LOOP,
    ],
)
def test_right(source: str) -> None:
    assert silent(tf32_setting, facts(source))
