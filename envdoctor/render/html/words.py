"""Text and figures inside the page: safe whatever they hold."""

from __future__ import annotations

from html import escape

from envdoctor.facts.scrub import printable


def safe(value: object) -> str:
    """Text from anywhere, safe inside HTML and free of control characters."""
    return escape(printable(str(value)))


def figure(svg: str, caption: str, below: str = "") -> str:
    """A chart with its caption; nothing for no chart. ``below`` is HTML between the two."""
    return f"<figure>{svg}{below}<figcaption>{safe(caption)}</figcaption></figure>" if svg else ""
