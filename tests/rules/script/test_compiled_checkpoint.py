import pytest

from envdoctor.rules.script.compiled_checkpoint import compiled_checkpoint
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found

HEAD = "import torch\nmodel = torch.compile(model)\n"


@pytest.mark.parametrize(
    "source",
    [
        HEAD + "torch.save(model.state_dict(), 'm.pt')\n",
        HEAD + "torch.save({'model': model.state_dict(), 'step': 1}, 'm.pt')\n",
        HEAD + "state = model.state_dict()\ntorch.save(state, 'm.pt')\n",
        "import torch\nclass T:\n    def f(self):\n        self.model = torch.compile(self.model)\n"
        "        torch.save(self.model.state_dict(), 'm.pt')\n",
    ],
)
def test_names_of_the_wrapper(source: str) -> None:
    (finding,) = found(compiled_checkpoint, source)
    assert finding.kind == "script-wrong"
    assert "_orig_mod.state_dict()" in finding.remedy.commands[0]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nmodel.compile()\ntorch.save(model.state_dict(), 'm.pt')\n",
        "import torch\nfast = torch.compile(model)\ntorch.save(model.state_dict(), 'm.pt')\n",
        HEAD + "torch.save(model._orig_mod.state_dict(), 'm.pt')\n",
        HEAD + "torch.save(accelerator.unwrap_model(model).state_dict(), 'm.pt')\n",
        HEAD + "print(len(model.state_dict()))\n",
    ],
)
def test_names_of_the_model(source: str) -> None:
    assert silent(compiled_checkpoint, facts(source))
