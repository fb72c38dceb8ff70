import pytest

from envdoctor.rules.script.anomaly_detection import anomaly_detection
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.autograd.set_detect_anomaly(True)\n",
        "from torch import autograd\nautograd.set_detect_anomaly(mode=True)\n",
        "import torch\nwith torch.autograd.detect_anomaly():\n    pass\n",
        "from torch.autograd import set_detect_anomaly\nset_detect_anomaly(True)\n",
        "import lightning as L\nL.Trainer(detect_anomaly=True)\n",
    ],
)
def test_switched_on(source: str) -> None:
    (finding,) = found(anomaly_detection, source)
    assert finding.kind == "script-slow"
    assert finding.remedy.commands == ("torch.autograd.set_detect_anomaly(False)",)


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.autograd.set_detect_anomaly(False)\n",
        "import torch\ntorch.autograd.set_detect_anomaly(args.debug)\n",
    ],
)
def test_switched_off_or_chosen(source: str) -> None:
    assert silent(anomaly_detection, facts(source))
