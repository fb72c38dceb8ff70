"""A GPU is one row of one table: with it its name, figures and target are known, without it its generation's flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.model import Driver, Facts, Gpu, Gpus
from envdoctor.knowledge import gpus
from envdoctor.knowledge.machine import capabilities, model_of, peak_tflops
from envdoctor.knowledge.table import Table, bundled_table
from envdoctor.locks.choice import choose_target
from envdoctor.locks.library import load_targets
from envdoctor.speed.limit import ClaimedSpeed, answer
from envdoctor.speed.report import Device
from envdoctor.speed.roofline import of_report
from tests.speed.making import report

NAME = "NVIDIA L21"
ROW = """
[[gpu]]
name = "L21"
capability = "8.9"
generation = "Ada"
chip = "AD102"
form = "PCIe"
pci = ["26bf"]
sms = 92
memory = 48
bandwidth = 864
power = 275
peak = { float32 = 59.8, tf32 = 59.8, bfloat16 = 119.5, float16 = 119.5 }
source = "an invented board, as the L20 is"
"""


def found(*devices: Gpu, pci: tuple[str, ...] = ()) -> Facts:
    return Facts(driver=Driver(kernel_module="580.65.06", pci=pci), gpus=Gpus(devices=devices))


@pytest.fixture
def with_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gpus.toml"
    path.write_text(bundled_table("gpus").path.read_text("utf-8") + ROW, "utf-8")
    table = gpus.Models(Table(path))
    monkeypatch.setattr(gpus, "models", lambda: table)


def test_without_a_row_it_takes_the_target_of_its_capability() -> None:
    assert gpus.identify(NAME) is None
    target, why = choose_target("auto", found(Gpu(index=0, name=NAME, capability="8.9")), load_targets())
    assert target.flags["float32-matmul-precision"] == "high"
    assert "no target names it" in why
    assert "same compute capability 8.9" in why


@pytest.mark.usefixtures("with_the_row")
def test_one_row_is_all_that_a_gpu_needs() -> None:
    listed, silent = found(Gpu(index=0, name=NAME)), found(pci=("0000:01:00.0 10de:26bf",))
    assert capabilities(listed) == capabilities(silent) == ("8.9",)
    assert of_report(report(device=Device(type="cuda", name=NAME, cpu_model="x", threads=8, cores=8)), 1.0).peak == (
        119.5e12
    )
    assert answer(ClaimedSpeed(weights=1e9, tokens=1000.0, gpu="L21")).limit == pytest.approx(119.5e12 / 6e12)
    for facts in (listed, silent):
        target, why = choose_target("auto", facts, load_targets())
        assert (target.name, target.baselines) == ("l40s", ())
        assert "has the same chip AD102 (its speeds do not apply)" in why


@pytest.mark.parametrize(
    ("name", "capability", "target"),
    [
        ("NVIDIA L20", None, "l40s"),
        ("NVIDIA L40", None, "l40s"),
        ("NVIDIA RTX 6000 Ada Generation", None, "l40s"),
        ("NVIDIA GeForce RTX 4090 D", None, "rtx4090"),
        ("NVIDIA GeForce RTX 4080", None, "rtx4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None, "rtx4090"),
        ("NVIDIA L2", None, "l4"),
        ("NVIDIA A40", None, "rtx3090"),
        ("NVIDIA RTX A6000", None, "rtx3090"),
        ("NVIDIA A10G", None, "rtx3090"),
        ("NVIDIA GeForce RTX 3080", None, "rtx3090"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", None, "rtx5090"),
        ("NVIDIA GeForce RTX 5080", None, "rtx5090"),
        ("NVIDIA GB10", None, "rtx5090"),
        ("NVIDIA GeForce RTX 2080 Ti", None, "t4"),
        ("NVIDIA A30", None, "a100"),
        ("NVIDIA H20", None, "h100"),
        ("NVIDIA H100 NVL", None, "h100"),
        ("NVIDIA B300 SXM6 AC", None, "b200"),
        ("NVIDIA GB200", None, "b200"),
        ("NVIDIA GeForce RTX 4999", "8.9", "rtx4090"),  # nobody's row: the trade still tells
        ("NVIDIA Thor", None, "unlisted"),  # Jetson builds are others
        ("Tesla P100-PCIE-16GB", None, "unlisted"),
    ],
)
def test_auto_takes_the_nearest_board_and_never_the_first_of_the_alphabet(
    name: str, capability: str | None, target: str
) -> None:
    facts = found(Gpu(index=0, name=name, capability=capability))
    assert choose_target("auto", facts, load_targets())[0].name == target


def test_the_pci_id_outranks_the_name() -> None:
    facts = found(Gpu(index=0, name="NVIDIA GeForce RTX 3080"), pci=("0000:01:00.0 10de:220a",))
    model = model_of(facts.gpus.devices[0], facts)  # type: ignore[union-attr]
    assert model is not None
    assert (model.name, model.memory) == ("GeForce RTX 3080 12GB", 12)


def test_speeds_and_their_conditions_of_another_board_are_left_behind() -> None:
    target, _ = choose_target("auto", found(Gpu(index=0, name="NVIDIA L40")), load_targets())
    assert not {"power_limit", "memory"} & set(target.conditions)
    assert target.flags == load_targets()["l40s"].flags


@pytest.mark.parametrize(
    ("names", "peak"),
    [
        (("NVIDIA H100 PCIe",), 756.5),
        (("Tesla T4",), 65.0),  # no bf16: fp16
        (("NVIDIA H100 PCIe", "NVIDIA A40"), 149.7),  # the slowest paces the others
        (("NVIDIA H100 PCIe", "NVIDIA Z1"), None),
        (("NVIDIA H100 80GB HBM3 MIG 1g.10gb",), None),
        ((), None),
    ],
)
def test_the_peak_that_is_handed_to_the_trainer(names: tuple[str, ...], peak: float | None) -> None:
    assert peak_tflops(found(*(Gpu(index=index, name=name) for index, name in enumerate(names)))) == peak
