"""What was timed of a step and its parts, as JSON, as a table, and against the model with two efficiencies fitted."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from envdoctor.knowledge.work import Work
from envdoctor.speed.modelled import Efficiency, Rates, expected_step

from tests.benchmarks.work.counting import Counted, Shape

TASKS = ("sft", "pretrain", "gritlm")
SIZES = {
    "5m": (256, 6, 4, 2, 704, 2048),
    "12m": (384, 8, 6, 2, 1024, 2048),
    "30m": (512, 9, 8, 4, 1408, 2048),
}


@dataclass
class Cell:
    """One size, task and format: seconds of each probe and step, by round."""

    size: str
    task: str
    precision: str
    work: list[Counted] = field(default_factory=list)
    tokens: float = 0.0
    steps: list[list[float]] = field(default_factory=list)  # by batch
    products: dict[Shape, list[float]] = field(default_factory=dict)
    attention: list[list[float]] = field(default_factory=list)  # by batch, of all layers
    passes: dict[int, list[float]] = field(default_factory=dict)  # seconds a byte, by size
    launch: list[float] = field(default_factory=list)
    faults: list[list[int]] = field(default_factory=list)  # pages touched for the first time in a step, by batch
    page: list[float] = field(default_factory=list)  # seconds for one of them


def work_and_rates(cell: Cell) -> tuple[Work, Rates, float]:
    """The mean step, what the machine gives to just such work, and the seconds it took.

    Every probe is held against the step of its own round, and the middle of the rounds is taken: what the machine does
    to a whole round cancels out.
    """
    every, mean = cell.work, statistics.fmean
    seconds = [mean(times[number] for times in cell.steps) for number in range(len(cell.launch))]
    usual = statistics.median(seconds)

    def at_usual_pace(spent: Sequence[float]) -> float:
        return usual * statistics.median(one / step for one, step in zip(spent, seconds))

    rounds = range(len(seconds))
    flops = {form: mean(one.products[form] for one in every) for form in set().union(*(set(o.products) for o in every))}
    counts = {shape: mean(one.shapes[shape] for one in every) for shape in cell.products}
    products = {
        form: at_usual_pace(
            [math.fsum(t[n] * counts[s] for s, t in cell.products.items() if s[1] == form) for n in rounds]
        )
        for form in flops
    }
    attention = mean(one.attention for one in every)
    attending = at_usual_pace([mean(times[n] for times in cell.attention) for n in rounds])
    sizes = {size: mean(one.sizes[size] for one in every) for size in set().union(*(set(o.sizes) for o in every))}
    largest = max(cell.passes)
    moving = at_usual_pace(
        [
            math.fsum(count * cell.passes.get(s, cell.passes[largest])[n] for s, count in sizes.items())
            + mean(times[n] for times in cell.faults) * cell.page[n]
            for n in rounds
        ]
    )
    total = mean(one.bytes for one in every)
    work = Work(
        precision=cell.precision, tokens=cell.tokens, products=flops, attention=attention, bytes=total,
        optimizer_bytes=mean(one.optimizer_bytes for one in every), launches=mean(one.launches for one in every),
    )  # fmt: skip
    rates = Rates(
        products={form: flops[form] / products[form] for form in flops}, attention=attention / attending,
        bandwidth=total / moving, launch=at_usual_pace(cell.launch), beside=False,
        efficiency=Efficiency(products=1.0, attention=1.0, memory=1.0, log_sd=0.15),
    )  # fmt: skip
    return work, rates, usual


Known = list[tuple[Work, Rates, float]]


def log_errors(known: Known, products: float, memory: float) -> list[float]:
    """Log of expected over measured seconds."""
    reached = Efficiency(products=products, attention=1.0, memory=memory, log_sd=0.15)
    return [
        math.log(expected_step(work, replace(rates, efficiency=reached)).seconds / seconds)
        for work, rates, seconds in known
    ]


def fit(known: Known) -> tuple[float, float]:
    """The two efficiencies of least squares."""
    grid = [math.exp(number / 40) for number in range(-60, 25)]
    return min(
        ((a, b) for a in grid for b in grid),
        key=lambda pair: math.fsum(error * error for error in log_errors(known, *pair)),
    )


def predicted(known: Known) -> list[float]:
    """Log errors of every cell, each third of them predicted with the efficiencies of the other two."""
    found = [0.0] * len(known)
    for third in range(3):
        efficiencies = fit([one for number, one in enumerate(known) if _third(number) != third])
        errors = log_errors(known, *efficiencies)
        for number in range(len(known)):
            if _third(number) == third:
                found[number] = errors[number]
    return found


def _third(number: int) -> int:
    """Cells lie in the order size, task, format: each third has every size, task and format."""
    return (number // 2 + number // 6) % 3


def place_of(cell: Cell) -> tuple[int, int, int]:
    """By size, task and format, wherever the cell was timed."""
    return list(SIZES).index(cell.size), TASKS.index(cell.task), ("float32", "bfloat16").index(cell.precision)


def as_json(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The raw record."""
    return [
        {
            "size": cell.size, "task": cell.task, "precision": cell.precision, "tokens": cell.tokens,
            "steps": cell.steps, "attention": cell.attention, "launch": cell.launch, "faults": cell.faults,
            "page": cell.page,
            "products": [[*_plain(shape), times] for shape, times in cell.products.items()],
            "passes": list(cell.passes.items()),
            "work": [
                {
                    "products": dict(one.products), "attention": one.attention, "bytes": one.bytes,
                    "optimizer_bytes": one.optimizer_bytes, "launches": one.launches,
                    "shapes": [[*_plain(shape), count] for shape, count in one.shapes.items()],
                    "sizes": list(one.sizes.items()),
                }
                for one in cell.work
            ],
        }
        for cell in cells
    ]  # fmt: skip


