from envdoctor.facts.model import Facts, Gpu, Gpus, Launcher, Torch
from envdoctor.rules.network.launcher_on_cpu import launcher_on_cpu
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

CPU = Launcher(settings={"use_cpu": "True"})


def test_the_gpu_is_hidden_by_the_configuration() -> None:
    for given in (
        Facts(launcher=CPU, torch=Torch(version="2.5.1", cuda_available=True)),
        Facts(launcher=CPU, gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA A100"),))),
    ):
        (finding,) = findings(launcher_on_cpu, given)
        assert (finding.kind, finding.severity) == ("config-mismatch", Severity.ERROR)


def test_no_gpu_or_used() -> None:
    assert silent(launcher_on_cpu, Facts(launcher=CPU, torch=Torch(version="2.5.1+cpu", cuda="")))
    assert silent(launcher_on_cpu, Facts(launcher=CPU))
    used = Launcher(settings={"use_cpu": "False"})
    assert silent(launcher_on_cpu, Facts(launcher=used, torch=Torch(version="2.5.1", cuda_available=True)))
    assert skipped(launcher_on_cpu, Facts())
