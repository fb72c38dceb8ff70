"""The HTML report: one file, no network, safe against hostile text, and every section from its own document."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from envdoctor.cli import envdoctor
from envdoctor.render.document import document
from envdoctor.render.html import charts, page
from tests.render.examinations import examination, healthy

SPEED = {
    "verdict": "slower",
    "workload": "chat-5m",
    "ratio": 0.9,
    "interval": [0.88, 0.92],
    "steps_per_second": 1.8,
    "tokens_per_second": {"real": 3600.0, "trained": 2800.0, "slots": 3600.0},
    "mfu": 0.41,
    "of_achievable": 0.5,
    "breakdown": {"data": 0.5, "forward": 0.2, "backward": 0.3},
    "windows": [[1.8, 1.7, 1.9], [1.8, 1.8, 1.75]],
    "reference_probes": {"before": {"copy_gbs": 20.0}},
    "conditions": {"sentence": "slower: -10 %", "reasons": ["the <b>data</b> waits"], "precision": "float32"},
    "baseline": {"windows": [[2.0, 2.0, 2.0]]},
    "cost": {"seconds": 7200.0, "money": 4.98},
}
VOID = {"meta", "rect", "line", "circle", "polyline", "br"}


class Balanced(HTMLParser):
    """Every tag that opens closes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open, tag
            assert self.open.pop() == tag


def full() -> str:
    check = document(examination())
    ablation = {"rows": [{"name": "no-packing", "ratio": 0.5, "interval": [0.4, 0.6]}]}
    return page(check, speed=SPEED, before=check, change={"packages": []}, ablation=ablation, made="today")


@pytest.mark.parametrize("text", [full(), page(document(healthy()))], ids=["everything", "healthy"])
def test_it_is_whole_and_self_contained(text: str) -> None:
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert not re.search(r"<(script|link|img|iframe|object)\b|\bsrc=|@import|url\(|https?://", text)
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_hostile_text_stays_text() -> None:
    text = full()
    assert "<b>data</b>" not in text
    assert "the &lt;b&gt;data&lt;/b&gt; waits" in text
    assert "\x1b" not in text


def test_sections_come_from_their_documents() -> None:
    text = full()
    for words in (
        "Speed",
        "Findings (6)",
        "root cause",
        "Before and after",
        "What each setting is worth here",
        "Conditions",
    ):
        assert words in text
    bare = page(document(healthy()))
    assert "Conditions" not in bare
    assert "Before and after" not in bare


@pytest.mark.parametrize(
    "chart",
    [
        charts.trace([[1.0, 2.0], [1.5]], 1.6),
        charts.distribution([1.0, 1.0, 1.0]),
        charts.stacked({"data": 1.0, "copy": 0.0}),
        charts.ratios([("a", 1.2, (1.1, 1.3)), ("b", 0.8, (0.7, 0.9))]),
        charts.levels([("a", 1.0), ("b", 0.0)], "it/s"),
    ],
)
def test_charts_hold_only_finite_numbers(chart: str) -> None:
    assert chart.startswith("<svg")
    assert not re.search(r"\b(nan|inf)\b", chart)


def test_nothing_to_draw_draws_nothing() -> None:
    assert charts.trace([], None) == charts.distribution([1.0]) == charts.ratios([]) == charts.levels([], "x") == ""


def test_an_earlier_run_becomes_a_page(tmp_path) -> None:
    run = tmp_path / "run.json"
    run.write_text(json.dumps({"schema": 1, "check": document(examination()), "speed": SPEED, "change": None}))
    out = tmp_path / "out.html"
    result = CliRunner().invoke(envdoctor, ["report", "--from", str(run), "--output", str(out)])
    assert result.exit_code == 0, result.output
    assert "slower: -10 %" in out.read_text()
