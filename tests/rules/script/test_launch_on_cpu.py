import pytest

from envdoctor.facts.model import Facts, Torch
from envdoctor.rules.rule import Severity
from envdoctor.rules.script.launch_on_cpu import launch_on_cpu
from tests.rules.judging import silent
from tests.rules.script.scripts import facts, found

YAML = "compute_environment: LOCAL_MACHINE\nnum_processes: 1\nuse_cpu: {value}\n"


@pytest.mark.parametrize(
    ("source", "language"),
    [
        (YAML.format(value="true"), "yaml"),
        ("accelerate launch --cpu train.py\n", "shell"),
        ("CUDA_VISIBLE_DEVICES= python train.py\n", "shell"),
        ('export CUDA_VISIBLE_DEVICES="-1"\n', "shell"),
    ],
)
def test_the_gpu_is_not_used(source: str, language: str) -> None:
    (finding,) = found(launch_on_cpu, source, language)
    assert (finding.kind, finding.severity) == ("config-mismatch", Severity.ERROR)


def test_it_is_used() -> None:
    assert silent(launch_on_cpu, facts(YAML.format(value="false"), "yaml"))
    assert silent(launch_on_cpu, facts("CUDA_VISIBLE_DEVICES=0 accelerate launch train.py --cpu\n", "shell"))


def test_a_machine_without_gpu_may_train_on_its_cpu() -> None:
    given = facts(YAML.format(value="true"), "yaml", gpus=None)
    assert silent(launch_on_cpu, Facts(scripts=given.scripts, torch=Torch(version="2.13.0+cpu", cuda="")))
