import pytest

from envdoctor.facts.model import Driver, Facts, Gpu, Gpus, Host, Origin, Torch
from envdoctor.rules.driver.nothing_found import nothing_found
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped
from tests.rules.machines import CPU_TARGET, H100_TARGET

PASTED = Origin(kind="pasted")
BLIND = Torch(version="2.3.1+cu121", cuda="12.1", cuda_available=False)


@pytest.mark.parametrize("torch", [BLIND, Torch(version="2.0.1", cuda="11.7", cuda_available=False)])
def test_a_cuda_build_without_any_gpu(torch: Torch) -> None:
    (finding,) = findings(nothing_found, Facts(origin=PASTED, torch=torch))
    assert (finding.kind, finding.severity) == ("gpu-not-visible", Severity.WARNING)


@pytest.mark.parametrize(
    "given",
    [
        Facts(origin=PASTED, torch=Torch(version="2.3.1+cu121", cuda="12.1", cuda_available=True)),
        Facts(origin=PASTED, torch=Torch(version="2.3.1+cu121", cuda="12.1")),
        Facts(origin=PASTED, torch=Torch(version="2.3.1+cpu", cuda="", cuda_available=False)),
        Facts(origin=PASTED, torch=Torch(version="2.3.1", cuda_available=False)),
        Facts(origin=PASTED, torch=BLIND, gpus=Gpus(devices=(Gpu(index=0, name="Tesla T4"),))),
        Facts(origin=PASTED, torch=BLIND, driver=Driver(kernel_module="535.54.03")),
        Facts(origin=PASTED, torch=BLIND, driver=Driver(other_accelerators=("AMD Instinct MI250X",))),
        Facts(origin=PASTED, torch=BLIND, host=Host(system="Darwin")),
    ],
)
def test_seen_unknown_or_not_meant(given: Facts) -> None:
    assert silent(nothing_found, given)


def test_a_probe_notes_that_the_gpu_is_elsewhere() -> None:
    """An image for an H100 is made where there is none: nothing is wrong, and not everything was judged."""
    (finding,) = findings(nothing_found, Facts(torch=BLIND, driver=Driver()), H100_TARGET)
    assert (finding.severity, finding.actual, finding.expected) == (Severity.NOTE, "none here", "NVIDIA H100")
    assert silent(nothing_found, Facts(torch=BLIND, driver=Driver(devices=("/dev/nvidia0",))), H100_TARGET)
    assert silent(nothing_found, Facts(torch=BLIND, driver=Driver()))  # no target, so no GPU is missed
    assert skipped(nothing_found, Facts(torch=BLIND), H100_TARGET)
    assert skipped(nothing_found, Facts(driver=Driver()), CPU_TARGET)
