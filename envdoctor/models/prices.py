"""A user's price list: what an hour on each target costs, in the currency and words in which it was typed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.speed.cost import Price
from envdoctor.values.document import read_toml

EXAMPLE = 'Write one target a line, as in: h100 = "2.49 USD/h"'


def read(path: Path, targets: Iterable[str]) -> Mapping[str, Price]:
    """The prices of a TOML file, by target. Raises `Trouble` with the field of the first mistake."""
    known = set(targets)
    found: dict[str, Price] = {}
    for name, value in read_toml(path).items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise Trouble(
                f"there is no target {name!r}",
                file=path,
                where=name,
                remedy=f"{hint}Known: {', '.join(sorted(known))}.",
            )
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise Trouble("is no price", file=path, where=name, remedy=EXAMPLE)
        try:
            found[name] = Price.parse(str(value))
        except ValueError as error:
            raise Trouble(str(error), file=path, where=name, remedy=EXAMPLE) from error
    if not found:
        raise Trouble("names no price", file=path, remedy=EXAMPLE)
    return found
