import pytest

from envdoctor.rules.script.evaluation_with_graph import evaluation_with_graph
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found

EVALUATE = (
    "import torch\ndef evaluate(model, loader):\n    model.eval()\n    for x in loader:\n        total += model(x)\n"
)


def test_a_graph_that_nobody_needs() -> None:
    (finding,) = found(evaluation_with_graph, EVALUATE)
    assert (finding.kind, finding.subject) == ("script-slow", "train.py:5")


@pytest.mark.parametrize(
    "source",
    [
        EVALUATE.replace("def evaluate", "@torch.no_grad()\ndef evaluate"),
        EVALUATE.replace("def evaluate", "@torch.inference_mode()\ndef evaluate"),
        "import torch\ndef evaluate(model, loader):\n    model.eval()\n    with torch.no_grad():\n        model(x)\n",
        "import torch\ndef evaluate(model, loader):\n    model.eval()\n    for x in loader:\n"
        "        with torch.inference_mode(), torch.autocast('cuda'):\n            model(x)\n",
        EVALUATE + "with torch.no_grad():\n    evaluate(model, loader)\n",
        "import torch\ntorch.set_grad_enabled(False)\nmodel.eval()\nmodel(x)\n",
        "model.eval()\ntext = model.generate(x)\n",
        "model.eval()\nmodel.train()\nmodel(x)\n",
        "model.eval()\nloss = model(x)\nloss.backward()\n",
    ],
)
def test_none_recorded_or_wanted(source: str) -> None:
    assert silent(evaluation_with_graph, facts(source))
