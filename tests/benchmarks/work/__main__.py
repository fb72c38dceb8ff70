"""Count the steps of the bundled workloads again: writes the table of work. `python -m tests.benchmarks.work`"""

from __future__ import annotations

import argparse
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from trainer.data.workloads import WORKLOADS

from tests.benchmarks.work.steps import StepWork, count

TABLE = Path(__file__).resolve().parents[3] / "envdoctor" / "knowledge" / "work.toml"
PRECISIONS = ("bfloat16", "float16", "float32")
HEAD = """\
# What one optimizer step of each bundled workload asks of a GPU, a mean one of the first steps: FLOPs of products by
# number format, FLOPs of attention (forward and backward), bytes that all other kernels read and write, kernels.
# Made by counting the operators of the trainer's own model, loss and update on tensors without content:
#
#     python -m tests.benchmarks.work
#
# tests/speed/test_work.py holds the small workloads against the trainer's code.

schema = 1
read_up_to = "{today}"
"""


def rows(chosen: list[str], cache: Path) -> list[StepWork]:
    """The rows of these workloads."""
    return [count(workload, precision, cache) for workload in chosen for precision in PRECISIONS]


def text(found: list[StepWork]) -> str:
    """The table as TOML."""
    return HEAD.format(today=f"{datetime.now(timezone.utc):%Y-%m-%d}") + "".join(map(_row, found))


def _row(work: StepWork) -> str:
    products = ", ".join(f"{form} = {_short(flops)}" for form, flops in work.products.items())
    values = {
        name: value for name, value in work.as_dict().items() if name not in ("workload", "precision", "products")
    }
    lines = [f'workload = "{work.workload}"', f'precision = "{work.precision}"', f"products = {{ {products} }}"]
    return "\n".join(["\n[[work]]", *lines, *(f"{name} = {_short(value)}" for name, value in values.items())]) + "\n"


def _short(number: float) -> str:
    return repr(float(f"{number:.6g}"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.work", description=__doc__)
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), help="default: all of them")
    with tempfile.TemporaryDirectory() as folder:
        TABLE.write_text(text(rows(parser.parse_args().workloads, Path(folder))), encoding="utf-8")
