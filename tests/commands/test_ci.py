"""The snippets parse in their own languages and name the target that was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from envdoctor import process
from envdoctor.cli import envdoctor
from envdoctor.commands.ci import SNIPPETS


def snippet(where: str) -> str:
    result = CliRunner().invoke(envdoctor, ["ci", where, "--target", "h100"])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("where", SNIPPETS)
def test_the_target_is_in_it_and_comments_explain(where: str) -> None:
    text = snippet(where)
    assert "--target h100" in text.replace('", "', " ")
    assert "@" not in text.replace("actions/checkout@", "").replace("$@", "").replace('\\"$@\\"', "")
    assert sum(line.lstrip().startswith("#") or "  #" in line for line in text.splitlines()) >= 2


@pytest.mark.parametrize("where", ["github", "gitlab", "k8s"])
def test_yaml_parses(where: str) -> None:
    assert isinstance(yaml.safe_load(snippet(where)), dict)


def test_shell_parses(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(snippet("slurm"))
    outcome = process.run(["bash", "-n", script], deadline=10)
    assert outcome.ok, outcome.err


@pytest.mark.parametrize("where", ["github", "gitlab"])
def test_shell_inside_yaml_parses(where: str, tmp_path: Path) -> None:
    document = yaml.safe_load(snippet(where))
    jobs = document["jobs"].values() if where == "github" else [document["preflight"], document["train"]]
    for job in jobs:
        lines = [s["run"] for s in job["steps"] if "run" in s] if where == "github" else job["script"]
        for line in lines:
            outcome = process.run(["bash", "-n", "-c", line], deadline=10)
            assert outcome.ok, (line, outcome.err)
