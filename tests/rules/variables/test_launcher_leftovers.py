import pytest

from envdoctor.facts.model import Facts, Origin
from envdoctor.rules.rule import Severity
from envdoctor.rules.variables.launcher_leftovers import launcher_leftovers
from tests.rules.judging import findings, silent, skipped

RANK = {"RANK": "0", "WORLD_SIZE": "8", "MASTER_ADDR": "node1"}


def test_a_shell_that_believes_to_be_a_rank() -> None:
    (finding,) = findings(launcher_leftovers, Facts(variables=RANK))
    assert (finding.kind, finding.severity) == ("config-mismatch", Severity.NOTE)
    assert finding.remedy.commands == ("unset RANK WORLD_SIZE MASTER_ADDR",)


@pytest.mark.parametrize(
    "variables", [{}, {"MASTER_ADDR": "x"}, {**RANK, "TORCHELASTIC_RUN_ID": "1"}, {**RANK, "SLURM_NNODES": "2"}]
)
def test_healthy(variables: dict[str, str]) -> None:
    assert silent(launcher_leftovers, Facts(variables=variables))


def test_unknown_is_skipped() -> None:
    assert skipped(launcher_leftovers, Facts())
    assert skipped(launcher_leftovers, Facts(variables=RANK, origin=Origin(kind="pasted")))
