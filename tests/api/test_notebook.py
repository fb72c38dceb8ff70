"""`check()` in a notebook: run for real by a kernel, shown without script or network, its style kept to itself."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from envdoctor import check
from envdoctor.api import notebook
from envdoctor.render.html.inline import PLACE, SHEET

MACHINES = Path(__file__).resolve().parents[1] / "facts" / "machines"


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def require_inert(html: str) -> None:
    """No script, no handler, nothing that is fetched."""
    tags = Page(html).tags
    assert not {name for name, _ in tags} & {"script", "link", "img", "iframe", "object", "embed", "html", "body"}
    assert not [key for _, found in tags for key in found if key.startswith("on") or key in ("src", "href")]
    assert "url(" not in html
    assert "@import" not in html


def test_a_report_shows_itself_as_text_and_as_html() -> None:
    report = check(facts=MACHINES / "nvidia-h200.json", target="h100")
    html = report._repr_html_()
    require_inert(html)
    assert "NVIDIA H200" in html
    assert report.root_cause is not None
    cause = report.root_cause.rule
    assert cause in html
    text = repr(report)
    assert f"{cause} (root cause)" in text
    assert "envdoctor fix --target h100" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)


def test_its_rules_hold_inside_the_report_alone() -> None:
    bare = re.sub(r"@media[^{]*\{", "", SHEET)
    selectors = [name.strip(" }\n") for rule in re.findall(r"([^{}]+)\{", bare) for name in rule.split(",")]
    assert len(selectors) > 40
    assert [name for name in selectors if PLACE not in name] == []


def test_what_an_environment_says_of_itself_stays_text() -> None:
    report = check(facts=MACHINES / "nvidia-h200.json", target="h100")
    import dataclasses

    evil = dataclasses.replace(report.findings[0], subject="<script>alert(1)</script>", message="<img src=x onerror=1>")
    html = dataclasses.replace(report, findings=(evil,))._repr_html_()
    require_inert(html)
    assert "&lt;script&gt;" in html


def test_outside_of_a_notebook_there_is_no_kernel() -> None:
    assert notebook.kernel() is None
    assert not hasattr(check(facts=MACHINES / "nvidia-h200.json"), "notices")


def test_a_module_in_another_version_than_installed_asks_for_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    old: Any = types.ModuleType("safetensors")
    old.__version__ = "0.0.1"
    monkeypatch.setitem(sys.modules, "safetensors", old)
    (told,) = notebook.stale()
    assert "safetensors 0.0.1" in told
    assert "restart the kernel" in told


@pytest.mark.parametrize(
    ("env", "changed", "told"),
    [
        (None, True, "Restart the kernel before you go on"),
        (sys.prefix, True, "Restart the kernel before you go on"),
        (sys.executable, False, "restart the kernel after it"),
        ("/another/environment", True, ""),
    ],
)
def test_a_change_under_a_running_kernel_asks_for_a_restart(
    env: str | None, changed: bool, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook, "kernel", lambda: Path(sys.executable))
    change = notebook.change({"changed": changed, "strategy": "exchange", "packages": []}, env)
    for shown in (repr(change), change._repr_html_()):
        assert told in " ".join(shown.split())
        assert ("kernel" in shown) == bool(told)


CELLS = (
    "from envdoctor import check, fix\nimport sys\nreport = check(target='cpu')\nreport",
    "print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))\n"
    "print(report.environment.torch, report.environment.path)",
    "fix(target='cpu')",
    "class Old: __version__ = '1.0'\nsys.modules['torch'] = Old\ncheck(target='cpu', torch=False)",
)


@pytest.mark.slow
def test_a_real_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's own environment is judged, whichever is active where the notebook's server was started."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "another"))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    shown, printed, planned, stale = (cell.outputs[-1] for cell in book.cells)
    require_inert(shown.data["text/html"])
    assert "target cpu" in shown.data["text/plain"]
    loaded, about = printed.text.splitlines()
    assert loaded == "[]"
    version, path = about.split(maxsplit=1)
    assert version[0].isdigit()  # torch was imported, in a child
    assert Path(path).expanduser().resolve() == Path(sys.prefix).resolve()
    assert "torch 1.0 (installed: " in stale.data["text/plain"]
    assert "restart the kernel" in stale.data["text/html"]
    told = planned.data["text/plain"]
    assert "Nothing to change" in told or "restart the kernel after it" in told
    (tmp_path / "shown.html").write_text(shown.data["text/html"])
