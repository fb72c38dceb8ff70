"""A target file for a stack of one's own: the flags and conditions of a known GPU, and no speeds yet."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from envdoctor.locks import target as targets
from envdoctor.locks.target import SCHEMA, Target
from envdoctor.locks.writing.lock import path_of
from envdoctor.system import temporary
from envdoctor.values.document import make_folder


def write_target(name: str, *, folder: Path, like: Target, origin: str, extras: Collection[str] = ()) -> Path:
    """Write ``folder/targets/<name>.toml`` for the stack ``name``: the GPU of ``like``, its flags, no baselines;
    ``extras`` of the stack belong to it.

    ``origin`` says in a word or two what the stack was made from. A target that is there already is kept as it is,
    since it may hold baselines. Raises `Trouble` for a name that cannot be a stack's.
    """
    path_of(name, folder)
    path = folder / "targets" / f"{name}.toml"
    if path.exists():
        return path
    make_folder(path.parent)
    with temporary.folder(beside=path.parent) as draft:
        text = draft / path.name
        text.write_text(text_of(name, like=like, origin=origin, extras=extras), "utf-8")
        targets.load(text)
        os.replace(text, path)
    return path


def text_of(name: str, *, like: Target, origin: str, extras: Collection[str] = ()) -> str:
    """The text of the target file; what `target.load` makes of it equals ``like`` but for name, stack and extras."""
    gpu: dict[str, Any] = {"names": list(like.gpu_names)} if like.gpu_names else {}
    if like.capability is not None:
        gpu["capability"] = like.capability
    tables: dict[str, Any] = {"schema": SCHEMA, "title": like.title}
    tables |= {"stacks": [name]} | ({"extras": list(extras)} if extras else {})
    tables |= {"gpu": gpu} if gpu else {}
    tables |= {"flags": {key: _value(value) for key, value in like.flags.items()}}
    tables |= {"env": dict(like.variables), "conditions": dict(like.conditions), "sources": dict(like.sources)}
    kept: Mapping[str, Any] = {key: value for key, value in tables.items() if value != {}}
    known = f"; GPU, flags and conditions as in the target {like.name}" if gpu or like.flags else ""
    heading = (
        f"# A stack of one's own, from {origin}{known}.\n# Its speed is not known yet: envdoctor baseline record\n"
    )
    return heading.replace("\r", " ") + tomli_w.dumps(kept)


def _value(text: str) -> Any:
    """Flags travel as text inside; in a file they are what they mean."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[1-9]\d{0,8}", text):
        return int(text)
    return text.split(",") if "," in text else text