def _plain(shape: Shape) -> list[Any]:
    return [shape[0], shape[1], [list(size) for size in shape[2]], list(shape[3])]


def _shape(plain: Sequence[Any]) -> Shape:
    return plain[0], plain[1], tuple(tuple(size) for size in plain[2]), tuple(plain[3])


def from_json(rows: Sequence[dict[str, Any]]) -> list[Cell]:
    """The cells of a raw record."""
    cells = []
    for row in rows:
        cell = Cell(row["size"], row["task"], row["precision"], tokens=row["tokens"], steps=row["steps"])
        cell.attention, cell.launch = row["attention"], row["launch"]
        cell.faults, cell.page = row["faults"], row["page"]
        cell.products = {_shape(item[:4]): item[4] for item in row["products"]}
        cell.passes = dict(row["passes"])
        for one in row["work"]:
            counted = Counted(attention=one["attention"], bytes=one["bytes"], launches=one["launches"])
            counted.products.update(one["products"])
            counted.shapes.update({_shape(item[:4]): item[4] for item in one["shapes"]})
            counted.sizes.update(dict(one["sizes"]))
            cell.work.append(counted)
        cells.append(cell)
    return cells


def table(cells: Sequence[Cell]) -> str:
    """Every cell's expectation, and what they come to."""
    known = [work_and_rates(cell) for cell in cells]
    errors = predicted(known)
    products, memory = fit(known)
    lines = [
        "| size | task | format | measured | expected | products | attention | memory | launches |",
        "|---" * 9 + "|",
    ]
    for cell, (work, rates, seconds), error in zip(cells, known, errors):
        reached = Efficiency(products=products, attention=1.0, memory=memory, log_sd=0.15)
        shares = expected_step(work, replace(rates, efficiency=reached)).shares
        lines.append(
            f"| {cell.size} | {cell.task} | {cell.precision} | {seconds * 1e3:.0f} ms | {math.exp(error):.2f}x | "
            + " | ".join(f"{share:.0%}" for share in shares.values())
            + " |"
        )
    bias, spread = statistics.fmean(errors), statistics.stdev(errors)
    lines += [
        "", f"{len(cells)} cells, each predicted from the other two thirds: bias {math.expm1(bias):+.1%}, log-sd "
        f"{spread:.3f}; efficiencies of all: products {products:.2f}, memory {memory:.2f}",
    ]  # fmt: skip
    return "\n".join(lines)
