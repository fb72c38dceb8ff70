"""``preflight`` in every process of a distributed job: all examine, rank 0 judges and prints once, all end alike."""

from __future__ import annotations

import time
from collections.abc import Iterator

from envdoctor import doctor
from envdoctor.commands import _failure
from envdoctor.commands._output import print_json, say, stderr, stdout
from envdoctor.errors import Trouble
from envdoctor.facts import recorded
from envdoctor.facts.environment import Environment
from envdoctor.facts.fleet import Oddity, Some
from envdoctor.facts.scrub import printable
from envdoctor.ranks.agreement import CLOCKS, RankAgreement, agreement
from envdoctor.ranks.launch import Launch
from envdoctor.ranks.meeting import SECONDS, Met, document_of, meet
from envdoctor.render.document import document as check_document
from envdoctor.rules.checkup import CheckOptions


def preflight_together(
    environment: Environment, launch: Launch, options: CheckOptions, *, format_: str = "text", seconds: float = SECONDS
) -> int:
    """Examine this rank, meet the others, and return the exit code that rank 0 decided on for all.

    ``seconds`` are counted from here; where the examination takes long, half of them are left for the others.
    Raises `Trouble` (exit code 3) on a rank that did not hear of it in time.
    """
    began = time.monotonic()
    if launch.rank != 0:  # whose stdout the launcher mixes with that of rank 0
        _failure.stdout_taken()
    checkup = doctor.examine(environment, options)
    left = max(seconds - (time.monotonic() - began), seconds / 2)  # the others were examined meanwhile
    own = document_of(launch, recorded.to_document(checkup.facts)["facts"], check_document(checkup))
    if launch.rank == 0:
        say(stderr(), f"... waiting for {launch.world} ranks ({launch.launcher}), {left:.0f} s at most")

    def decide(met: Met) -> int:
        found = agreement(met)
        if format_ == "json":
            print_json(as_json(found))
        else:
            for sentence in sentences(found):
                stdout().print(printable(sentence, keep_lines=True), markup=False, soft_wrap=True)
        return found.exit_code

    ended = meet(environment, launch, own, decide, seconds=left)
    if isinstance(ended, int):
        return ended
    who = "the other ranks" if launch.rank == 0 else "rank 0"
    raise Trouble(
        f"rank {launch.rank} of {launch.world} did not hear of {who} within {seconds:.0f} s: {ended}",
        remedy=f"Is {launch.address}, port {launch.port}, reachable from here, and does every rank run preflight?",
        exit_code=3,
    )


def sentences(found: RankAgreement) -> Iterator[str]:
    """What a person reads, the worst first."""
    for number in found.missing:
        yield f"✗ rank {number} did not answer: it died, hangs, or cannot reach rank 0"
    for rank, why in found.failed.items():
        yield f"✗ {rank}: the all-reduce failed: {why}"
    for rank, message in found.sick.items():
        yield f"✗ {rank}: {message}"
    for oddity in found.disagreements:
        yield f"✗ {oddity.subject}: {_odd(oddity)}"
    for rank, share in found.slow.items():
        yield f"✗ {rank} is slow: {share:.0%} of the median rank's rate"
    if found.odd_one_out:
        yield f"  The odd one out is {found.odd_one_out}."
    for oddity in found.differences:
        yield f"  {oddity.subject}: {_odd(oddity)}"
    if found.clock_spread is not None and found.clock_spread > CLOCKS:
        yield f"! the clocks of the ranks are {found.clock_spread:.1f} s apart: logs cannot be compared"
    for rank, interface in found.misnamed.items():
        cure = f"set GLOO_SOCKET_IFNAME={interface}"
        yield f"! {rank}: its host name leads to no address that others reach, and gloo would take that one: {cure}"
    if found.latency is not None and found.bandwidth is not None:
        speed = f"{found.latency * 1e6:.0f} µs, {found.bandwidth / 1e9:.2f} GB/s of bus bandwidth"
        yield f"  all-reduce over {found.backend}: {speed} (16 MiB)"
    hosts = f"{len(found.hosts)} host{'s' if len(found.hosts) > 1 else ''}"
    if found.exit_code == 0:
        yield f"✓ {found.world} ranks on {hosts} agree"


def _odd(oddity: Oddity) -> str:
    odd = "; ".join(f"{value}: {_names(some)}" for value, some in oddity.odd.items())
    return f"most have {oddity.usual} ({oddity.shared}), but {odd}"


def _names(some: Some) -> str:
    more = some.count - len(some.names)
    return ", ".join(some.names) + (f" and {more} more" if more else "")


def as_json(found: RankAgreement) -> dict[str, object]:
    """``preflight --format json`` of several ranks."""

    def rows(oddities: tuple[Oddity, ...]) -> list[dict[str, object]]:
        return [
            {
                "subject": one.subject,
                "usual": one.usual,
                "shared": one.shared,
                "odd": [
                    {"value": value, "count": some.count, "ranks": list(some.names)} for value, some in one.odd.items()
                ],
            }
            for one in oddities
        ]

    return {
        "schema": 1,
        "ranks": found.world,
        "hosts": list(found.hosts),
        "missing": list(found.missing),
        "sick": dict(found.sick),
        "disagreements": rows(found.disagreements),
        "differences": rows(found.differences),
        "odd_one_out": found.odd_one_out,
        "slow": dict(found.slow),
        "all_reduce": {
            "backend": found.backend,
            "seconds": found.latency,
            "bytes_per_second": found.bandwidth,
            "failed": dict(found.failed),
        },
        "clock_spread": found.clock_spread,
        "misnamed": dict(found.misnamed),
        "exit_code": found.exit_code,
    }
