"""Do the ranks of a job agree, and is one of them missing, sick or slow? Pure, from what rank 0 heard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envdoctor.facts.fleet import Fleet, Oddity
from envdoctor.ranks.meeting import Met
from envdoctor.values.frozen import frozen

MUST_AGREE = ("package ", "python", "torch ", "flag ", "driver", "GPU")
"""What makes one job of different programs. Kernels and CPUs may differ; that is told, and no error."""

CLOCKS = 1.0  # seconds between the clocks of two ranks after one barrier; a barrier takes milliseconds
BANDWIDTH_SIZE = 16 * 2**20
LATENCY_SIZE = 4


@frozen
class RankAgreement:
    """What rank 0 found. ``exit_code``: 0 go, 1 something found, 3 somebody did not come."""

    world: int
    hosts: tuple[str, ...]
    missing: tuple[int, ...]
    sick: Mapping[str, str]  # rank -> its first error
    disagreements: tuple[Oddity, ...]
    differences: tuple[Oddity, ...]  # that may be
    odd_one_out: str | None
    slow: Mapping[str, float]  # rank -> share of the median matmul rate, where GPUs were timed
    failed: Mapping[str, str]  # rank -> why its all-reduce failed
    backend: str | None
    latency: float | None  # seconds of an all-reduce of 4 bytes, the slowest rank's best
    bandwidth: float | None  # bytes/s of the bus in one of 16 MiB: 2 (n - 1) / n times its size by its time
    clock_spread: float | None  # seconds
    misnamed: Mapping[str, str]  # rank -> its interface, where the host's own name leads elsewhere: gloo would use that

    @property
    def exit_code(self) -> int:
        if self.missing:
            return 3
        return 1 if self.sick or self.disagreements or self.slow or self.failed else 0


def agreement(met: Met) -> RankAgreement:
    """Judge what was heard."""
    names = {rank: f"rank {rank} ({document.get('host', '?')})" for rank, document in met.documents.items()}
    fleet = Fleet()
    on_gpus = all(document.get("cuda") for document in met.documents.values())
    for rank, document in met.documents.items():
        rate = document.get("speed") if on_gpus else None
        probes = {"now": {"matmul": rate}} if rate else {}
        fleet.add(names[rank], {"facts": document["facts"], "reference_probes": probes})
    comparison = fleet.compared()
    times = {rank: told.get("seconds", {}) for rank, told in met.collective.items()}
    latency = _slowest(times, LATENCY_SIZE, met.world)
    spent = _slowest(times, BANDWIDTH_SIZE, met.world)
    clocks = [told["clock"] for told in met.collective.values() if told.get("clock")]
    must = [oddity for oddity in comparison.oddities if oddity.subject.startswith(MUST_AGREE)]
    return RankAgreement(
        world=met.world,
        hosts=tuple(sorted({str(document.get("host", "?")) for document in met.documents.values()})),
        missing=met.missing,
        sick=dict(_sick(met, names)),
        disagreements=tuple(must),
        differences=tuple(oddity for oddity in comparison.oddities if oddity not in must),
        odd_one_out=comparison.odd_one_out,
        slow={n: rate / speed.median for speed in comparison.speeds for n, rate in speed.slow.items()},
        failed={names.get(r, f"rank {r}"): str(t["error"]) for r, t in met.collective.items() if t.get("error")},
        backend=met.backend,
        latency=latency,
        bandwidth=2 * (met.world - 1) / met.world * BANDWIDTH_SIZE / spent if spent else None,
        misnamed={
            names.get(rank, f"rank {rank}"): str(told["interface"])
            for rank, told in sorted(met.collective.items())
            if told.get("resolves") is False and told.get("interface")
        },
        clock_spread=max(clocks) - min(clocks) if len(clocks) == met.world else None,
    )


def _sick(met: Met, names: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    for rank, document in sorted(met.documents.items()):
        check: Mapping[str, Any] = document.get("check", {})
        errors = [found for found in check.get("findings", ()) if found.get("severity") == "error"]
        if errors:
            more = f" (and {len(errors) - 1} more errors)" if len(errors) > 1 else ""
            yield names[rank], f"{errors[0].get('message')}{more}"
        elif check.get("outcome") == "unknown":
            yield names[rank], "it could not be judged"


def _slowest(times: Mapping[int, Mapping[str, float]], size: int, world: int) -> float | None:
    known = [seconds for told in times.values() if (seconds := told.get(str(size)))]
    return max(known) if len(known) == world else None
