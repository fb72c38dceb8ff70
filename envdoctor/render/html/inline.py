"""A report as a part of somebody else's page: the output of a notebook's cell. No script, no network, its own colours.

Style rules hold inside the part alone. Where the page has a theme of its own (JupyterLab, VS Code, Colab), its colours
follow that; elsewhere what the reader's system prefers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from envdoctor.render.html.page import findings, heading, packages
from envdoctor.render.html.style import within
from envdoctor.render.html.words import safe

PLACE = ".envdoctor-report"
DARK = ('[data-jp-theme-light="false"]', ".vscode-dark", ".vscode-high-contrast", "html[theme=dark]")
LIGHT = ('[data-jp-theme-light="true"]', ".vscode-light", ".vscode-high-contrast-light", "html[theme=light]")
FRAME = f"{PLACE} {{ padding: .75rem 1rem 1rem; border-radius: 6px; max-width: 60rem; }}"
SHEET = "\n".join((within(PLACE, dark=DARK, light=LIGHT), FRAME))


def report(check: Mapping[str, Any], notices: Sequence[str] = ()) -> str:
    """A check document. ``notices`` stand above the findings."""
    return _part([*heading(check, ""), *_notices(notices), *findings(check)])


def change(document: Mapping[str, Any], notices: Sequence[str] = ()) -> str:
    """A change document, made or planned."""
    done = document["changed"]
    word = "Changed" if done else "This would be changed" if document["packages"] else "Nothing to change"
    parts = [f'<h1 class="{"good" if done else "soft"}">{word}</h1>', *_notices(notices), *packages(document)]
    return _part(parts)


def _notices(notices: Sequence[str]) -> list[str]:
    return [f'<p class="card warning">{safe(notice)}</p>' for notice in notices]


def _part(parts: Iterable[str]) -> str:
    return f'<div class="{PLACE[1:]}"><style>{SHEET}</style>\n' + "\n".join(parts) + "\n</div>"
