"""How often the rule is wrong: the whole judgement, run on simulated machines.

Step times are autocorrelated (AR(1)), spiky (loader stalls) and, on shared machines, disturbed by neighbours; processes
differ among themselves more than steps do. The baseline has 10 processes of 400 steps; a run is judged as it would be
live: one fresh process, and two more when the first look stays undecided.

    python -m tests.speed.simulation --repetitions 600

prints, for each true slow-down, how often the verdict was slower (after the first look / in the end), as expected and
undecided. tests/speed/test_error_rates.py runs a small version of it on every change.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np

from envdoctor.locks.target import Baseline
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Device, Report, TrainedModel, Warmup, Window
from envdoctor.speed.verdict import judge

STEPS, PER_WINDOW, STEP_SECONDS = 400, 20, 0.1


@dataclass(frozen=True, kw_only=True)
class World:
    """Noise of one kind of machine: log-sds, except ``rho`` (autocorrelation) and the shares."""

    name: str
    between_runs: float
    steps: float
    rho: float
    spikes: float = 0.01  # share of steps that stall for 1 to 3 more step times
    bursts: float = 0.0  # share of runs in which a neighbour takes 10 to 40 % for a while
    between_machines: float = 0.0
    probe_noise: float = 0.01
    device: str = "cuda"


QUIET = World(name="quiet", between_runs=0.004, steps=0.01, rho=0.5)
SHARED = World(name="shared", between_runs=0.01, steps=0.02, rho=0.8, bursts=0.2)
OTHER_2 = replace(QUIET, name="other machine, sd 2 %", between_machines=0.02)
OTHER_4 = replace(QUIET, name="other machine, sd 4 %", between_machines=0.04)
WORLDS = (QUIET, SHARED, OTHER_2, OTHER_4)


def step_times(rng: np.random.Generator, world: World, factor: float, count: int = STEPS) -> np.ndarray:
    """Seconds of each step of one fresh process whose true slow-down is ``factor`` (1.05: 5 % longer)."""
    noise = rng.normal(0.0, world.steps, count)
    kick = np.sqrt(1.0 - world.rho**2)
    for index in range(1, count):
        noise[index] = world.rho * noise[index - 1] + kick * noise[index]
    times = STEP_SECONDS * factor * np.exp(noise + rng.normal(0.0, world.between_runs))
    stalled = rng.random(count) < world.spikes
    times[stalled] += STEP_SECONDS * rng.uniform(1.0, 3.0, stalled.sum())
    if rng.random() < world.bursts:
        start, length = rng.integers(0, count), rng.integers(count // 20, count // 4)
        times[start : start + length] *= rng.uniform(1.1, 1.4)
    return times


def report(rng: np.random.Generator, world: World, slowdown: float, machine: float) -> Report:
    """A report as the trainer writes it; ``machine``: log speed of this machine, which its probes see with an error."""
    times = step_times(rng, world, (1.0 + slowdown) * float(np.exp(-machine)))
    windows = tuple(
        Window(steps=PER_WINDOW, seconds=float(chunk.sum()), tokens={"trained": 1e3, "real": 1e3, "slots": 1e3})
        for chunk in times.reshape(-1, PER_WINDOW)
    )
    return Report(
        schema=1,
        outcome="finished",
        task="sft",
        workload="chat-135m",
        device=Device(type=world.device, name="NVIDIA H100 80GB HBM3", cpu_model="cpu", threads=8, cores=8),
        windows=windows,
        settings={"precision": "bfloat16"},
        versions={"torch": "2.13.0+cu130"},
        model=TrainedModel(flops_per_step=1e12),
        warmup=Warmup(steps=20, seconds=2.0, steady=True),
        reference_probes={moment: _probes(rng, world, machine) for moment in ("before", "after")},
        contention={"before": 0.0, "during": 0.01, "load": [1.0, 1.0, 1.0]},
    )


def _probes(rng: np.random.Generator, world: World, machine: float) -> dict[str, float]:
    speeds = {"matmul_bf16_gflops": 7e5, "copy_gbs": 2500.0, "python_mops": 20.0}
    return {
        name: speed * float(np.exp((machine if name != "python_mops" else 0.0) + rng.normal(0.0, world.probe_noise)))
        for name, speed in speeds.items()
    }


def recorded(rng: np.random.Generator, world: World, processes: int = 10) -> Baseline:
    """A baseline of fresh processes on one machine."""
    from envdoctor.speed.evidence.probes import flat

    machine = rng.normal(0.0, world.between_machines)
    reports = [report(rng, world, 0.0, machine) for _ in range(processes)]
    return Baseline(
        workload="chat-135m",
        stack="cu130",
        evidence="measured",
        gpu="NVIDIA H100 80GB HBM3",
        windows=tuple(r.rates for r in reports),
        probes=tuple(flat(r.reference_probes) for r in reports),
        conditions={"device": world.device, "cpu_model": "cpu", "cores": 8, "threads": 8},
    )


def live(rng: np.random.Generator, world: World, slowdown: float, baseline: Baseline) -> tuple[Verdict, Verdict]:
    """The verdict after the first look, and in the end: more processes are run as long as the verdict asks for them."""
    machine = rng.normal(0.0, world.between_machines)
    reports = [report(rng, world, slowdown, machine)]
    first = last = judge(reports, baseline)
    if first.more_processes:
        reports += [report(rng, world, slowdown, machine) for _ in range(first.more_processes)]
        last = judge(reports, baseline)
    return first, last


CPU_PROBES = {"matmul_fp32_gflops": 160.0, "copy_gbs": 20.0, "python_mops": 18.0}


def neighbour(rng: np.random.Generator, visible: bool) -> Report:
    """A run on two shared cores beside a neighbour that comes and goes: 20 s of work, 10 s of rest, on average.

    While it works, two-thread matrix products take 2 to 10 times as long (every product waits for the slower half).
    ``visible``: the kernel's pressure counters see it; a neighbour outside a virtual machine they do not see.
    """
    slow = rng.uniform(2.0, 10.0)
    clock, busy, until = 0.0, bool(rng.random() < 2 / 3), rng.exponential(20.0)
    working = 0.0

    def advance(seconds: float) -> bool:
        nonlocal clock, busy, until, working
        clock += seconds
        working += seconds if busy else 0.0
        while clock > until:
            busy = not busy
            until += rng.exponential(20.0 if busy else 10.0)
        return busy

    def probes() -> dict[str, float]:
        taken = advance(1.0)
        factors = {"matmul": 1 / slow, "copy": 0.7, "python": 0.6} if taken else {}
        return {
            name: speed * factors.get(name.partition("_")[0], 1.0) * float(np.exp(rng.normal(0.0, 0.01)))
            for name, speed in CPU_PROBES.items()
        }

    before = probes()
    began, working = clock, 0.0
    windows: list[Window] = []
    while len(windows) < 20:
        seconds = 0.0
        for _ in range(5):
            step = 0.1 * (slow if busy else 1.0) * float(np.exp(rng.normal(0.0, 0.02)))
            seconds += step
            advance(step)
        windows.append(Window(steps=5, seconds=seconds))
    share = working / (clock - began)
    return replace(
        report(rng, replace(SHARED, device="cpu"), 0.0, 0.0),
        windows=tuple(windows),
        settings={"precision": "float32"},
        reference_probes={"before": before, "after": probes()},
        contention={"during": share * 0.9 if visible else 0.01, "load": [1.0, 1.0, 1.0]},
    )


def quiet_cpu(rng: np.random.Generator) -> Baseline:
    """A baseline of the same two cores on a quiet day."""
    made = recorded(rng, replace(SHARED, device="cpu", bursts=0.0))
    probes = tuple(
        {name: speed * float(np.exp(rng.normal(0.0, 0.01))) for name, speed in CPU_PROBES.items()} for _ in made.windows
    )
    return replace(made, probes=probes)


def disturbed(repetitions: int, seed: int, visible: bool) -> dict[str, float]:
    """Percent of words when an unchanged environment is judged beside a neighbour."""
    rng = np.random.default_rng(seed)
    counts: dict[str, int] = {}
    for _ in range(repetitions):
        baseline, reports = quiet_cpu(rng), [neighbour(rng, visible)]
        verdict = judge(reports, baseline)
        if verdict.more_processes:
            reports += [neighbour(rng, visible) for _ in range(verdict.more_processes)]
            verdict = judge(reports, baseline)
        counts[verdict.word] = counts.get(verdict.word, 0) + 1
    return {word: 100.0 * count / repetitions for word, count in counts.items()}


def shares(world: World, slowdown: float, repetitions: int, seed: int) -> dict[str, float]:
    """Percent of repetitions that ended in each word; "slower-first" after one process. Each has its own baseline."""
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(("slower-first", "slower", "as-expected", "faster", "unstable", "not-comparable"), 0)
    for _ in range(repetitions):
        first, last = live(rng, world, slowdown, recorded(rng, world))
        counts["slower-first"] += first.word == "slower"
        counts[last.word] += 1
    return {word: 100.0 * count / repetitions for word, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print("percent of verdicts; true slow-down in percent of the step time")
    print(f"{'machine':24}{'slow-down':>10}{'slower':>16}{'as-expected':>13}{'faster':>8}{'undecided':>11}{'n/c':>6}")
    for world in WORLDS:
        for slowdown in (0.0, 0.03, 0.05, 0.08, 0.15):
            found = shares(world, slowdown, given.repetitions, given.seed)
            slower = f"{found['slower-first']:.1f} -> {found['slower']:.1f}"
            print(
                f"{world.name:24}{slowdown:>10.0%}{slower:>16}{found['as-expected']:>13.1f}{found['faster']:>8.1f}"
                f"{found['unstable']:>11.1f}{found['not-comparable']:>6.1f}",
                flush=True,
            )
    for visible in (True, False):
        found = disturbed(given.repetitions, given.seed, visible)
        words = ", ".join(f"{word} {share:.1f}" for word, share in sorted(found.items()))
        print(f"neighbour on a shared CPU, {'seen' if visible else 'unseen'} by pressure counters: {words}", flush=True)


if __name__ == "__main__":
    main()
