"""The snippets obey their own languages' schemas, and bash runs their lines."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner
from packaging.requirements import Requirement

from envdoctor import __version__
from envdoctor.cli import envdoctor
from envdoctor.commands.ci import ACCELERATORS, SNIPPETS
from envdoctor.errors import Trouble
from envdoctor.locks import library
from envdoctor.locks.key import key
from envdoctor.sources import own_distribution
from envdoctor.system import process
from tests.commands import snippet_schemas as schemas
from tests.commands.snippet_box import ROOT, Box

SOURCE = "git+https://git.example/team/envdoctor@v0.1.0"
REQUIREMENT = f"gpu-envdoctor @ {SOURCE}"
KEY = key("cpu", library.load_targets())


def snippet(where: str, *more: str, target: str = "cpu") -> str:
    result = CliRunner().invoke(envdoctor, ["ci", where, "--target", target, "--source", SOURCE, *more])
    assert result.exit_code == 0, result.output
    return result.output


def document(where: str) -> Any:
    return yaml.safe_load(snippet(where))


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.mark.parametrize("where", SNIPPETS)
def test_nothing_is_left_to_fill_in(where: str) -> None:
    text = snippet(where, target="h100")
    assert not re.findall(r"@[A-Z_]+@", text)
    assert "h100" in text
    assert sum(line.lstrip().startswith("#") or "  #" in line for line in text.splitlines()) >= 2
    if where != "k8s":  # which takes what the image holds
        assert REQUIREMENT in text
    assert all(len(line) <= 160 for line in text.splitlines())


@pytest.mark.parametrize(
    ("where", "schema"),
    [
        ("github", schemas.GITHUB),
        ("gitlab", schemas.GITLAB),
        ("k8s", schemas.K8S),
        ("skypilot", schemas.SKYPILOT),
    ],
)
def test_yaml_obeys_its_schema(where: str, schema: dict[str, Any]) -> None:
    jsonschema.validate(document(where), schema)
    with pytest.raises(jsonschema.ValidationError):  # a schema that lets everything pass proves nothing
        jsonschema.validate(misspelt(document(where), where), schema)


def misspelt(data: Any, where: str) -> Any:
    match where:
        case "github":
            data["jobs"]["train"]["steps"][1]["runs"] = data["jobs"]["train"]["steps"][1].pop("run")
        case "gitlab":
            data["train"]["scripts"] = data["train"].pop("script")
        case "k8s":
            data["spec"]["template"]["spec"]["initContainers"][0]["comand"] = ["x"]
        case _:
            data["resources"]["accelerator"] = "H100"
    return data


@pytest.mark.parametrize("where", ["slurm", "runpod"])
def test_scripts_parse(where: str, tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_text(snippet(where))
    assert process.run(["bash", "-n", path], deadline=10).ok


# --- each of them, run ---


def run(where: str, box: Box, **variables: str) -> Any:
    match where:
        case "github":
            job = document(where)["jobs"]["train"]
            return box.steps(job["steps"], {**job["env"], **variables})
        case "gitlab":
            job = document(where)["train"]
            variables = {**job["variables"], "ENVIRONMENTS": str(box.folder / "cache"), **variables}
            ran = box.bash("\n".join(job["script"]), **variables)
            after = box.bash("\n".join(job["after_script"]), **variables)
            return ran._replace(log=after.log)
        case "slurm":
            return box.bash(snippet(where), flags="", SLURM_JOB_NUM_NODES="2", SLURM_JOB_ID="7", **variables)
        case "skypilot":
            task = document(where)
            assert box.bash(task["setup"], flags="", **task["envs"]).outcome.ok
            return box.bash(task["run"], flags="", SKYPILOT_NODE_RANK="1", **{**task["envs"], **variables})
        case "runpod":
            volume = str(box.project)
            return box.bash(snippet(where), flags="", RUNPOD_POD_ID="pod7", VOLUME=volume, **variables)
        case "docker":
            return container(snippet(where), box, **variables)
        case _:
            return pod(document(where), box, **variables)


def container(text: str, box: Box, *words: str, **variables: str) -> Any:
    """Build and start it without Docker: RUN lines, then the ENTRYPOINT, with /opt in the box."""
    text = text.replace("/opt/", f"{box.folder}/opt/")
    (box.folder / "opt").mkdir()
    source = re.search(r'^ARG ENVDOCTOR="(.*)"$', text, re.M)
    assert source is not None
    for line in re.findall(r"^RUN (.*)$", text, re.M):
        built = box.bash(line, ENVDOCTOR=source[1])
        assert built.outcome.ok, built.outcome.err
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", text, re.M)
    assert [stage for _, stage in stages] == ["build", ""]
    images = [image.partition("@") for image, _ in stages]
    assert images[0][0] + "-slim" == images[1][0]  # an environment's python is a link to the image's own
    assert [digest for *_, digest in images] == ["${PYTHON}", "${SLIM}"]  # without them no build: a tag moves
    assert text.index("\nARG PYTHON\nARG SLIM\n") < text.index("\nFROM ")
    copied = re.findall(r"^COPY --from=build (\S+) (\S+)$", text, re.M)
    assert {Path(a).name for a, b in copied if a == b} == {"envdoctor", "env"}
    start = json.loads(text.partition("ENTRYPOINT ")[2])
    return box.bash(shlex.join([*start, *(words or ("--epochs", "2"))]), **variables)


def pod(job: Any, box: Box, **variables: str) -> Any:
    """The init container first; the training container only after its exit code 0."""
    folder = box.folder / "opt"
    made = f"{box.programs}/python3 -m venv {folder}/envdoctor && {sys.executable} -m venv --without-pip {folder}/env"
    assert box.bash(made).outcome.ok
    spec = job["spec"]["template"]["spec"]
    commands = [c["command"] for c in (*spec["initContainers"], *spec["containers"])]
    script = " && ".join(shlex.join(words).replace("/opt/", f"{folder}/") for words in commands)
    return box.bash(script, **variables)


@pytest.mark.parametrize("where", SNIPPETS)
def test_a_good_machine_trains_after_one_preflight(where: str, box: Box) -> None:
    ran = run(where, box)
    assert ran.outcome.code == 0, ran.outcome.err
    assert "trained by" in ran.outcome.out
    times = 4 if where == "slurm" else 1  # each of two nodes, alone and then together
    assert ran.commands.count("envdoctor preflight") == times
    if where != "k8s":
        asked = [line.removeprefix("pip ") for line in ran.log if line.startswith("pip ")]
        assert asked == [REQUIREMENT]
        assert Requirement(asked[0]).url == SOURCE
    if where not in ("docker", "k8s"):  # they name it themselves
        environment = re.search(r"trained by (\S+)", ran.outcome.out)
        assert environment is not None
        assert KEY in environment[1]
        if where != "runpod":  # whose volume is the project's folder too
            assert not Path(environment[1]).is_relative_to(box.project)


@pytest.mark.parametrize("where", SNIPPETS)
@pytest.mark.parametrize("code", [1, 3])
def test_a_bad_machine_ends_the_job_with_the_exit_code_of_preflight(where: str, code: int, box: Box) -> None:
    ran = run(where, box, GATE=str(code))
    assert ran.outcome.code == code, ran.outcome.err
    assert "trained by" not in ran.outcome.out


def test_findings_of_a_bad_machine_are_uploaded(box: Box) -> None:
    run("github", box, GATE="1")
    sarif = json.loads((box.project / "envdoctor.sarif").read_text())
    assert sarif["runs"][0]["results"]  # of a real check of the (empty) environment
    steps = document("github")["jobs"]["train"]["steps"]
    upload = next(step for step in steps if "upload-sarif" in step.get("uses", ""))
    assert upload["with"]["sarif_file"] == "envdoctor.sarif"
    assert "always()" in upload["if"]


def test_gitlab_reports_findings_of_a_bad_machine(box: Box) -> None:
    ran = run("gitlab", box, GATE="1")
    assert "<testsuite" in (box.project / "envdoctor.xml").read_text(), ran.outcome.err


def test_slurm_judges_every_node_and_names_the_one_that_failed(box: Box) -> None:
    ran = run("slurm", box, GATE="1")
    assert "srun --ntasks-per-node=1" in ran.log
    assert ran.outcome.err.count("preflight failed on n1 with exit code 1") == 1
    assert ran.outcome.err.count("preflight failed on n2 with exit code 1") == 1
    assert ran.commands.count("envdoctor preflight") == 2


@pytest.mark.parametrize("code", [0, 1])
def test_a_pod_is_stopped_whatever_the_outcome(code: int, box: Box) -> None:
    assert "runpodctl pod stop pod7" in run("runpod", box, GATE=str(code)).log


def test_a_container_passes_its_arguments_on(box: Box) -> None:
    assert "['--epochs', '2']" in run("docker", box).outcome.out


def test_no_two_snippets_repair_one_environment_twice(box: Box) -> None:
    """The second job finds what the first one made."""
    first, second = run("slurm", box), run("slurm", box)
    assert first.outcome.ok
    assert second.outcome.ok, second.outcome.err
    assert sum(line.startswith("pip ") for line in second.log) == 1


# --- the action and the hook ---


def action() -> Any:
    return yaml.safe_load((ROOT / ".github/actions/envdoctor/action.yml").read_text())


def test_the_action_obeys_its_schema() -> None:
    jsonschema.validate(action(), schemas.ACTION)


@pytest.mark.parametrize(("code", "fix"), [(0, "true"), (1, "true"), (0, "false")])
def test_the_action_runs(code: int, fix: str, box: Box) -> None:
    inputs = {name: port.get("default", "") for name, port in action()["inputs"].items()}
    inputs |= {"target": "cpu", "fix": fix, "arguments": "--strict --fail-on error"}
    if fix == "false":
        assert process.run([sys.executable, "-m", "venv", "--without-pip", box.folder / "mine"], deadline=60).ok
        inputs["env"] = str(box.folder / "mine")
    path = str(ROOT / ".github/actions/envdoctor")
    ran = box.steps(action()["runs"]["steps"], {"GITHUB_ACTION_PATH": path, "GATE": str(code)}, **inputs)
    assert ran.outcome.code == code, ran.outcome.err
    preflight = next(line for line in ran.log if line.startswith("envdoctor preflight"))
    assert preflight.endswith("--strict --fail-on error")
    assert ("--fix --yes" in preflight) == (fix == "true")
    installed = next(line.removeprefix("pip ") for line in ran.log if line.startswith("pip "))
    assert (Path(installed).resolve() / "pyproject.toml").is_file()
    assert Path(box.outputs["steps.findings.outputs.sarif"]).is_file()
    assert box.outputs["steps.place.outputs.environment"] == (inputs["env"] or f"{box.home}/.cache/envdoctor/{KEY}")


def test_the_hook_obeys_its_schema_and_runs(tmp_path: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    jsonschema.validate(hooks, schemas.HOOKS)
    assert process.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], deadline=60).ok
    program, *words = shlex.split(hooks[0]["entry"])
    assert program == "envdoctor"
    argv = [sys.executable, "-m", "envdoctor", *words, *hooks[0]["args"]]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    sick = process.run(argv, deadline=60, env=variables, cwd=tmp_path)  # the environment is empty
    assert sick.code == 1, sick.err
    assert "torch" in sick.out
    absent = process.run(argv, deadline=60, env=variables, cwd=tmp_path.parent)
    assert absent.code not in (0, 1)


# --- where the doctor comes from ---


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        (None, f"gpu-envdoctor=={__version__}"),
        (
            {"url": "https://git.example/envdoctor.git", "vcs_info": {"vcs": "git", "commit_id": "0a1b2c3d"}},
            "gpu-envdoctor @ git+https://git.example/envdoctor.git@0a1b2c3d",
        ),
        (
            {"url": "https://wheels.example/gpu_envdoctor-0.1.0-py3-none-any.whl", "archive_info": {}},
            "gpu-envdoctor @ https://wheels.example/gpu_envdoctor-0.1.0-py3-none-any.whl",
        ),
        ({"url": "file:///home/me/envdoctor", "dir_info": {"editable": True}}, None),
        ({"url": "file:///home/me/gpu_envdoctor-0.1.0-py3-none-any.whl", "archive_info": {}}, None),
        ("[]", None),
        ("no json", None),
    ],
)
def test_what_was_installed_here_is_installed_there(
    direct_url: Any, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "gpu_envdoctor-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: gpu-envdoctor\nVersion: {__version__}\n")
    if direct_url is not None:
        text = direct_url if isinstance(direct_url, str) else json.dumps(direct_url)
        (info / "direct_url.json").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = own_distribution.own_requirement(__version__)
    assert found == expected
    if found is not None:
        Requirement(found)


def test_an_unknown_address_is_said_and_stands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envdoctor.commands.ci.own_requirement", lambda _: None)
    result = CliRunner().invoke(envdoctor, ["ci", "github", "-t", "cpu"])
    assert "see --source" in result.stderr
    assert f"git.example/envdoctor@v{__version__}" in result.stdout
    assert "put your address of envdoctor here" in result.stdout


@pytest.mark.parametrize("bad", ["envdoctor", "https://x.example/page", 'git+https://x.example/"; rm -rf /', "git+x y"])
def test_an_address_that_pip_cannot_take_is_refused(bad: str) -> None:
    with pytest.raises(Trouble) as caught:
        own_distribution.requirement_of(bad)
    assert caught.value.remedy


def test_a_target_that_would_break_the_script_is_refused() -> None:
    result = CliRunner().invoke(envdoctor, ["ci", "slurm", "-t", "h100; echo"])
    assert isinstance(result.exception, Trouble)


# --- the key of an environment ---


def test_a_key_follows_its_locks(tmp_path: Path) -> None:
    targets = library.load_targets()
    keys = {name: key(name, targets) for name in (*targets, "auto")}
    assert len(set(keys.values())) == len(keys)
    assert key("NVIDIA H100", targets) == keys["h100"]  # one target, however it is called
    own = tmp_path / "team.toml"
    own.write_text('schema = 1\ntitle = "team"\nstacks = ["mine"]\n')
    lock = tmp_path / "pylock.mine.toml"
    lock.write_text("1")
    before = key(str(own), targets)
    lock.write_text("2")
    assert key(str(own), targets) != before


def test_skypilot_has_a_name_for_every_gpu_we_have_a_target_for() -> None:
    targets = {name for name, target in library.load_targets().items() if target.gpu_names}
    assert set(ACCELERATORS) == targets


@pytest.mark.install
@pytest.mark.parametrize("where", ["github", "slurm", "docker"])
def test_for_real(where: str, tmp_path: Path) -> None:
    """The doctor is installed from a wheel, the environment is made, a workload is trained: only the GPU is missing."""
    built = process.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path / "wheels", ROOT], deadline=600
    )
    assert built.ok, built.err
    wheel = next((tmp_path / "wheels").glob("*.whl"))
    box, text = Box(tmp_path / "box", real=True), snippet(where, "--source", wheel.as_uri())
    if where == "github":
        job = yaml.safe_load(text)["jobs"]["train"]
        ran = box.steps(job["steps"], job["env"])
    elif where == "docker":
        ran = container(text, box)
    else:
        ran = box.bash(text, flags="", SLURM_JOB_NUM_NODES="1")
    assert ran.outcome.code == 0, ran.outcome.err[-3000:]
    assert "trained by" in ran.outcome.out
