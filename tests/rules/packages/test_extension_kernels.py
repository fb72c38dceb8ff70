import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Torch
from envdoctor.rules.packages.extension_kernels import extension_kernels
from tests.rules.judging import findings, installed, silent, skipped

SAID = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
H100 = Gpus(devices=(Gpu(index=0, name="NVIDIA H100 80GB HBM3", capability="9.0"),))
TORCH = Torch(version="2.6.0+cu124", cuda="12.4", arch_list=("sm_80", "sm_90"))


@pytest.mark.parametrize(
    ("line", "packages", "subject"),
    [
        (SAID, {"flash-attn": "2.5.0"}, "flash-attn"),
        ("xformers: " + SAID, {"flash-attn": "2.5.0", "xformers": "0.0.29"}, "xformers"),
        (SAID, {"flash-attn": "2.5.0", "apex": "0.1"}, "flash-attn or apex"),
    ],
)
def test_an_extension_lacks_code(line: str, packages: dict[str, str], subject: str) -> None:
    given = Facts(messages=(line,), torch=TORCH, gpus=H100, packages=installed(packages, complete=False))
    (finding,) = findings(extension_kernels, given)
    assert (finding.kind, finding.subject) == ("extension-binary-missing", subject)


def test_torch_itself_lacks_it_or_no_extension_is_there() -> None:
    old = Gpus(devices=(Gpu(index=0, name="Tesla P100", capability="6.0"),))
    beside = installed({"flash-attn": "2.5.0"}, complete=False)
    assert silent(extension_kernels, Facts(messages=(SAID,), torch=TORCH, gpus=old, packages=beside))
    assert silent(extension_kernels, Facts(messages=(SAID,), torch=TORCH, gpus=H100))
    assert skipped(extension_kernels, Facts(torch=TORCH, gpus=H100, packages=beside))


def test_what_only_ptx_would_cover_is_not_said_to_be_covered() -> None:
    """torch 2.1's cu118 builds hold PTX of 3.7 beside their code: on Blackwell the failure is torch's own."""
    blackwell = Gpus(devices=(Gpu(index=0, name="NVIDIA GeForce RTX 5070", capability="12.0"),))
    torch = Torch(version="2.1.0+cu118", cuda="11.8", arch_list=("sm_80", "sm_86", "sm_90", "compute_37"))
    beside = installed({"flash-attn": "2.5.0"}, complete=False)
    assert silent(extension_kernels, Facts(messages=(SAID,), torch=torch, gpus=blackwell, packages=beside))
