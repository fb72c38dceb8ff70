import pytest

from envdoctor.facts.model import Facts, Torch
from envdoctor.rules.rule import Severity
from envdoctor.rules.script.sync_per_step import sync_per_step
from tests.rules.judging import findings, silent
from tests.rules.script.scripts import LOOP, facts, found, in_step


@pytest.mark.parametrize(
    "line",
    [
        "total += loss.item()",
        "print(loss)",
        'print(f"loss {loss:.3f}")',
        "value = float(loss)",
        "history.append(loss.detach().cpu())",
        "history.append(loss.detach().cpu().numpy())",
        "progress.set_postfix(loss=loss.item())",
        "torch.cuda.synchronize()",
        "accuracy = (outputs.argmax(-1) == labels).sum().item()",
        "if torch.isnan(loss): raise ValueError",
        "predictions.extend(outputs.argmax(-1).tolist())",
    ],
)
def test_a_wait_in_each_step(line: str) -> None:
    (finding,) = found(sync_per_step, in_step(line))
    assert (finding.kind, finding.severity) == ("script-slow", Severity.WARNING)
    assert finding.subject == "train.py:15"
    assert finding.actual == line


@pytest.mark.parametrize(
    "line",
    [
        "if step % 20 == 0: print(loss.item())",
        "if step == last_step: print(loss.item())",
        "if should_log(step): writer.write(loss.item())",
        "total += loss.detach()",
        "names = [name.lower() for name in batch]",
        "print(step)",
        "lengths = torch.tensor(sizes, device=device)",
    ],
)
def test_no_wait(line: str) -> None:
    assert silent(sync_per_step, facts(in_step(line)))


def test_after_the_loop_is_fine() -> None:
    assert silent(sync_per_step, facts(LOOP + "    print(epoch, loss.item())\nprint(loss.item())\n"))


def test_evaluation_is_not_the_training_step() -> None:
    source = (
        LOOP + "\ndef evaluate(model, loader):\n    for batch in loader:\n        total += model(batch).loss.item()\n"
    )
    assert silent(sync_per_step, facts(source))


def test_a_step_in_a_function_that_the_loop_calls() -> None:
    source = (
        "def train_step(model, batch, optimizer):\n    loss = model(batch).loss\n    loss.backward()\n"
        "    optimizer.step()\n    optimizer.zero_grad()\n    return loss.item()\n\n"
        "def main():\n    for batch in loader:\n        train_step(model, batch, optimizer)\n"
    )
    assert [finding.subject for finding in found(sync_per_step, source)] == ["train.py:6"]


def test_lightning_and_trainer_methods_are_steps() -> None:
    source = (
        "import lightning as L\nclass Model(L.LightningModule):\n    def training_step(self, batch, index):\n"
        "        loss = self.net(batch)\n        print(loss.item())\n        return loss\n"
    )
    assert [finding.subject for finding in found(sync_per_step, source)] == ["train.py:5"]


def test_on_a_cpu_it_is_a_note() -> None:
    given = Facts(scripts=facts(in_step("print(loss)")).scripts, torch=Torch(version="2.13.0+cpu", cuda=""))
    assert [finding.severity for finding in findings(sync_per_step, given)] == [Severity.NOTE]


def test_the_rest_after_a_rare_continue_is_rare() -> None:
    assert silent(sync_per_step, facts(in_step("if step % 10: continue", "print(loss.item())")))
