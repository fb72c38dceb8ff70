import pytest

from envdoctor.rules.rule import Severity
from envdoctor.rules.script.grad_scaler import grad_scaler
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found

BF16 = (
    'import torch\nfrom torch.amp import autocast, GradScaler\nwith autocast("cuda", dtype=torch.bfloat16):\n    pass\n'
)


@pytest.mark.parametrize(
    "source",
    [
        BF16 + "scaler = GradScaler()\n",
        "import torch\ndtype = torch.bfloat16\nscaler = torch.cuda.amp.GradScaler()\n"
        "with torch.autocast(device_type='cuda', dtype=dtype):\n    pass\n",
        "import torch\nscaler = torch.amp.GradScaler('cuda', enabled=True)\n"
        "with torch.autocast('cuda', torch.bfloat16):\n    pass\n",
    ],
)
def test_no_use_with_bfloat16(source: str) -> None:
    (finding,) = found(grad_scaler, source)
    assert (finding.kind, finding.severity) == ("no-effect", Severity.NOTE)


@pytest.mark.parametrize(
    "source",
    [
        BF16 + "scaler = GradScaler(enabled=False)\n",
        BF16 + "scaler = GradScaler(enabled=dtype == torch.float16)\n",
        BF16,
        BF16.replace("bfloat16", "float16") + "scaler = GradScaler()\n",
        "import torch\nscaler = torch.cuda.amp.GradScaler()\nwith torch.cuda.amp.autocast():\n    pass\n",
    ],
)
def test_of_use_or_absent(source: str) -> None:
    assert silent(grad_scaler, facts(source))
