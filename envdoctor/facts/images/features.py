"""Features of a devcontainer: what is built into its image besides, with the options that are given.

Source: https://containers.dev/implementors/features/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from envdoctor.facts.images.documents import Node
from envdoctor.values.frozen import frozen


@frozen
class Feature:
    """``name`` without registry and version: "nvidia-cuda" of "ghcr.io/devcontainers/features/nvidia-cuda:1"."""

    name: str
    line: int
    options: Mapping[str, str] = field(default_factory=dict)


def features(node: Node | None) -> Iterator[Feature]:
    """Those under ``features``; a value that is text is the option ``version``."""
    for reference, line, given in node.named if node is not None else ():
        name = reference.partition("@")[0].rpartition("/")[2].partition(":")[0]
        options = {option: value.text for option, _, value in given.named if value.text is not None}
        if given.text:
            options["version"] = given.text
        yield Feature(name=name, line=line, options=options)
