import pytest

from envdoctor.facts.model import Gpu, Gpus
from envdoctor.rules.rule import Severity
from envdoctor.rules.script.launch_processes import launch_processes
from tests.rules.judging import findings, silent
from tests.rules.script.scripts import facts

FOUR = Gpus(devices=tuple(Gpu(index=i, name="NVIDIA A100-SXM4-80GB") for i in range(4)))
YAML = "compute_environment: LOCAL_MACHINE\nnum_machines: {machines}\nnum_processes: {processes}\n"


@pytest.mark.parametrize(
    ("source", "language", "severity"),
    [
        ("torchrun --nproc_per_node=8 train.py\n", "shell", Severity.ERROR),
        ("torchrun --nproc-per-node 2 train.py\n", "shell", Severity.WARNING),
        ("accelerate launch \\\n  --num_processes 8 \\\n  train.py\n", "shell", Severity.ERROR),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 4 train.py\n", "shell", Severity.ERROR),
        ("deepspeed --num_gpus 8 train.py\n", "shell", Severity.ERROR),
        (YAML.format(machines=1, processes=8), "yaml", Severity.ERROR),
        (YAML.format(machines=2, processes=16), "yaml", Severity.ERROR),
        (YAML.format(machines=1, processes=1), "yaml", Severity.WARNING),
    ],
)
def test_processes_and_gpus_differ(source: str, language: str, severity: Severity) -> None:
    (finding,) = findings(launch_processes, facts(source, language, path="run.sh", gpus=FOUR))
    assert (finding.kind, finding.severity) == ("config-mismatch", severity)
    assert finding.subject.startswith("run.sh:")


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("torchrun --nproc_per_node=4 train.py --num_processes 16\n", "shell"),
        ("torchrun --nproc_per_node=gpu train.py\n", "shell"),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 train.py\n", "shell"),
        ("CUDA_VISIBLE_DEVICES=$1 torchrun --nproc_per_node 4 train.py\n", "shell"),
        ("# torchrun --nproc_per_node=8 train.py\npython train.py\n", "shell"),
        (YAML.format(machines=2, processes=8), "yaml"),
        ("name: job\nnum_workers: 8\n", "yaml"),
    ],
)
def test_one_process_per_gpu(source: str, language: str) -> None:
    assert silent(launch_processes, facts(source, language, gpus=FOUR))


def test_unknown_gpus_accuse_nobody() -> None:
    assert silent(launch_processes, facts("torchrun --nproc_per_node=8 train.py\n", "shell", gpus=None))
