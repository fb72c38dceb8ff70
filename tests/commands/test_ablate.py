"""`ablate --claims`: the kept table, as text and as JSON."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from envdoctor import bundle
from envdoctor.commands.ablate import KEPT, command


def ablate(*words: str) -> Result:
    return CliRunner().invoke(command, list(words), env={"COLUMNS": "100"})


def test_the_claims_are_printed_from_the_kept_table_with_names_to_look_up() -> None:
    kept = json.loads((bundle.lockfiles() / KEPT).read_text("utf-8"))
    found = ablate("--claims")
    assert found.exit_code == 0, found.output
    said = " ".join(found.output.split())
    for claim in kept["claims"]:
        assert claim["claim"].split()[0] in said
    for name, title in kept["write_ups"].items():
        assert f"{name}: {title.split()[0]}" in said
    assert f"of {len(kept['claims'])} timed or counted" in said
    assert kept["conditions"]["device"]["name"] in said
    assert "machine" not in kept["conditions"]["device"]


def test_a_program_reads_the_same_table() -> None:
    found = ablate("--claims", "--format", "json")
    assert json.loads(found.stdout) == json.loads((bundle.lockfiles() / KEPT).read_text("utf-8"))
