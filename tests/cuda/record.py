"""What the commands here that keep a table have in common: count on devices that are not there, keep, show."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.cuda import environment as environments
from tests.cuda.child import Child

RECORDED = Path(__file__).parent / "recorded"
Record = dict[str, Any]


def command(
    about: str, name: str, fill: Callable[[Child, Record], Iterator[str]], table: Callable[[Record], str]
) -> None:
    """`--show FILE`: its table. Otherwise count into `recorded/NAME`, and show that.

    fill: puts what was counted into the record, and yields what that was; it is kept each time.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--output", type=Path, default=RECORDED / name)
    parser.add_argument("--show", type=Path)
    given = parser.parse_args()
    if given.show:
        print(table(json.loads(given.show.read_text("utf-8"))))
        return
    environment = environments.ensure(environments.default_folder(), sys.executable)
    record: Record = {"packages": list(environments.PACKAGES)}
    with tempfile.TemporaryDirectory() as folder:
        child = Child(environment, Path(folder))
        try:
            for counted in fill(child, record):
                given.output.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
                print(counted, file=sys.stderr, flush=True)
        finally:
            child.close()
    print(table(json.loads(json.dumps(record))))


def fullest(answer: dict[str, Any]) -> int:
    """Which step computed most tokens; SystemExit where there is none."""
    if answer["error"]:
        raise SystemExit(answer["error"]["at"])
    return max(range(len(answer["steps"])), key=lambda step: int(answer["slots"][step]))
