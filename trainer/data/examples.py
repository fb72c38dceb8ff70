"""Rows of data files: JSON lines, JSON, CSV, parquet or Arrow, each row a mapping, with the place of every fault."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Callable

from trainer.data.remote import is_remote, open_bytes
from trainer.errors import TrainerError

LONGEST = 64 * 2**20  # bytes of a row: some ten million tokens
LISTS = ("data", "rows", "examples", "train", "instances", "samples", "items")  # of rows, in a file of one JSON object
ROWS = 64  # of a parquet file, read at a time: a small file may hold a long text once and name it in every row
Row = tuple[str, dict[str, Any]]  # where it stands ("file, line 3"), and its columns


def existing_files(names: Sequence[str]) -> list[Path]:
    """The data files of the settings; TrainerError when there are none or one is not there."""
    missing = [name for name in names if not Path(name).is_file()]
    if missing or not names:
        message = f"no such file: {', '.join(missing)}" if missing else "no data"
        raise TrainerError("no-data", message, "Set data to JSON lines or parquet files.")
    return [Path(name) for name in names]


def read_rows(files: list[Path]) -> Iterator[Row]:
    """Every row of every file in order. TrainerError names the file and the line of what cannot be read."""
    for path in files:
        count = 0
        for row in SUFFIXES.get(suffix_of(path), _json_lines)(path):
            count += 1
            yield row
        if not count:
            raise TrainerError("empty-data", f"{path}: no examples", "Give a file with at least one example.")


class CountedRows:
    """Rows, and after them how many there were."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows, self.count = rows, 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.count += 1
            yield row


def _json_lines(path: Path) -> Iterator[Row]:
    for number, _, line in raw_lines(path):
        if line.strip():
            place = f"{path}, line {number}"
            yield place, json_row(place, line)


def raw_lines(path: Path, number: int = 0, offset: int = 0) -> Iterator[tuple[int, int, bytes]]:
    """(its number, where the next one begins, a line) of a file of JSON lines, from behind line `number`, which ends at
    byte `offset`. TrainerError names the line that is none.
    """
    try:
        with open_bytes(path) as raw, gzip.open(raw) if suffix_of(path).endswith(".gz") else nullcontext(raw) as stream:
            stream.seek(offset)
            for line in iter(lambda: stream.readline(LONGEST + 1), b""):
                number, offset = number + 1, offset + len(line)
                if len(line) > LONGEST:
                    raise TrainerError(
                        "broken-line", f"{path}, line {number}: longer than {LONGEST >> 20} MB", "Split that row."
                    )
                yield number, offset, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TrainerError("unreadable-file", f"{path}: {error}", "Give a whole gzip file.") from None
    except OSError as error:
        raise _unreadable(path, error.strerror) from None


def rows_from(path: Path, skip: int) -> Iterator[Row]:
    """Rows of a file that is read by rows, without the first `skip`, which parquet and Arrow files pass over unread."""
    kind = suffix_of(path)
    if kind == ".parquet":
        return _parquet(path, skip)
    if kind == ".arrow":
        return _arrow(path, skip)
    return itertools.islice(SUFFIXES[kind](path), skip, None)


def json_row(place: str, line: bytes) -> dict[str, Any]:
    """The row in a line. TrainerError names its place when it is none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TrainerError("broken-line", f"{place}: not JSON ({error})", "Correct or remove that line.") from None
    if not isinstance(row, dict):
        raise TrainerError("broken-line", f"{place}: not an object", 'Each line must be {"column": value, ...}.')
    return row


def is_list(path: Path) -> bool:
    """Is this a JSON file of one list? OSError when it cannot be read."""
    if path.suffix != ".json":
        return False
    with path.open("rb") as stream:
        return stream.read(256).lstrip()[:1] == b"["


def suffix_of(path: Path) -> str:
    """The ending that tells how a data file is read."""
    path = path.with_suffix("") if is_remote(path) else path
    return "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix


def _json(path: Path) -> Iterator[Row]:
    """A list of rows, an object that holds one under a name of LISTS, or JSON lines under this ending."""
    try:
        if not is_list(path) and not _is_object(path):
            yield from _json_lines(path)
            return
        rows = json.loads(path.read_bytes())
        if isinstance(rows, dict):
            rows = next((rows[name] for name in LISTS if _is_rows(rows.get(name))), [rows])
    except OSError as error:
        raise _unreadable(path, error.strerror) from None
    except (ValueError, RecursionError) as error:
        raise TrainerError("broken-line", f"{path}: not JSON ({error})", "Correct the file at that place.") from None
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise TrainerError(
                "broken-line", f"{path}, row {number}: not an object", 'Each row must be {"column": value, ...}.'
            )
        yield f"{path}, row {number}", row


def _is_object(path: Path) -> bool:
    """Is it one object, on one line or on several? OSError when it cannot be read."""
    with path.open("rb") as stream:
        first = stream.readline(LONGEST + 1).strip()
        if first != b"{" and any(line.strip() for line in stream):
            return False
    return first[:1] == b"{"


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _text(path: Path) -> Iterator[Row]:
    """The whole file as one text."""
    try:
        yield str(path), {"text": path.read_text(encoding="utf-8")}
    except OSError as error:
        raise _unreadable(path, error.strerror) from None
    except UnicodeDecodeError as error:
        raise TrainerError("unreadable-file", f"{path}: not UTF-8 at byte {error.start}", "Convert it.") from None


def _csv(path: Path) -> Iterator[Row]:
    """Rows under a line of column names; every value is a text."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
            for row in reader:
                place = f"{path}, line {reader.line_num}"
                if None in row or None in row.values():
                    raise TrainerError(
                        "broken-line", f"{place}: not as many values as the {len(reader.fieldnames or [])} columns",
                        "Correct that line; a value with a separator in it stands in quotes.",
                    )  # fmt: skip
                yield place, dict(row)
    except OSError as error:
        raise _unreadable(path, error.strerror) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise TrainerError("unreadable-file", f"{path}: {error}", "Give a CSV file in UTF-8.") from None


