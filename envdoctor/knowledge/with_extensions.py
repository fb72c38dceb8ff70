"""The extensions that ``--with`` takes, by name; and which release of one goes with a torch, where a table says it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal

from packaging.utils import canonicalize_name

from envdoctor.errors import Trouble
from envdoctor.knowledge import pairs, versions
from envdoctor.knowledge.extensions import MODULES
from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen


@frozen
class PublishedExtension:
    """How an extension is published, and what to do where there is no wheel of it."""

    name: str
    module: str
    built: Literal["wheels", "source"]
    needs: str
    instead: str
    source: str
    first: str = ""  # older releases are not meant: what wheels there are of them are relics
    elsewhere: bool = False  # the registry's project of this name is another one

    def requirement(self, torch: str) -> str:
        """What to ask the index for beside this torch: the wheels' own requirements decide, where they say anything."""
        if self.name == "torchao" and (line := pairs.torchao_for(torch)) is not None:
            return "torchao>=0.17" if line == "0.17" else f"torchao=={line}.*"
        if self.name == "xformers" and versions.release(torch) and (made := pairs.xformers_for(torch)) is not None:
            return f"xformers>={made}" if made == pairs.UNBOUND_XFORMERS else f"xformers=={made}"
        return f"{self.name}>={self.first}" if self.first else self.name

    def without_wheel(self, torch: str, python: str) -> str:
        """What to do where no wheel fits, in sentences."""
        none = f"No wheel of {self.name} fits torch {torch} and Python {python}."
        return f"{none} To build it: {self.needs}. Or: {self.instead}."


_ROWS = Rows(bundled_table("extensions"), "extension", PublishedExtension)


def find_extensions(words: Iterable[str]) -> tuple[PublishedExtension, ...]:
    """The extensions of these words, each once; commas separate names too. Raises `Trouble` for an unknown name."""
    known = {name: name for name in _ROWS.names()}
    spelled = known | {word.replace("_", "-"): name for word, name in MODULES.items() if name in known}
    wanted: dict[str, None] = {}
    for word in (part.strip() for words_ in words for part in words_.split(",")):
        if not word:
            continue
        name = spelled.get(canonicalize_name(word))
        if name is None:
            near = difflib.get_close_matches(canonicalize_name(word), spelled, n=1)
            remedy = f"Did you mean {spelled[near[0]]}?" if near else f"Known: {', '.join(sorted(known))}."
            raise Trouble(f"there is no extension {word!r}", where="--with", remedy=remedy)
        wanted[name] = None
    return tuple(next(_ROWS.among((name,))) for name in wanted)
