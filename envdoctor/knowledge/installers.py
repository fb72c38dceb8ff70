"""What a text tells of how its packages were asked for: an index, a page of wheels, a project with a lock."""

from __future__ import annotations

from envdoctor.knowledge.circumstance import Circumstance
from envdoctor.values.pattern import Pattern

FLAT_PAGE = Circumstance(
    of=Pattern(
        r"No solution found|there (?:is|are) no versions? of|No matching distribution found"
        r"|Could not find a version that satisfies|not found in the package registry|404 .{0,60}\.html/"
    ),
    said=Pattern(
        r"(?P<option>--(?:extra-|default-)?index(?:-url)?|(?<![\w-])-i)[ =]{1,3}['\"]?(?:[\w-]{1,30}=)?"
        r"(?P<url>https?://[^\s'\"`]{1,200}\.html)\b"
        r"|\b(?:extra-)?index-url['\"]? ?= ?\[?['\"]?(?P<address>https?://[^\s'\"`]{1,200}\.html)\b"
    ),
)
"""A page that lists wheels, given as an index."""

AN_INDEX = Circumstance(
    of=Pattern(r"Could not find a version that satisfies|No matching distribution found"),
    said=Pattern(r"/whl/(?:nightly/|test/)?cu(?P<line>\d{2,3})(?!\d)"),
)
"""An index of PyTorch by its CUDA line."""

OF_A_PROJECT = Circumstance(
    of=Pattern(r"CUDA|\bGPU"),
    said=Pattern(
        r"\b(?P<uv>uv (?:sync|run|add|lock)|uv\.lock|\[tool\.uv)\b|\b(?:poetry (?:install|add|lock|update|run)"
        r"|poetry\.lock|pdm (?:install|add|sync)|pixi (?:install|add|run|shell))\b"
    ),
)
"""What is installed stands in a project's lock, which the next installation brings back."""

CIRCUMSTANCES = (FLAT_PAGE, AN_INDEX, OF_A_PROJECT)
