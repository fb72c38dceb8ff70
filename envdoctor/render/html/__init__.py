"""One self-contained HTML file: no network, no script, light and dark, readable at phone width."""

from envdoctor.render.html.page import page

__all__ = ["page"]
