from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from envdoctor.render.speed import render_measured
from envdoctor.speed.measured_run.advice import MeasuredRun, diagnose_run, processes, run_json
from envdoctor.speed.measured_run.record import Record
from tests.speed.measured_run.records import CPU, H100, TOKENS, loaders, record, shares, windows
from tests.speed.verdicts import KEYS

LINES = (
    ("data", "train.py", 37, "__getitem__", 400),
    ("other", "train.py", 60, "evaluate", 90),
    ("forward", "m.py", 3, "f", 9),
)

CASES: list[tuple[str, Record, str | None, str, str]] = [
    # name, record, cause, part of the first advice, part of the line to write
    ("a healthy GPU run", record(), None, "", ""),
    ("a healthy CPU run", record(device=CPU, loaders=loaders(workers=0)), None, "", ""),
    (
        "seed 004: the GPU idle for 83 % of the time",
        record(shares(data=0.83), loaders=loaders(workers=0, batch_size=1, pin_memory=False), lines=LINES),
        "data",
        "waits 83% of its time for data, which is made on the training thread, most of it in train.py:37 (__getitem__)",
        "DataLoader(dataset, batch_size=1, num_workers=6, pin_memory=True, persistent_workers=True, prefetch_factor=2)",
    ),
    (
        "too few workers",
        record(shares(data=0.4), loaders=loaders(workers=2)),
        "data",
        "waits 40% of its time for 2 workers: use 4",
        "num_workers=4",
    ),
    (
        "as many workers as cores already",
        record(shares(data=0.4), loaders=loaders(workers=8)),
        "data",
        "8 workers on 8 cores cannot do more",
        "",
    ),
    (
        "on two CPU cores that mostly wait two workers share the making",
        record(shares(data=0.8), device=replace(CPU, threads=2, cores=2), loaders=loaders(workers=0)),
        "data",
        "do it once before training",
        "DataLoader(dataset, batch_size=8, num_workers=2, persistent_workers=True, prefetch_factor=2)",
    ),
    (
        "one core stays for a training thread that has work",
        record(shares(data=0.4), device=replace(CPU, threads=2, cores=2), loaders=loaders(workers=0)),
        "data",
        "do it once before training",
        "DataLoader(dataset, batch_size=8, num_workers=1, persistent_workers=True, prefetch_factor=2)",
    ),
    (
        "25 examples made over and over again, as in seed 004",
        record(shares(data=0.83), loaders=loaders(workers=0, batch_size=1, length=25), lines=LINES),
        "data",
        "keep the 25 examples, each made 9 times already, or let worker processes do it",
        "dataset = [dataset[number] for number in range(len(dataset))]",
    ),
    (
        "workers are written in the words of the Trainer",
        record(shares(data=0.4), loaders=loaders(workers=0), driver="transformers"),
        "data",
        "made on the training thread",
        "TrainingArguments(..., dataloader_num_workers=2, dataloader_persistent_workers=True",
    ),
    (
        "ranks share the cores",
        record(shares(data=0.8), loaders=loaders(workers=0), local_ranks=4, rank=0, world=4),
        "data",
        "made on the training thread",
        "num_workers=1",
    ),
    ("waiting a little is fine", record(shares(data=0.08)), None, "", ""),
    (
        "blocking launches",
        record(variables={"CUDA_LAUNCH_BLOCKING": "1"}),
        "settings",
        "CUDA_LAUNCH_BLOCKING",
        "unset CUDA_LAUNCH_BLOCKING",
    ),
    ("blocking launches, switched off", record(variables={"CUDA_LAUNCH_BLOCKING": "0"}), None, "", ""),
    (
        "blocking launches do not matter on a CPU",
        record(device=CPU, variables={"CUDA_LAUNCH_BLOCKING": "1"}),
        None,
        "",
        "",
    ),
    ("anomaly detection", record(anomaly_detection=True), "settings", "set_detect_anomaly is on", "(False)"),
    (
        "one thread of eight",
        record(device=replace(CPU, threads=1), loaders=loaders(workers=0), variables={"OMP_NUM_THREADS": "1"}),
        "settings",
        "computes with 1 of 8 free cores (OMP_NUM_THREADS)",
        "OMP_NUM_THREADS=8",
    ),
    ("one thread of eight beside a GPU is fine", record(device=replace(H100, threads=1)), None, "", ""),
    (
        "threads and workers share the cores",
        record(device=replace(CPU, threads=4), loaders=loaders(workers=4)),
        None,
        "",
        "",
    ),
    (
        "one thread per rank",
        record(device=replace(CPU, threads=1), local_ranks=8, loaders=loaders(workers=0)),
        None,
        "",
        "",
    ),
    (
        "more threads than cores",
        record(device=replace(CPU, threads=64)),
        "settings",
        "64 threads on 8 cores",
        "OMP_NUM_THREADS=8",
    ),
    (
        "padding",
        record(batches={**TOKENS, "real": TOKENS["slots"] // 4}),
        "data",
        "75% of the token slots",
        "rows.sort(key=len)",
    ),
    (
        "padding in the words of the Trainer",
        record(batches={**TOKENS, "real": TOKENS["slots"] // 4}, driver="transformers"),
        "data",
        "batch by length",
        "group_by_length",
    ),
    (
        "padding in the words of TRL",
        record(batches={**TOKENS, "real": TOKENS["slots"] // 4}, driver="trl"),
        "data",
        "pack documents",
        "SFTConfig(..., packing=True)",
    ),
    (
        "every batch padded to a fixed length that no example needs",
        record(batches={**TOKENS, "real": TOKENS["slots"] // 4, "narrowest": 512, "widest": 512, "longest": 190}),
        "data",
        "every batch is 512 tokens wide, the longest example has 190",
        "DataCollatorWithPadding",
    ),
    (
        "evaluation in the loop",
        record(shares(other=0.5), lines=LINES),
        "settings",
        "50% of the time passes between the steps' work, most of it in train.py:60 (evaluate)",
        "",
    ),
    (
        "the largest loss comes first",
        record(shares(data=0.6, other=0.3), loaders=loaders(workers=0)),
        "data",
        "waits 60%",
        "num_workers",
    ),
    (
        "float32 without TF32 on a card with units for more",
        record(products={"float32": 60}, flags={"float32-matmul-precision": "highest"}),
        "settings",
        "run in float32 without TF32: 67 TFLOP/s at most on this card, 990 in bfloat16",
        'with torch.autocast("cuda", dtype=torch.bfloat16):',
    ),
    (
        "float32 in the words of TRL",
        record(products={"float32": 60}, flags={"float32-matmul-precision": "highest"}, driver="trl"),
        "settings",
        "float32 without TF32",
        "SFTConfig(..., bf16=True)",
    ),
    (
        "float32 on a card that has no bfloat16",
        record(
            products={"float32": 60},
            flags={"float32-matmul-precision": "highest"},
            device=replace(H100, name="Tesla T4", capability="7.5"),
        ),
        "settings",
        "65 in float16",
        "GradScaler",
    ),
    (
        "float32 on a card that nobody listed",
        record(
            products={"float32": 60},
            flags={"float32-matmul-precision": "highest"},
            device=replace(H100, name="NVIDIA Q9000", capability="8.0"),
        ),
        "settings",
        "run in float32 without TF32",
        'set_float32_matmul_precision("high")',
    ),
    (
        "float32 with TF32 is somebody's choice",
        record(products={"float32": 60}, flags={"float32-matmul-precision": "high"}),
        None,
        "",
        "",
    ),
    (
        "most products run in bfloat16",
        record(products={"float32": 2, "bfloat16": 60}, flags={"float32-matmul-precision": "highest"}),
        None,
        "",
        "",
    ),
    (
        "a compiled graph shows no products",
        record(flags={"float32-matmul-precision": "highest"}),
        None,
        "",
        "",
    ),
    (
        "an optimizer that goes over the weights again and again",
        record(shares(optimizer=0.4), device=CPU, optimizer="AdamW", optimizer_fused=False),
        "settings",
        "the optimizer takes 40% of the time",
        "torch.optim.AdamW(..., fused=True)",
    ),
    (
        "the same in the words of the Trainer",
        record(shares(optimizer=0.4), device=CPU, optimizer="AdamW", optimizer_fused=False, driver="transformers"),
        "settings",
        "its fused form",
        'TrainingArguments(..., optim="adamw_torch_fused")',
    ),
    ("a fused one", record(shares(optimizer=0.4), optimizer="AdamW", optimizer_fused=True), None, "", ""),
    ("one without a fused form", record(shares(optimizer=0.4), optimizer="Muon"), None, "", ""),
    (
        "torch before 2.4 has no fused ones for CPUs",
        record(
            shares(optimizer=0.4), device=CPU, optimizer="AdamW", optimizer_fused=False, versions={"torch": "2.3.1"}
        ),
        None,
        "",
        "",
    ),
    ("a small share of it", record(shares(optimizer=0.1), optimizer="AdamW", optimizer_fused=False), None, "", ""),
    ("too short to judge", record(shares(data=0.9), steps=5), None, "", ""),
    ("nothing timed", record(windows=()), None, "", ""),
    ("no loader at all", record(shares(data=0.0), waits=0, loaders=(), lines=LINES), None, "", ""),
]


@pytest.mark.parametrize(
    ("run", "cause", "said", "line"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_advice(run: Record, cause: str | None, said: str, line: str) -> None:
    diagnosis = diagnose_run([run])
    assert diagnosis.verdict.cause == cause
    assert bool(diagnosis.advice) == (cause is not None), diagnosis.advice
    if diagnosis.advice:
        first = diagnosis.advice[0]
        assert said in first.text
        assert line in "\n".join(first.lines)
        assert 0 < first.saves < 1
    found = run_json(diagnosis)
    json.dumps(found, allow_nan=False)
    assert list(found) == [*KEYS, "advice"]
    assert found["advice"] == found["conditions"]["advice"]
    assert found["verdict"] == "not-comparable"
    assert found["interval"] is None
    assert found["workload"] == "train.py"


def test_reasons_say_what_was_seen_even_when_there_is_no_advice() -> None:
    assert "nothing holds it back" in diagnose_run([record()]).verdict.reasons[1]
    assert "too short to judge (5 steps" in diagnose_run([record(steps=5)]).verdict.reasons[1]
    manual = diagnose_run([record(waits=0, loaders=(), lines=LINES)]).verdict.reasons[1]
    assert "train.py:37 (__getitem__) 80%" in manual


def test_a_switch_without_effect_here_is_named_and_not_blamed() -> None:
    diagnosis = diagnose_run([record(device=CPU, variables={"CUDA_LAUNCH_BLOCKING": "1"})])
    assert diagnosis.advice == ()
    assert "CUDA_LAUNCH_BLOCKING=1 is set: no effect on a CPU" in diagnosis.verdict.reasons[-1]


def told(run: MeasuredRun) -> str:
    console = Console(file=StringIO(), width=300, highlight=False)
    render_measured(run, console, remarks=("ran with torch 2.13.0",))
    stream = console.file
    assert isinstance(stream, StringIO)
    return stream.getvalue()


def test_the_headline_is_the_cure_and_no_sentence_stands_twice() -> None:
    run = diagnose_run([record(shares(data=0.6), loaders=loaders(workers=0))])
    text = told(run)
    first, *rest = text.splitlines()
    assert first.startswith("▸ The step waits 60% of its time for data")
    assert run.advice[0].text[1:] in first
    assert run.advice[0].text[1:] not in "".join(rest)
    assert run.advice[0].lines[0] in text
    assert "not-comparable" not in text
    assert "ran with torch 2.13.0" in text
    assert run_json(run)["conditions"]["sentence"] == first[2:]
    second = told(diagnose_run([record(shares(data=0.3, other=0.4), loaders=loaders(workers=0))]))
    assert second.count("▸") == 2


def test_a_healthy_run_is_told_so_and_a_short_one_that_it_is_short() -> None:
    assert told(diagnose_run([record()])).startswith("✓ 97% of the time is computation")
    assert told(diagnose_run([record(steps=5)])).startswith("? Too short to judge (5 steps, 20 s of them timed)")


def test_a_run_of_less_than_a_second_gets_no_advice() -> None:
    """1,200 steps of 0.12 ms each: what it waited for says nothing of a training that lasts."""
    brief = record(shares(data=0.9), steps=1200, windows=windows(shares(data=0.9), (8000.0,) * 60))
    run = diagnose_run([brief])
    assert run.advice == ()
    assert "too short to judge (1200 steps, 0.15 s of them timed)" in run.verdict.reasons[1]
    for said in (told(run), json.dumps(run_json(run))):
        assert "Too short to judge" in said
        assert "worker" not in said


def test_no_worker_is_advised_where_a_step_is_shorter_than_its_hand_over() -> None:
    fast = windows(shares(data=0.4), (8000.0,) * 800)
    many = {"steps": 16_000, "waits": 16_000, "windows": fast}
    again = diagnose_run([record(**many, loaders=loaders(workers=0, length=500))]).advice[0]
    assert "keep the examples in memory" in again.text
    assert "num_workers" not in "".join(again.lines)
    assert again.lines
    once = diagnose_run([record(**many, loaders=loaders(workers=0, length=10_000_000))]).advice[0]
    assert "do it once before training" in once.text
    assert once.lines == ()
    # 0.83 ms a step, a quarter of it for the batch: one worker needs 0.2 ms to make it and 0.8 ms to hand it over
    near = {**many, "windows": windows(shares(data=0.25), (1210.0,) * 100), "device": replace(CPU, cores=2, threads=2)}
    assert "num_workers" not in "".join(diagnose_run([record(**near, loaders=loaders(workers=0))]).advice[0].lines)
    slow = {**many, "windows": windows(shares(data=0.4), (1000.0,) * 100)}
    assert "num_workers" in "".join(diagnose_run([record(**slow, loaders=loaders(workers=0))]).advice[0].lines)


def test_the_tokens_of_all_ranks_are_added_up() -> None:
    ranks = [record(rank=number, world=2) for number in range(2)]
    alone, together = diagnose_run(ranks[:1]), diagnose_run(ranks)
    assert together.verdict.tokens_per_second["real"] == pytest.approx(2 * alone.verdict.tokens_per_second["real"])
    assert together.verdict.steps_per_second == alone.verdict.steps_per_second
    apart = diagnose_run([record(pid=1), record(pid=2)])
    assert apart.verdict.tokens_per_second["real"] == pytest.approx(alone.verdict.tokens_per_second["real"])


def test_several_processes_have_a_line_each_and_many_are_summed_up() -> None:
    assert processes(diagnose_run([record()])) == ()
    lines = processes(diagnose_run([record(rank=0, world=2), record(shares(data=0.5), rank=1, world=2)]))
    assert lines[0].startswith("2 training processes")
    assert lines[1:] == ("  rank 0: 220 steps, 10 it/s, data 1%", "  rank 1: 220 steps, 10 it/s, data 50%")
    many = [record(shares(data=number / 100), rank=number, world=16) for number in range(16)]
    lines = processes(diagnose_run(many))
    assert len(lines) == 10
    assert "rank 15" in lines[1]
    assert "8 more" in lines[-1]


def test_company_on_the_machine_is_told_but_not_blamed() -> None:
    diagnosis = diagnose_run([record(contention={"during": 0.7, "load": [9.0, 9.0, 9.0]})])
    assert diagnosis.verdict.cause is None
    assert "tasks waited for a CPU core in 70%" in diagnosis.verdict.reasons[-1]


def test_the_rank_that_waits_longest_is_judged() -> None:
    slow = record(shares(data=0.5), rank=1, world=2, loaders=loaders(workers=1))
    found = run_json(diagnose_run([record(rank=0, world=2), slow]))
    assert found["cause"] == "data"
    assert [(rank["rank"], rank["data"]) for rank in found["conditions"]["ranks"]] == [(0, 0.01), (1, 0.5)]


def test_without_a_record_there_is_nothing_to_judge() -> None:
    with pytest.raises(ValueError, match="nothing was recorded"):
        diagnose_run([])


def test_tokens_whose_training_nobody_saw_are_not_called_untrained() -> None:
    """A script that gives its model labels of its own has none in its batches."""
    assert " trained)" in told(diagnose_run([record()]))
    unseen = told(diagnose_run([record(batches={**TOKENS, "trained": 0})]))
    assert "real tokens/s" in unseen
    assert "trained)" not in unseen
