"""Real scripts, unchanged, under `envdoctor run --measure`'s variables, on real torch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envdoctor.speed.measured_run import launch
from envdoctor.speed.measured_run.advice import diagnose_run, run_json
from envdoctor.speed.measured_run.record import Record, read
from envdoctor.speed.report import Device
from envdoctor.system import process
from envdoctor.system.process import Outcome

pytestmark = pytest.mark.slow
SCRIPTS = Path(__file__).parent / "scripts"


def measured(folder: Path, *argv: str, variables: dict[str, str] | None = None) -> tuple[Outcome, tuple[Record, ...]]:
    folder.mkdir(exist_ok=True)
    present = {name: value for name, value in os.environ.items() if "THREADS" not in name}
    environment = launch.variables(folder, {**present, **(variables or {})})
    outcome = process.run(argv, deadline=150, env=environment, cwd=SCRIPTS)
    return outcome, read(folder)


def script(folder: Path, name: str, *arguments: str) -> tuple[Outcome, tuple[Record, ...]]:
    return measured(folder, sys.executable, name, *arguments)


def test_the_starved_loop_is_named_with_its_line_and_its_remedy(tmp_path: Path) -> None:
    outcome, records = script(tmp_path, "starved.py", "150")
    assert outcome.ok, outcome.err
    assert "trained 150 steps" in outcome.out
    diagnosis = diagnose_run(records)
    first = diagnosis.advice[0]
    assert first.cause == "data"
    assert first.saves > 0.6
    assert "starved.py:" in first.text
    assert "(tokenise)" in first.text or "(__getitem__)" in first.text or "(<genexpr>)" in first.text
    assert first.lines[0].startswith("DataLoader(dataset, batch_size=1, shuffle=True, num_workers=")
    found = run_json(diagnosis)
    assert (found["verdict"], found["cause"], found["workload"]) == ("not-comparable", "data", "starved.py")
    assert found["breakdown"]["data"] > 0.6
    assert found["steps_per_second"] > 0
    assert sum(found["breakdown"].values()) == pytest.approx(1.0, abs=0.02)


def test_a_healthy_loop_gets_no_advice(tmp_path: Path) -> None:
    outcome, records = script(tmp_path, "healthy.py", "400")
    assert outcome.ok, outcome.err
    diagnosis = diagnose_run(records)
    assert diagnosis.advice == ()
    assert diagnosis.verdict.cause is None
    (record,) = records
    assert record.steps == 400
    assert record.batches["examples"] == 8 * record.batches["looked"]
    assert record.ended == "exit"


def test_the_parts_of_every_window_add_up_to_its_wall_time(tmp_path: Path) -> None:
    _, (record,) = script(tmp_path, "starved.py", "150")
    for window in record.windows:
        assert sum(window.breakdown.values()) == pytest.approx(window.seconds, rel=0.02)


def test_a_trainer_with_accumulation_counts_optimizer_steps_and_padding(tmp_path: Path) -> None:
    outcome, (record,) = script(tmp_path / "records", "hugging_face_trainer.py", str(tmp_path / "out"))
    assert outcome.ok, outcome.err
    assert record.steps == 30
    assert record.waits >= 60  # two micro-batches per step
    (loader,) = record.loaders
    assert (loader.workers, loader.batch_size, loader.dataset) == (1, 4, "Chats")
    padding = [advice for advice in diagnose_run((record,)).advice if "padding" in advice.text]
    assert "72% of the token slots" in padding[0].text


def test_each_rank_writes_its_own_record(tmp_path: Path) -> None:
    launcher = Path(sys.executable).with_name("torchrun")
    outcome, records = measured(tmp_path, str(launcher), "--standalone", "--nproc-per-node", "2", "ranks.py")
    assert outcome.ok, outcome.err
    assert [(record.rank, record.world, record.local_ranks, record.steps) for record in records] == [
        (0, 2, 2, 25),
        (1, 2, 2, 25),
    ]
    assert not [advice for advice in diagnose_run(records).advice if "OMP" in "".join(advice.lines)]


def test_accelerate_launch_is_measured_too(tmp_path: Path) -> None:
    launcher = Path(sys.executable).with_name("accelerate")
    options = ["launch", "--cpu", "--num_processes", "1", "--num_machines", "1", "--mixed_precision", "no"]
    outcome, records = measured(tmp_path, str(launcher), *options, "--dynamo_backend", "no", "healthy.py", "30")
    assert outcome.ok, outcome.err
    assert [(record.program, record.steps) for record in records] == [("healthy.py", 30)]


def test_spawned_loader_workers_write_nothing(tmp_path: Path) -> None:
    outcome, records = script(tmp_path, "spawned_workers.py")
    assert outcome.ok, outcome.err
    assert [(record.steps, record.waits) for record in records] == [(100, 100)]
    assert [path.name for path in tmp_path.iterdir()] == [f"run-{records[0].pid}.json"]


def test_a_forked_child_that_trains_has_a_record_of_its_own(tmp_path: Path) -> None:
    outcome, records = script(tmp_path, "forked_training.py")
    assert outcome.ok, outcome.err
    assert sorted(record.steps for record in records) == [30, 50]
    assert all(record.ended == "exit" for record in records)


def test_compiled_steps_are_counted_and_not_broken(tmp_path: Path) -> None:
    outcome, (record,) = script(tmp_path, "compiled.py")
    assert outcome.out == "True\n", outcome.err
    assert (record.steps, record.error) == (40, None)


def test_an_exception_leaves_the_record_and_the_traceback(tmp_path: Path) -> None:
    outcome, (record,) = script(tmp_path, "ending.py", "exception")
    assert outcome.code == 1
    assert "loss is not a number" in outcome.err
    assert "_envdoctor" not in outcome.err
    assert (record.steps, record.ended) == (251, "RuntimeError")


def test_leaving_at_once_leaves_the_last_windows(tmp_path: Path) -> None:
    outcome, (record,) = script(tmp_path, "ending.py", "at-once")
    assert outcome.code == 3
    assert record.ended is None
    assert record.steps > 20
    assert record.windows


@pytest.mark.parametrize(("sent", "ended"), [(signal.SIGINT, "KeyboardInterrupt"), (signal.SIGTERM, None)])
def test_signals_end_the_script_as_ever_and_leave_a_record(
    tmp_path: Path, sent: signal.Signals, ended: str | None
) -> None:
    environment = launch.variables(tmp_path, dict(os.environ))
    argv = [sys.executable, "-u", str(SCRIPTS / "ending.py"), "wait"]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.2)
        child.send_signal(sent)
        child.communicate(timeout=60)
        assert child.returncode == -sent
    (record,) = read(tmp_path)
    assert record.ended == ended
    assert record.windows


def test_the_users_own_sitecustomize_runs_and_warning_options_are_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    (tmp_path / "program.py").write_text(
        "import sys, warnings\nprint(sys.warnoptions, [p for p in sys.path if 'inject' in p])\n"
        "import torch\nprint(torch.autograd.backward.__name__)\n"
    )
    variables = {"PYTHONPATH": str(tmp_path), "PYTHONWARNINGS": "ignore::ResourceWarning"}
    outcome, records = measured(tmp_path / "records", sys.executable, str(tmp_path / "program.py"), variables=variables)
    assert outcome.out.splitlines() == ["mine", "['ignore::ResourceWarning'] []", "backward"]
    assert outcome.err == ""
    assert records == ()


def test_a_hook_that_fails_never_stops_the_training(tmp_path: Path) -> None:
    # A torch whose optimizers' parameters cannot be described: every look at them raises.
    (tmp_path / "program.py").write_text(
        "import torch\n"
        "class Odd(torch.optim.SGD):\n"
        "    def __getattribute__(self, name):\n"
        "        if name == 'param_groups' and getattr(torch, 'armed', False):\n"
        "            raise RuntimeError('not for your eyes')\n"
        "        return super().__getattribute__(name)\n"
        "    def step(self, closure=None):\n"
        "        pass\n"
        "weight = torch.nn.Parameter(torch.ones(2))\n"
        "optimizer = Odd([weight], lr=0.1)\n"
        "torch.armed = True\n"
        "for _ in range(30):\n"
        "    weight.sum().backward()\n"
        "    optimizer.step()\n"
        "print('trained')\n"
    )
    outcome, (record,) = measured(tmp_path / "records", sys.executable, str(tmp_path / "program.py"))
    assert outcome.out == "trained\n"
    assert outcome.err == ""
    assert record.error == "RuntimeError: not for your eyes"
    assert record.device == Device(type="unknown", name="")
    assert "not for your eyes" in diagnose_run((record,)).verdict.reasons[-1]


def test_a_folder_that_cannot_be_written_is_no_ones_trouble(tmp_path: Path) -> None:
    outcome = process.run(
        [sys.executable, "healthy.py", "30"],
        deadline=100,
        env=launch.variables(tmp_path / "absent" / "deeper", dict(os.environ)),
        cwd=SCRIPTS,
    )
    assert outcome.ok
    assert outcome.err == ""


def test_the_formats_of_products_and_the_form_of_the_optimizer_are_seen(tmp_path: Path) -> None:
    _, (plain,) = script(tmp_path / "plain", "formats.py")
    _, (other,) = script(tmp_path / "other", "formats.py", "autocast", "fused")
    assert (plain.products, plain.optimizer, plain.optimizer_fused) == ({"float32": 3}, "AdamW", False)
    assert (other.products, other.optimizer_fused) == ({"bfloat16": 3}, True)
    _, (compiled,) = script(tmp_path / "compiled", "formats.py", "compiled")
    assert compiled.products == {}, "a graph that was compiled says nothing of them"
