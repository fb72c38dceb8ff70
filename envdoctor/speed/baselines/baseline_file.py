"""A baseline as TOML, put into its target's file without touching the rest of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from envdoctor.errors import Trouble
from envdoctor.locks.target import Baseline, Target, load
from envdoctor.system import temporary
from envdoctor.values.document import read_text, write_whole


def write(baseline: Baseline, path: Path) -> None:
    """Put the baseline into the target file: replace the one of its workload, stack and precision, or append it.

    Every other line of the file, comments included, stays as it is. The file is replaced whole or not at all. Raises
    `Trouble` when it cannot be read or written, or when the rest of it would change.
    """
    before = load(path)
    same = [_replaces(baseline, old) for old in before.baselines]
    text = replace_tables(read_text(path), baseline, same)
    kept = tuple(old for old, replaced in zip(before.baselines, same, strict=True) if not replaced)
    if not _only_baselines_differ(before, kept, text):
        raise Trouble(
            "the baseline cannot be put in without changing other lines",
            file=path,
            remedy="Move multi-line texts out of the file, or paste the table by hand.",
        )
    write_whole(path, text)


def _replaces(fresh: Baseline, old: Baseline) -> bool:
    """Of the same workload and stack, in the same number format as far as the old one says."""
    format_ = old.conditions.get("precision", fresh.conditions.get("precision"))
    return (old.workload, old.stack, format_) == (fresh.workload, fresh.stack, fresh.conditions.get("precision"))


def _only_baselines_differ(before: Target, kept: tuple[Baseline, ...], text: str) -> bool:
    """Read the new text as any target file is read, beside nothing that it could replace."""
    with temporary.folder() as folder:
        fresh = folder / (before.path.name if before.path is not None else "target.toml")
        fresh.write_text(text, "utf-8")
        try:
            after = load(fresh)
        except Trouble:
            return False
    same_rest = replace(after, path=before.path, baselines=()) == replace(before, baselines=())
    return same_rest and after.baselines[:-1] == kept


def replace_tables(text: str, baseline: Baseline, replaced: Sequence[bool]) -> str:
    """The target file's text with this baseline at its end; ``replaced`` says which of its [[baseline]] tables go."""
    gone = iter(replaced)
    kept = "".join(block for block in _blocks(text) if not (_is_baseline(block) and next(gone, False)))
    return kept.rstrip("\n") + "\n\n" + as_toml(baseline)


def _blocks(text: str) -> list[str]:
    """The text cut before each top-level table header; a [[baseline]] keeps its own sub-tables ([baseline.conditions]).

    Comments and blank lines right above a header belong to the block that follows.
    """
    blocks: list[list[str]] = [[]]
    for line in text.splitlines(keepends=True):
        header = re.match(r"\[\[?\s*([\w-]+)", line)
        if header and not re.match(r"\[\[?\s*baseline\s*\.", line):
            above: list[str] = []
            while blocks[-1] and re.match(r"\s*(#|$)", blocks[-1][-1]):
                above.insert(0, blocks[-1].pop())
            blocks.append(above)
        blocks[-1].append(line)
    return ["".join(block) for block in blocks]


def _is_baseline(block: str) -> bool:
    return re.search(r"^\[\[\s*baseline\s*\]\]", block, re.MULTILINE) is not None


def as_toml(baseline: Baseline) -> str:
    """One [[baseline]] table: a row of windows per process, inline probes and conditions, so that it stays short."""
    lines = ["[[baseline]]"]
    for name in ("workload", "stack", "evidence", "lock", "gpu", "steps_per_second", "source"):
        value = getattr(baseline, name)
        if value not in (None, ""):
            lines.append(f"{name} = {_inline(value)}")
    for name in ("windows", "paces", "probes"):
        rows = getattr(baseline, name)
        if rows:
            lines += [f"{name} = [", *(f"    {_inline(row)}," for row in rows), "]"]
    if baseline.conditions:
        lines.append("[baseline.conditions]")
        lines += [f"{_bare(str(name))} = {_inline(value)}" for name, value in baseline.conditions.items()]
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{_bare(str(key))} = {_inline(member)}" for key, member in value.items() if member is not None
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_inline(member) for member in value) + "]"
    return tomli_w.dumps({"v": value}).partition("=")[2].strip()


def _bare(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else tomli_w.dumps({key: 0}).rpartition(" = ")[0]
