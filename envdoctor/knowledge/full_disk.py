"""What a text tells of the machine whose disk is full."""

from __future__ import annotations

import re

from envdoctor.knowledge.circumstance import Circumstance
from envdoctor.values.pattern import Pattern

ON_A_RUNNER = Circumstance(
    of=Pattern(r"no space left on device", re.IGNORECASE),
    said=Pattern(
        r"\bGitHub[- ]Actions?\b|\bGH Actions?\b|/home/runner/|\bubuntu-latest\b|\bruns-on:|\bhostedtoolcache\b"
        r"|\bGitHub[- ]hosted\b|##\[error\]|\bGitLab(?: CI|\.com runner)|\bCircleCI\b|\bazure pipelines?\b",
        re.IGNORECASE,
    ),
    unless=Pattern(r"\bself[- ]hosted\b", re.IGNORECASE),
)
"""A job of a service that builds and tests, on a machine that the service lends."""

BY_PIP = Circumstance(
    of=Pattern(r"no space left on device", re.IGNORECASE),
    said=Pattern(
        r"could not install packages due to an (?:oserror|environmenterror)|\[raised in pip\]"
        r"|[/\\]pip[/\\]_(?:internal|vendor)[/\\]|[/\\]pip-(?:unpack|install|req-build|wheel|build-env)-\w",
        re.IGNORECASE,
    ),
)
"""The line, a frame or a folder is pip's own: its temporary folder is the first place to look at."""
