import pytest

from envdoctor.rules.script.graph_kept import graph_kept
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found, in_step


@pytest.mark.parametrize(
    ("line", "better"),
    [("total += loss", "total += loss.detach()"), ("history.append(loss)", "history.append(loss.detach())")],
)
def test_the_graph_is_kept(line: str, better: str) -> None:
    (finding,) = found(graph_kept, in_step(line))
    assert finding.kind == "script-wrong"
    assert finding.remedy.commands == (better,)


@pytest.mark.parametrize(
    "line", ["total += loss.detach()", "total += loss.item()", "history.append(loss.detach())", "count += 1"]
)
def test_detached(line: str) -> None:
    assert silent(graph_kept, facts(in_step(line)))


def test_a_sum_that_is_differentiated() -> None:
    source = (
        "for batch in loader:\n    loss = 0\n    for part in batch:\n        loss += model(part)\n"
        "    loss.backward()\n    opt.step()\n"
    )
    assert silent(graph_kept, facts(source))
