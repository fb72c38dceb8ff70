"""Every format by name, and which one suits the place we run in."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from typing import Literal

from envdoctor.render.document import document
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.finding import Severity
from envdoctor.values.pattern import Pattern

Format = Literal["text", "json", "junit", "sarif", "github", "markdown", "svg"]
FORMATS = ("text", "json", "junit", "sarif", "github", "markdown", "svg")


def render_checkup(format_: str, checkup: Checkup, fail_on: Severity | None) -> str:
    """The checkup in a format other than text, ending in a newline. Raises KeyError for an unknown one."""
    if format_ == "json":
        return _json(document(checkup))
    # Each is imported when it is asked for: the text report must not wait for an XML library.
    maker = getattr(importlib.import_module(f"envdoctor.render.{format_}"), format_)
    arguments = (fail_on,) if format_ == "junit" else ()
    made = maker(checkup, *arguments)
    return made if isinstance(made, str) else _json(made)


def _json(data: object) -> str:
    return _UNSHOWN.sub(_escape_match, json.dumps(data, indent=1, ensure_ascii=False)) + "\n"


# JSON lets them stand as they are; a terminal would obey them, and an output in UTF-8 cannot hold the last ones.
_UNSHOWN = Pattern("[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def _escape_match(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def default_format(variables: Mapping[str, str]) -> Format:
    """The default format: annotations under GitHub Actions, text everywhere else."""
    return "github" if variables.get("GITHUB_ACTIONS") == "true" else "text"
