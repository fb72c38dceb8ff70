"""Every format by name, and which one suits the place we run in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from envdoctor.examination import Examination
from envdoctor.render.document import document
from envdoctor.render.github import github
from envdoctor.render.junit import junit
from envdoctor.render.markdown import markdown
from envdoctor.render.sarif import sarif
from envdoctor.render.svg import svg
from envdoctor.rule import Rule, Severity

Format = Literal["text", "json", "junit", "sarif", "github", "markdown", "svg"]
FORMATS = ("text", "json", "junit", "sarif", "github", "markdown", "svg")


def rendered(format_: str, examination: Examination, rules: Sequence[Rule], fail_on: Severity | None) -> str:
    """The examination in a format other than text, ending in a newline. Raises KeyError for an unknown one."""
    makers: Mapping[str, Callable[[], str]] = {
        "json": lambda: _json(document(examination)),
        "sarif": lambda: _json(sarif(examination, rules)),
        "junit": lambda: junit(examination, rules, fail_on),
        "github": lambda: github(examination),
        "markdown": lambda: markdown(examination),
        "svg": lambda: svg(examination, rules),
    }
    return makers[format_]()


def _json(data: object) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def suited(variables: Mapping[str, str]) -> Format:
    """The default format: annotations under GitHub Actions, text everywhere else."""
    return "github" if variables.get("GITHUB_ACTIONS") == "true" else "text"
