import pytest

from envdoctor.rules.rule import Severity
from envdoctor.rules.script.cache_emptied import cache_emptied
from tests.rules.judging import silent
from tests.rules.script.scripts import LOOP, facts, found, in_step


@pytest.mark.parametrize("line", ["torch.cuda.empty_cache()", "import gc; gc.collect()"])
def test_in_each_step(line: str) -> None:
    (finding,) = found(cache_emptied, in_step(line))
    assert (finding.kind, finding.severity) == ("script-slow", Severity.WARNING)


def test_zeros_instead_of_none_is_a_note() -> None:
    source = LOOP.replace("zero_grad()", "zero_grad(set_to_none=False)")
    assert [finding.severity for finding in found(cache_emptied, source)] == [Severity.NOTE]


@pytest.mark.parametrize(
    "source", [LOOP, LOOP + "    torch.cuda.empty_cache()\n", in_step("if step % 500 == 0: torch.cuda.empty_cache()")]
)
def test_rarely_or_never(source: str) -> None:
    assert silent(cache_emptied, facts(source))
