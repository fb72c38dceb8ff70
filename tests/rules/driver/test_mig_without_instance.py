from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.facts.pasted import read
from envdoctor.rules.driver.mig_without_instance import mig_without_instance
from tests.rules.judging import findings, silent

SAID = ("UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu.",)


def card(name: str = "NVIDIA A100-SXM4-80GB", mig: bool | None = True) -> Gpus:
    return Gpus(devices=(Gpu(index=0, name=name, mig=mig),))


def test_mig_without_an_instance_stops_cuda() -> None:
    (finding,) = findings(mig_without_instance, Facts(gpus=card(), messages=SAID))
    assert (finding.kind, finding.subject, finding.who) == ("config-mismatch", "GPU 0", "host")


def test_an_instance_a_whole_card_and_a_running_cuda_are_well() -> None:
    assert silent(mig_without_instance, Facts(gpus=card("NVIDIA A100-SXM4-80GB MIG 1g.10gb"), messages=SAID))
    assert silent(mig_without_instance, Facts(gpus=card(mig=False), messages=SAID))
    assert silent(mig_without_instance, Facts(gpus=card()))


def test_the_table_of_nvidia_smi_says_on_where_errors_are_counted() -> None:
    row = "|   0  NVIDIA A100-SXM4-80GB           Off| 00000000:40:00.0 Off |                   On |"
    use = "| N/A   27C    P0               31W / 400W|      0MiB / 81920MiB |     N/A      Default |"
    head = "| NVIDIA-SMI 530.41.03    Driver Version: 530.41.03    CUDA Version: 12.1     |"
    gpus = read("\n".join((head, row, use))).gpus
    assert isinstance(gpus, Gpus)
    assert gpus.devices[0].mig is True