def _parquet(path: Path, skip: int = 0) -> Iterator[Row]:
    yield from _arrow_batches(path, "parquet", lambda _: _parquet_batches(path, skip), skip)


def _arrow(path: Path, skip: int = 0) -> Iterator[Row]:
    """Arrow's stream format, as Dataset.save_to_disk writes it, or its file format."""

    def batches(pyarrow: Any) -> Iterator[tuple[int, Any]]:
        with pyarrow.memory_map(str(path)) as source:
            try:
                reader = pyarrow.ipc.open_stream(source)
            except pyarrow.ArrowInvalid:
                found = pyarrow.ipc.open_file(source)
                reader = (found.get_batch(number) for number in range(found.num_record_batches))
            before = 0
            for batch in reader:
                yield before, batch
                before += batch.num_rows

    yield from _arrow_batches(path, "Arrow", batches, skip)


def _parquet_batches(path: Path, skip: int) -> Iterator[tuple[int, Any]]:
    """(rows before it, batch), from the row group on in which row `skip` is."""
    import pyarrow.parquet as parquet

    with open_bytes(path) if is_remote(path) else nullcontext(path) as where, parquet.ParquetFile(where) as file:
        ends = list(
            itertools.accumulate(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))
        )
        groups = [group for group, end in enumerate(ends) if end > skip]
        before = ends[groups[0] - 1] if groups and groups[0] else 0
        for batch in file.iter_batches(batch_size=ROWS, row_groups=groups) if groups else ():
            yield before, batch
            before += batch.num_rows


def _arrow_batches(
    path: Path, kind: str, batches: Callable[[Any], Iterator[tuple[int, Any]]], skip: int
) -> Iterator[Row]:
    try:
        import pyarrow
    except ImportError:
        raise TrainerError(
            "no-parquet", f"{path}: pyarrow is not installed", "Install pyarrow, or convert to JSON lines."
        ) from None
    try:
        for before, batch in batches(pyarrow):
            left_out = max(0, skip - before)
            if left_out >= batch.num_rows:
                continue
            if batch.nbytes > batch.num_rows * LONGEST:
                raise TrainerError(
                    "broken-line",
                    f"{path}, row {before + 1} or after: longer than {LONGEST >> 20} MB",
                    "Split that row.",
                )
            for number, row in enumerate(batch.slice(left_out).to_pylist(), before + left_out + 1):
                yield f"{path}, row {number}", row
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
        first, _, _ = str(error).partition("\n")
        article = "an" if kind == "Arrow" else "a"
        raise TrainerError("unreadable-file", f"{path}: {first}", f"Give {article} {kind} file.") from None


def _unreadable(path: Path, why: str | None) -> TrainerError:
    return TrainerError("unreadable-file", f"{path}: {why}", "Check the path and its permissions.")


# How a file is read, by its ending; any other is taken for JSON lines.
SUFFIXES: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": _json_lines, ".jsonl.gz": _json_lines, ".json": _json, ".csv": _csv, ".tsv": _csv, ".parquet": _parquet,
    ".arrow": _arrow, ".txt": _text,
}  # fmt: skip
BY_ROWS = (".csv", ".tsv", ".parquet", ".arrow", ".txt")  # all others are read by lines, at any of which one can begin
