"""Every format by name, and which one suits the place we run in."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Literal

from envdoctor.examination import Examination
from envdoctor.render.document import document
from envdoctor.rule import Rule, Severity

Format = Literal["text", "json", "junit", "sarif", "github", "markdown", "svg"]
FORMATS = ("text", "json", "junit", "sarif", "github", "markdown", "svg")


def rendered(format_: str, examination: Examination, rules: Sequence[Rule], fail_on: Severity | None) -> str:
    """The examination in a format other than text, ending in a newline. Raises KeyError for an unknown one."""
    if format_ == "json":
        return _json(document(examination))
    # Each is imported when it is asked for: the text report must not wait for an XML library.
    maker = getattr(importlib.import_module(f"envdoctor.render.{format_}"), format_)
    arguments = {"sarif": (rules,), "junit": (rules, fail_on), "svg": (rules,)}.get(format_, ())
    made = maker(examination, *arguments)
    return made if isinstance(made, str) else _json(made)


def _json(data: object) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def suited(variables: Mapping[str, str]) -> Format:
    """The default format: annotations under GitHub Actions, text everywhere else."""
    return "github" if variables.get("GITHUB_ACTIONS") == "true" else "text"
