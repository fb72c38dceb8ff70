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
from tests.render.checkups import checkup, healthy

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
    check = document(checkup())
    reference = {"name": "as it was", "ratio": 1.0, "interval": [1.0, 1.0]}
    ablation = {"rows": [reference, {"name": "no-packing", "ratio": 0.5, "interval": [0.4, 0.6]}]}
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
        "<td>as it was</td>",
        ">no-packing</text>",
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
        charts.stacked_bar({"data": 1.0, "copy": 0.0}),
        charts.ratios([("a", 1.2, (1.1, 1.3)), ("b", 0.8, (0.7, 0.9))]),
        charts.levels([("a", 1.0), ("b", 0.0)], "it/s"),
        charts.roofline(989.5e12, 794.5e12, 3.35e12, 120.0, 160e12),
        charts.roofline(2.5e11, None, 2e10, 4000.0, 1e11),
    ],
)
def test_charts_hold_only_finite_numbers(chart: str) -> None:
    assert chart.startswith("<svg")
    assert not re.search(r"\b(nan|inf)\b", chart)


def test_nothing_to_draw_draws_nothing() -> None:
    assert charts.trace([], None) == charts.distribution([1.0]) == charts.ratios([]) == charts.levels([], "x") == ""
    assert charts.roofline(1.0, None, 1.0, 0.0, 1.0) == ""


def test_an_earlier_run_becomes_a_page(tmp_path) -> None:
    run = tmp_path / "run.json"
    run.write_text(json.dumps({"schema": 1, "check": document(checkup()), "speed": SPEED, "change": None}))
    out = tmp_path / "out.html"
    result = CliRunner().invoke(envdoctor, ["report", "--from", str(run), "--output", str(out)])
    assert result.exit_code == 0, result.output
    assert "slower: -10 %" in out.read_text()


def test_the_roof_bends_where_memory_and_arithmetic_meet() -> None:
    chart = charts.roofline(1e15, 8e14, 2e12, 5000.0, 3e14)
    points = re.search(r'<polyline points="([^"]+)"', chart)
    assert points
    (x1, y1), (x2, y2), (x3, y3) = (tuple(map(float, pair.split(","))) for pair in points[1].split())
    assert x1 < x2 < x3
    assert y1 > y2 == y3  # up the slope, then level
    circle = re.search(r'<circle cx="([\d.]+)" cy="([\d.]+)"', chart)
    assert circle
    assert float(circle[1]) > x2
    assert float(circle[2]) > y3  # below the roof
    assert "peak 1 PFLOP/s" in chart
    assert "this run 300 TFLOP/s" in chart


def test_suspects_idle_share_costs_and_speed_before_and_after_are_shown() -> None:
    tried = {"mended": "without <MKL_CBWR>", "ratio": 1.25, "interval": [1.2, 1.3]}
    speed = {
        **SPEED,
        "cause": "settings",
        "gpu_idle": 0.83,
        "why": {"sentence": "it is <that>", "remedy": "unset it", "tried": [tried], "not_tried": ["data: 0.1%"]},
        "cost": {"seconds": 7200.0, "money": 4.98, "fixed": {"seconds": 5760.0, "money": 3.98}},
        "conditions": {
            **SPEED["conditions"],  # type: ignore[dict-item]
            "roofline": {"peak": 1e15, "achievable": 8e14, "bandwidth": 3e12, "source": "a probe"},
            "flops_per_step": 1e13,
            "parameters": 135e6,
            "probe_ratios": {"copy_gbs": 0.97},
            "device": {"name": "NVIDIA H100", "machine": "0123456789abcdef"},
        },
    }
    check = document(checkup())
    text = page(check, speed=speed, before=check, before_speed=SPEED)
    for words in (
        "83%", "cause: settings", "it is &lt;that&gt;", "without &lt;MKL_CBWR&gt;", "2 h, 4.98", "1 h 36 min, 3.98",
        "this run 18 TFLOP/s", "34 bytes per weight", "The same workload before and after: 1.00x", "0.97x",
    ):  # fmt: skip
        assert words in text, words
    assert "0123456789abcdef" not in text  # recognises a machine; nobody's business in a shared page
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []


def test_a_verdict_and_what_came_before_are_taken_from_files(tmp_path) -> None:
    run, verdict, out = (tmp_path / name for name in ("run.json", "verdict.json", "out.html"))
    run.write_text(json.dumps({"schema": 1, "check": document(checkup()), "speed": SPEED, "change": None}))
    verdict.write_text(json.dumps({"schema": 1, **SPEED, "steps_per_second": 3.6, "tokens_per_second": {}}))
    words = ["report", "--from", str(run), "--speed", str(verdict), "--before", str(run), "--output", str(out)]
    result = CliRunner().invoke(envdoctor, words)
    assert result.exit_code == 0, result.output
    assert "before and after: 2.00x" in out.read_text()
    verdict.write_text("{}")
    assert "holds no verdict" in str(CliRunner().invoke(envdoctor, words).exception)
