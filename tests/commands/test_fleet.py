"""`envdoctor fleet` over files, folders and addresses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import fsspec
import pytest
from click.testing import CliRunner, Result

from envdoctor import cli
from envdoctor.errors import Trouble
from envdoctor.facts.fleet_files import machine, reports
from tests.facts.test_fleet import verdict

MACHINES = Path(__file__).resolve().parents[1] / "facts" / "machines"
CARD = "0123456789abcdef"


def report(driver: str = "580.10", card: str | None = None) -> dict[str, Any]:
    facts = json.loads((MACHINES / "nvidia-h200.json").read_text())
    facts["facts"]["driver"] = {"kernel_module": driver}
    if card:
        facts["facts"]["gpus"]["devices"][0]["identity"] = card
    return dict(facts)


def fleet(*words: str | Path) -> Result:
    return CliRunner().invoke(cli.envdoctor, ["fleet", *map(str, words)], standalone_mode=False)


def write(folder: Path, **documents: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in documents.items():
        (folder / f"{name.replace('__', '.')}.json").write_text(json.dumps(document))
    return folder


def test_a_folder_is_read_with_all_below_it(tmp_path: Path) -> None:
    write(tmp_path / "rack1", n1=report(), n2=report())
    write(tmp_path / "rack2", n1=report("570.1"))
    result = fleet(tmp_path, "--format", "json")
    assert result.return_value == 1
    found = json.loads(result.output)
    assert found["machines"] == 3
    assert found["odd_one_out"] == "rack2/n1"
    assert found["differences"] == [
        {
            "subject": "driver",
            "usual": "580.10",
            "shared": 2,
            "odd": [{"value": "570.1", "count": 1, "machines": ["rack2/n1"]}],
        }
    ]
    text = fleet(tmp_path).output
    assert "driver: most have 580.10 (2), but 570.1: rack2/n1" in text
    assert "The odd one out is rack2/n1." in text


def test_machines_that_are_alike_are_said_to_be(tmp_path: Path) -> None:
    folder = write(tmp_path, a=report(), b=report())
    result = fleet(folder)
    assert (result.return_value, result.output) == (0, "✓ 2 machines, all alike\n")
    assert fleet(folder / "a.json", folder / "b.json").return_value == 0


def test_a_report_that_cannot_be_read_is_no_clean_bill(tmp_path: Path) -> None:
    folder = write(tmp_path, a=report(), b=report())
    (folder / "torn.json").write_text('{"schema": 1, "facts": {')
    (folder / "other.json").write_text('{"schema": 1}')
    result = fleet(folder)
    assert result.return_value == 3
    assert "✓" not in result.output
    assert "2 reports could not be read" in result.output
    assert "torn: not valid JSON" in result.output.replace("\n", " ")
    with pytest.raises(Trouble, match=r"torn\.json"):
        list(reports([str(folder / "torn.json")]))  # named by the user: an error


def test_a_speed_belongs_to_the_machine_of_its_file(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path, **{f"n{number}": report(), f"n{number}__speed": verdict(10.0 if number else 5.0)})
    result = fleet(tmp_path)
    assert result.return_value == 1
    assert "✗ n0: 5, -50% against the median" in result.output


def test_a_card_that_was_slow_is_known_again_in_another_machine(tmp_path: Path) -> None:
    memory = tmp_path / "cards.json"
    cards = [f"{number:016x}" for number in range(4)]
    for number, card in enumerate(cards):
        documents = {f"n{number}": report(card=card), f"n{number}__speed": verdict(10.0 if number else 5.0)}
        write(tmp_path / "first", **documents)
        write(tmp_path / "second", **{f"m{number}": report(card=card), f"m{number}__speed": verdict(10.0)})
    assert "slow before" not in fleet(tmp_path / "first", "--cards", memory).output
    again = fleet(tmp_path / "second", "--cards", memory)
    assert "a card of m0 was slow before: 1 of 1 times, last in n0" in again.output.replace("\n", " ")
    known = json.loads(memory.read_text())["cards"]
    assert known[cards[0]]["seen"] == 2
    assert known[cards[1]]["slow"] == 0
    assert "slow before" not in fleet(tmp_path / "second").output  # nothing is remembered unless it is asked for


@pytest.mark.parametrize("text", ["{}", '{"schema": 1, "cards": {"x": {"seen": "2"}}}', '{"schema": 1, "cards": []}'])
def test_a_file_of_something_else_is_not_overwritten(text: str, tmp_path: Path) -> None:
    memory = tmp_path / "cards.json"
    memory.write_text(text)
    result = fleet(write(tmp_path / "f", a=report(), b=report()), "--cards", memory)
    assert isinstance(result.exception, Trouble)
    assert memory.read_text() == text


def test_the_page_holds_what_the_document_holds(tmp_path: Path) -> None:
    folder = write(tmp_path / "f", **{"a": report(), "b": report(), "<i>c": report("<script>570")})
    target = tmp_path / "fleet.html"
    fleet(folder, "--output", f"html={target}")
    page = target.read_text()
    assert "&lt;script&gt;570" in page
    assert "<script" not in page
    assert "&lt;i&gt;c" in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize("output", ["fleet", "fleet.pdf", "pdf=x", "html="])
def test_an_output_without_a_format_is_refused(output: str, tmp_path: Path) -> None:
    assert isinstance(fleet(write(tmp_path, a=report(), b=report()), "-o", output).exception, Trouble)


def test_an_address_is_read_through_fsspec() -> None:
    store = fsspec.filesystem("memory")
    for name, driver in (("n1", "580.10"), ("n2", "580.10"), ("rack/n3", "570.1")):
        store.pipe(f"/reports/{name}.json", json.dumps(report(driver)).encode())
    store.pipe("/reports/readme.txt", b"not a report")
    result = fleet("memory://reports", "--format", "json")
    assert json.loads(result.output)["odd_one_out"] == "rack/n3"
    store.rm("/reports", recursive=True)


def test_without_fsspec_an_address_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    error = fleet("s3://bucket/reports").exception
    assert isinstance(error, Trouble)
    assert "pip install fsspec" in error.remedy


def test_an_address_that_leads_nowhere_is_one_error() -> None:
    error = fleet("nosuchstore://x/y").exception
    assert isinstance(error, Trouble)
    assert error.remedy


def test_one_machine_is_no_fleet(tmp_path: Path) -> None:
    assert isinstance(fleet(write(tmp_path, a=report())).exception, Trouble)


@pytest.mark.parametrize(
    ("file", "name"),
    [("n1.json", "n1"), ("n1.speed.json", "n1"), ("gpu1.cluster.json", "gpu1.cluster"), ("n1.facts.json", "n1")],
)
def test_a_machine_is_named_after_its_file(file: str, name: str) -> None:
    assert machine(file) == name
