"""Facts in a file: what `envdoctor facts` writes and `check --facts`, `fleet` and the tests read."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from envdoctor import __version__
from envdoctor.errors import Trouble
from envdoctor.facts import scrub, wire
from envdoctor.facts.model import SCHEMA, Facts
from envdoctor.values import document

SIZE_LIMIT = 16 * 1024 * 1024  # bytes; a machine with 400 packages writes about 0.3 MB
_REMEDY = "Write the file again with `envdoctor facts --output FILE`."


def to_document(facts: Facts) -> dict[str, Any]:
    """The facts as a JSON document, scrubbed for sharing."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "envdoctor", "version": __version__},
        "facts": wire.to_json(scrub.shareable(facts)),
    }


def from_document(data: Any, path: Path) -> Facts:
    """Facts from a parsed document; ``path`` is named in errors. Raises `Trouble` with the place of the mistake."""
    if not isinstance(data, dict) or "facts" not in data:
        raise Trouble("not a file of recorded facts", file=path, remedy=_REMEDY)
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise Trouble(f"schema is {schema!r:.40}, not a number", file=path, where="schema", remedy=_REMEDY)
    if schema > SCHEMA:
        problem = f"written by a newer envdoctor (schema {schema}; this one reads {SCHEMA})"
        raise Trouble(problem, file=path, where="schema", remedy="Upgrade envdoctor: pip install -U gpu-envdoctor")
    try:
        facts = wire.from_json(Facts, data["facts"], "facts")
    except wire.WireError as error:
        raise Trouble(error.problem, file=path, where=error.where, remedy=_REMEDY) from error
    if facts.origin.kind == "probe":
        facts = dataclasses.replace(facts, origin=dataclasses.replace(facts.origin, kind="recorded"))
    return facts


def read(path: Path) -> Facts:
    """Facts from a file. Raises `Trouble` naming the file, and the line or the field that is wrong."""
    return from_document(document.read_json(path, limit=SIZE_LIMIT), path)


def write(facts: Facts, path: Path) -> None:
    """Write facts to a file that only its owner may read, whole or not at all."""
    text = json.dumps(to_document(facts), indent=1, ensure_ascii=False) + "\n"
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_text(text, encoding="utf-8")
            return
        document.write_whole(path, text, mode=0o600, through=False)
    except (OSError, Trouble) as error:
        problem = error.problem if isinstance(error, Trouble) else error.strerror or str(error)
        raise Trouble(problem, file=path, remedy="Choose another place for the file.", exit_code=3) from error
