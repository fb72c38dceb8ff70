"""``envdoctor check --dockerfile``: exit codes, every format with file and line, mistakes, and our own snippet."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from envdoctor.cli import run
from envdoctor.locks import library

BAD = 'FROM nvidia/cuda:12.1-devel-ubuntu22.04\nENV CUDA_VISIBLE_DEVICES=""\n'


@dataclass(frozen=True)
class Result:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def envdoctor(*words: str) -> Result:
    """The command as a user types it, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(words)
    return Result(code, out.getvalue(), err.getvalue())


def check(*words: str) -> Result:
    return envdoctor("check", *words)


DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture
def dockerfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "Dockerfile"
    path.write_text(BAD)
    return path


def test_findings_are_exit_1_and_name_line_and_correction(dockerfile: Path) -> None:
    result = check("--dockerfile", "Dockerfile", "--target", "none")
    assert result.exit_code == 1
    words = " ".join(result.output.split())
    assert "Dockerfile:1 FROM nvidia/cuda:12.1-devel-ubuntu22.04 → FROM nvidia/cuda:12.1.N-devel-ubuntu22.04" in words
    assert "Dockerfile:2" in words


def test_sarif_and_annotations_point_into_the_file(dockerfile: Path) -> None:
    results = json.loads(check("--dockerfile", "Dockerfile", "--format", "sarif").stdout)["runs"][0]["results"]
    places = {one["ruleId"]: one["locations"][0]["physicalLocation"] for one in results}
    assert places["image/visible-devices"] == {
        "artifactLocation": {"uri": "Dockerfile"}, "region": {"startLine": 2}
    }  # fmt: skip
    assert "::error file=Dockerfile,line=1," in check("--dockerfile", "Dockerfile", "--format", "github").output


def test_every_other_format_is_made(dockerfile: Path) -> None:
    document = json.loads(check("--dockerfile", "Dockerfile", "--format", "json").stdout)
    assert document["environment"]["origin"] == "image"
    assert {found["rule"] for found in document["findings"]} == {"image/base-image", "image/visible-devices"}
    suite = ET.fromstring(check("--dockerfile", "Dockerfile", "--format", "junit").stdout)
    assert suite.find(".//testcase[@name='image/base-image']/failure") is not None
    for format_ in ("markdown", "svg"):
        assert "Dockerfile:1" in check("--dockerfile", "Dockerfile", "--format", format_).output


def test_nothing_wrong_is_exit_0(dockerfile: Path) -> None:
    dockerfile.write_text("FROM pytorch/pytorch:2.9.1-cuda12.8-cudnn9-runtime\nCOPY . /app\n")
    result = check("--dockerfile", "Dockerfile", "--target", "none")
    assert result.exit_code == 0, result.output
    assert "nothing slows this image down" in result.output


def test_a_driver_decides(dockerfile: Path) -> None:
    dockerfile.write_text("FROM pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime\n")
    old = check("--dockerfile", "Dockerfile", "--target", "h100", "--driver", "535.183.01")
    new = check("--dockerfile", "Dockerfile", "--target", "h100", "--driver", "580.95.05")
    assert "needs driver 580 or later; there is driver 535.183.01" in " ".join(old.output.split())
    assert "image/driver" not in new.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--dockerfile", "nowhere"), "nowhere: No such file"),
        (("--dockerfile", "Dockerfile", "--script", "train.py"), "--script: image files are judged by themselves"),
        (("--dockerfile", "Dockerfile", "--env", "."), "--env: image files are judged by themselves"),
        (("--driver", "580"), "--driver: a driver is named for an image only"),
        (("--dockerfile", "Dockerfile", "--target", "h1000"), "h1000"),
        (("--dockerfile", "Dockerfile", "--select", "image/drivr"), "Did you mean image/driver?"),
    ],
)
def test_mistakes_get_one_clear_error(words: tuple[str, ...], said: str, dockerfile: Path) -> None:
    result = check(*words)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("target", sorted(library.load_targets()))
def test_our_own_dockerfile_passes(target: str, dockerfile: Path) -> None:
    printed = envdoctor("ci", "docker", "--target", target, "--source", "gpu-envdoctor==0.1.0").stdout
    dockerfile.write_text(printed)
    result = check("--dockerfile", "Dockerfile", "--target", target, "--driver", "580.95.05", "--fail-on", "note")
    assert result.exit_code == 0, result.output
    bases = [line.split()[1] for line in printed.splitlines() if line.startswith("FROM ")]
    assert bases == ["python:3.12@${PYTHON}", "python:3.12-slim@${SLIM}"]
    named = printed.replace("ARG PYTHON\n", f"ARG PYTHON={DIGEST}\n").replace("ARG SLIM\n", f"ARG SLIM={DIGEST}\n")
    dockerfile.write_text(named)
    words = ("--target", target, "--driver", "580.95.05", "--fail-on", "note", "--format", "json")
    assert json.loads(check("--dockerfile", "Dockerfile", *words).stdout)["findings"] == []


@pytest.mark.parametrize(
    ("image", "wrong"),
    [
        ("nvidia/cuda@{digest}", False),  # one image for good, whichever it is
        ("nvidia/cuda:12.8.1-devel-ubuntu22.04@{digest}", False),
        ("nvidia/cuda:12.8-devel-ubuntu22.04@{digest}", False),  # builders pass over the tag
        ("nvidia/cuda:12.8-devel-ubuntu22.04@${{DIGEST}}", False),
        ("nvidia/cuda:12.8-devel-ubuntu22.04", True),
        ("localhost:5000/nvidia/cuda@{digest}", False),
        ("pytorch/pytorch:latest@{digest}", False),
        ("pytorch/pytorch:latest", True),
    ],
)
def test_a_digest_names_one_image(image: str, wrong: bool, dockerfile: Path) -> None:
    dockerfile.write_text(f"ARG DIGEST\nFROM {image.format(digest=DIGEST)}\nUSER 1000\n")
    found = check("--dockerfile", "Dockerfile", "--target", "none", "--select", "image/base-image")
    assert found.exit_code == int(wrong), found.output


def test_a_digest_that_is_still_to_come_hides_nothing(dockerfile: Path) -> None:
    dockerfile.write_text("ARG DIGEST\nFROM nvidia/cuda:13.0.1-devel-ubuntu24.04@${DIGEST}\nUSER 1000\n")
    found = check("--dockerfile", "Dockerfile", "--target", "none", "--driver", "535.183.01")
    assert "needs driver 580 or later" in " ".join(found.output.split())


def test_our_own_dockerfile_broken_does_not_pass(dockerfile: Path) -> None:
    printed = envdoctor("ci", "docker", "--source", "gpu-envdoctor==0.1.0").stdout
    dockerfile.write_text(printed.replace("--no-cache-dir --quiet", "torch"))
    result = check("--dockerfile", "Dockerfile", "--target", "h100", "--fail-on", "note")
    assert result.exit_code == 1
    assert "image/unpinned" in result.output
