"""Rows of data files: JSON lines or parquet, each row a mapping, with the place of every fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from trainer.errors import TrainerError

Row = Tuple[str, Dict[str, Any]]  # where it stands ("file, line 3"), and its columns


def existing(names: Sequence[str]) -> List[Path]:
    """The data files of the settings; TrainerError when there are none or one is not there."""
    missing = [name for name in names if not Path(name).is_file()]
    if missing or not names:
        message = "no such file: %s" % ", ".join(missing) if missing else "no data"
        raise TrainerError("no-data", message, "Set data to JSON lines or parquet files.")
    return [Path(name) for name in names]


def read_rows(files: List[Path]) -> Iterator[Row]:
    """Every row of every file in order. TrainerError names the file and the line of what cannot be read."""
    for path in files:
        count = 0
        for row in _parquet(path) if path.suffix == ".parquet" else _json_lines(path):
            count += 1
            yield row
        if not count:
            raise TrainerError("empty-data", "%s: no examples" % path, "Give a file with at least one example.")


def _json_lines(path: Path) -> Iterator[Row]:
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                place = "%s, line %d" % (path, number)
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise TrainerError(
                        "broken-line", "%s: not JSON (%s)" % (place, error), "Correct or remove that line."
                    ) from None
                if not isinstance(row, dict):
                    raise TrainerError(
                        "broken-line", "%s: not an object" % place, 'Each line must be {"column": value, ...}.'
                    )
                yield place, row
    except OSError as error:
        raise TrainerError(
            "unreadable-file", "%s: %s" % (path, error.strerror), "Check the path and its permissions."
        ) from None


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise TrainerError(
            "no-parquet", "%s: pyarrow is not installed" % path, "Install pyarrow, or convert to JSON lines."
        ) from None
    try:
        table = parquet.ParquetFile(path)
        number = 0
        for batch in table.iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield "%s, row %d" % (path, number), row
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
        raise TrainerError(
            "unreadable-file", "%s: %s" % (path, str(error).split("\n")[0]), "Give a parquet file."
        ) from None
