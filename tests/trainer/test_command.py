"""The real command line, in a child process: exit codes, order and report, bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import trainer
from tests.trainer.conftest import chat, write_lines

ROOT = Path(trainer.__file__).parent.parent


def start(*arguments: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "trainer", *arguments], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "HF_HUB_OFFLINE": "1"}, **options,
    )  # fmt: skip


def run(*arguments: str) -> subprocess.CompletedProcess:
    child = start(*arguments)
    out, err = child.communicate(timeout=180)
    return subprocess.CompletedProcess(arguments, child.returncode, out, err)


def order(tmp_path: Path, tiny: dict, **more) -> tuple[Path, Path]:
    path, report = tmp_path / "order.json", tmp_path / "out" / "report.json"
    settings = {key: value for key, value in tiny.items() if key != "output"}
    content = {
        "schema": 1, "workload": None, "task": "sft", "settings": settings,
        "flags": {"float32-matmul-precision": "high"}, "run_folder": str(tmp_path / "run"), "report": str(report),
        "measure": None, **more,
    }  # fmt: skip
    path.write_text(json.dumps(content))
    return path, report


@pytest.mark.slow
def test_a_measured_order_gives_a_whole_report(tmp_path: Path, tiny: dict) -> None:
    measure = {"windows": 5, "window_seconds": 0.05, "max_warmup_seconds": 2, "max_seconds": 20, "probes": True}
    path, where = order(tmp_path, tiny, measure=measure)
    done = run("--order", str(path))
    assert done.returncode == 0, done.stderr
    report = json.loads(where.read_text())
    assert (report["schema"], report["outcome"], report["error"], report["task"]) == (1, "finished", None, "sft")
    assert len(report["windows"]) == 5
    for window in report["windows"]:
        assert sum(window["breakdown"].values()) == pytest.approx(window["seconds"], rel=0.02)
    assert report["flags"]["float32-matmul-precision"] == "high"
    assert {choice["what"] for choice in report["choices"]} >= {
        "device",
        "precision",
        "attention",
        "optimizer",
        "threads",
    }
    assert all(choice["reason"] for choice in report["choices"])
    probes = report["reference_probes"]
    assert (
        probes["before"].keys()
        == probes["after"].keys()
        >= {"matmul_fp32_gflops", "matmul_bf16_gflops", "copy_gbs", "python_mops"}
    )
    assert report["model"]["parameters"] == report["model"]["trained_parameters"] > 0
    assert report["model"]["flops_per_step"] > 0
    assert report["warmup"]["reason"]
    assert 0 < report["tokens_per_step"]["trained"] < report["tokens_per_step"]["real"] <= 128
    assert report["memory"]["peak_rss"] > 1e8
    assert report["cold_start_seconds"] > 0
    assert report["model_path"] is None
    assert (
        len(report["losses"])
        == report["steps"]
        == report["warmup"]["steps"] + sum(w["steps"] for w in report["windows"])
    )


@pytest.mark.slow
def test_training_saves_a_model_that_transformers_loads(tmp_path: Path, tiny: dict) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path, where = order(tmp_path, tiny)
    done = run("--order", str(path))
    assert done.returncode == 0, done.stderr
    report = json.loads(where.read_text())
    model = AutoModelForCausalLM.from_pretrained(report["model_path"])
    tokenizer = AutoTokenizer.from_pretrained(report["model_path"])
    assert tokenizer.chat_template
    ids = torch.tensor([tokenizer("the cost of order")["input_ids"]])
    assert torch.isfinite(model(ids).logits).all()
    assert not [path for path in Path(report["model_path"]).rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == sorted({1, *range(2, report["steps"] + 1, 2), report["steps"]})
    assert [line["loss"] for line in lines] == [report["losses"][line["step"] - 1] for line in lines]
    again = run("--order", str(path))  # nothing is left to do: it says so and changes nothing
    assert again.returncode == 0
    steps = report["steps"]
    assert f"already finished (step {steps} of {steps}): nothing to do" in again.stderr
    told = json.loads(where.read_text())
    assert (told["losses"], told["steps"], told["already_finished"]) == ([], steps, True)
    assert told["model_path"] == report["model_path"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_the_same_command_goes_on(tmp_path: Path, tiny: dict, number: int) -> None:
    tiny.update(schedule="constant", log_every=1)  # a run of another length is then still the same run
    path, where = order(tmp_path, {**tiny, "epochs": 400})
    child = start("--order", str(path))
    deadline = time.monotonic() + 120
    metrics = tmp_path / "run" / "metrics.jsonl"
    while time.monotonic() < deadline and not (metrics.exists() and metrics.read_text().count("\n") > 3):
        time.sleep(0.05)
    child.send_signal(number)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    report = json.loads(where.read_text())
    assert report["outcome"] == "interrupted"
    folders = list((tmp_path / "run" / "checkpoints").iterdir())
    assert [folder.name for folder in folders] == [f"step-{report['steps']:08d}"]
    settings = {key: value for key, value in tiny.items() if key != "output"}
    order(tmp_path, tiny, settings={**settings, "epochs": 400, "max_steps": report["steps"] + 2})
    assert run("--order", str(path)).returncode == 0
    assert json.loads(where.read_text())["steps"] == report["steps"] + 2


def lines_of(tmp_path: Path, *texts: str) -> dict:
    path = tmp_path / "bad.jsonl"
    path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return {"data": [str(path)]}


GOOD = json.dumps(chat(2, 3))

BAD_DATA = {
    "empty": ((), "empty-data", "no examples"),
    "not json": ((GOOD, '{"messages": ['), "broken-line", "line 2: not JSON"),
    "not an object": ((GOOD, GOOD, "[1]"), "broken-line", "line 3: not an object"),
    "no column": (('{"body": "x"}',), "missing-column", "line 1: no column 'prompt' or 'completion'; it has 'body'"),
    "bad role": (('{"messages": [{"content": "x"}]}',), "bad-column", "line 1: messages must be"),
    "bad pair": (('{"prompt": 1, "completion": "x"}',), "bad-column", "line 1: prompt and completion must be texts"),
    "no answer": (
        ('{"messages": [{"role": "user", "content": "x"}]}',),
        "nothing-to-train",
        "line 1: no trained token",
    ),
    "too long": ((json.dumps(chat(2, 4000)),), "example-too-long", "more than tokens_per_row (128)"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_told_by_file_and_line(tmp_path: Path, tiny: dict, case: str) -> None:
    from trainer.errors import TrainerError
    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    texts, kind, said = BAD_DATA[case]
    with pytest.raises(TrainerError) as caught:
        Sft().prepare(from_mapping({**tiny, **lines_of(tmp_path, *texts)}, "test"), None)
    assert caught.value.kind == kind
    assert said in caught.value.message
    assert "bad.jsonl" in caught.value.message
    assert not list((tmp_path / "cache").rglob("*"))  # a failed preparation leaves nothing behind


def test_a_tokenizer_without_a_chat_template_is_told(tmp_path: Path, tiny: dict) -> None:
    import shutil

    from trainer.errors import TrainerError
    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    plain = tmp_path / "plain"
    shutil.copytree(tiny["tokenizer"], plain)
    (plain / "chat_template.jinja").unlink(missing_ok=True)
    config = json.loads((plain / "tokenizer_config.json").read_text())
    config.pop("chat_template", None)
    (plain / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(
        TrainerError, match=r"d\.jsonl, line 1: a chat, but the tokenizer has no chat template"
    ) as caught:
        Sft().prepare(from_mapping({**tiny, "tokenizer": str(plain)}, "test"), None)
    assert "chat_template=FILE" in caught.value.remedy


def test_over_long_examples_can_be_left_out(tmp_path: Path, tiny: dict) -> None:
    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    data = lines_of(tmp_path, GOOD, json.dumps(chat(2, 4000)), GOOD)
    prepared = Sft().prepare(from_mapping({**tiny, **data, "over_long": "skip"}, "test"), None)
    assert prepared.facts["examples"] == 2
    again = Sft().prepare(from_mapping({**tiny, **data, "over_long": "skip"}, "test"), None)
    assert again.facts["reused_tokens"]
    for found in (prepared, again):
        assert found.facts["over_long"] == ["1 of 3 examples are left out: longer than 128 tokens (tokens_per_row)"]


def test_over_long_examples_can_be_cut(tmp_path: Path, tiny: dict) -> None:
    """To their beginning, and one whose beginning trains nothing is left out."""
    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    data = lines_of(tmp_path, GOOD, json.dumps(chat(2, 4000)), json.dumps(chat(400, 2)))
    prepared = Sft().prepare(from_mapping({**tiny, **data, "over_long": "cut"}, "test"), None)
    whole = Sft().prepare(from_mapping({**tiny, **data, "over_long": "cut", "tokens_per_row": 9000}, "test"), None)
    assert (prepared.facts["examples"], whole.facts["examples"]) == (2, 3)
    assert prepared.facts["over_long"] == [
        "1 of 3 examples are left out: with nothing to train in their first 128 tokens (tokens_per_row)",
        "1 of 3 examples fill 128 tokens (tokens_per_row): cut there, or just as long",
    ]
    kept, marks = prepared.source.tokens.example(1)
    ids, trained = whole.source.tokens.example(2)
    assert len(kept) == 128 < len(ids)
    assert (list(kept), list(marks)) == (list(ids[:128]), list(trained[:128]))


def test_what_is_tokenised_in_the_loop_cannot_be_left_out(tmp_path: Path, tiny: dict) -> None:
    from trainer.errors import TrainerError
    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    values = {**tiny, **lines_of(tmp_path, GOOD, json.dumps(chat(2, 4000)), GOOD), "over_long": "skip"}
    values.update(packing=False, pretokenize=False, prefetch=0)
    prepared = Sft().prepare(from_mapping(values, "test"), None)
    examples = prepared.source.examples
    assert [len(examples.example(item)[0]) > 0 for item in (0, 2)] == [True, True]
    with pytest.raises(TrainerError, match=r"line 2: longer than tokens_per_row=\d+, and without pretokenize"):
        examples.example(1)


def test_tokens_are_written_once_and_again_when_damaged(tiny: dict) -> None:
    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    settings = from_mapping(tiny, "test")
    assert [Sft().prepare(settings, None).facts["reused_tokens"] for _ in range(2)] == [False, True]
    (folder,) = Path(tiny["cache"]).iterdir()
    with (folder / "tokens.bin").open("r+b") as stream:
        stream.truncate(10)
    assert Sft().prepare(settings, None).facts["reused_tokens"] is False
    with Path(tiny["data"][0]).open("a") as stream:
        stream.write(GOOD + "\n")
    assert Sft().prepare(settings, None).facts["reused_tokens"] is False


def test_only_the_assistant_is_trained(tiny: dict, tmp_path: Path) -> None:
    from trainer.data.dialogue import encode_rows
    from trainer.data.tokenizer import load_tokenizer
    from trainer.options.settings import from_mapping

    settings = from_mapping(tiny, "test")
    tokenizer = load_tokenizer(settings, None)
    messages = [
        ("system", "be brief"),
        ("user", "what?"),
        ("assistant", "that."),
        ("user", "and?"),
        ("assistant", "this."),
    ]
    row = {"messages": [{"role": role, "content": content} for role, content in messages]}
    (ids, trained), (pair_ids, pair_trained) = encode_rows(
        [("a", row), ("b", {"prompt": "what? ", "completion": "that."})], tokenizer, settings
    )
    assert tokenizer.decode([i for i, t in zip(ids, trained, strict=True) if t]) == "that.<|end|>this.<|end|>"
    assert tokenizer.decode([i for i, t in zip(pair_ids, pair_trained, strict=True) if t]) == " that.<|end|>"


def test_templates_that_mark_generation_give_the_same_mask(tiny: dict) -> None:
    from trainer.data.dialogue import encode_rows
    from trainer.data.tokenizer import load_tokenizer
    from trainer.options.settings import from_mapping

    settings = from_mapping(tiny, "test")
    rows = [("a", chat(2, 5))]
    plain = list(encode_rows(rows, load_tokenizer(settings, None), settings))
    marked = load_tokenizer(settings, None)
    marked.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'assistant' %}<|assistant|>{% generation %}{{ m['content'] }}<|end|>"
        "{% endgeneration %}{% else %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endif %}{% endfor %}"
    )
    assert list(encode_rows(rows, marked, settings)) == plain


def test_parquet_gives_the_same_tokens(tmp_path: Path, tiny: dict) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import numpy as np
    import pyarrow

    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    rows = [json.loads(line) for line in Path(tiny["data"][0]).read_text().splitlines()]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "d.parquet")
    lines, table = (
        Sft().prepare(from_mapping({**tiny, "data": data}, "test"), None)
        for data in (tiny["data"], str(tmp_path / "d.parquet"))
    )
    assert np.array_equal(lines.source.tokens.ids, table.source.tokens.ids)
    (tmp_path / "no.parquet").write_bytes(b"not parquet")
    from trainer.errors import TrainerError

    with pytest.raises(TrainerError, match=r"no\.parquet"):
        Sft().prepare(from_mapping({**tiny, "data": str(tmp_path / "no.parquet")}, "test"), None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "stf"}, "unknown task 'stf'"),
        ({"schema": 2}, "schema 2"),
        ({"wokload": 1}, "unknown key wokload"),
        ({"settings": {"epocs": 1}}, "unknown setting 'epocs'"),
        ({"flags": {"tf33": 1}}, "unknown flag tf33"),
        ({"workload": "chat-5b"}, "unknown workload 'chat-5b'"),
        ({"measure": {"window": 1}}, "unknown measure.window"),
        ({"measure": {"windows": -1}}, "measure.windows: -1"),
    ],
)
def test_a_bad_order_fails_with_one_message_and_a_report(
    tmp_path: Path, tiny: dict, change: dict, said: str, capsys
) -> None:
    from trainer.__main__ import main

    path, where = order(tmp_path, tiny, **change)
    assert main(["--order", str(path)]) == 1
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
    if set(change) - {"schema", "wokload"}:  # an order that cannot be understood names no report either
        report = json.loads(where.read_text())
        assert report["outcome"] == "failed"
        assert said in report["error"]["message"]
        assert report["error"]["remedy"]


def test_a_folder_without_a_model_is_told(tmp_path: Path, tiny: dict, capsys) -> None:
    from trainer.__main__ import main

    settings = {key: value for key, value in tiny.items() if key not in ("output", "model_config")}
    path, _ = order(tmp_path, tiny, settings={**settings, "model": str(tmp_path)})
    assert main(["--order", str(path)]) == 1
    assert "no config.json there" in capsys.readouterr().err


def test_another_data_set_is_not_resumed_into(tmp_path: Path, tiny: dict, capsys) -> None:
    from trainer.__main__ import main

    path, _ = order(tmp_path, tiny)
    assert main(["--order", str(path)]) == 0
    write_lines(Path(tiny["data"][0]), [chat(2, 9)])
    assert main(["--order", str(path)]) == 1
    assert "--resume never" in capsys.readouterr().err
    settings = {key: value for key, value in tiny.items() if key != "output"}
    path, where = order(tmp_path, tiny, settings={**settings, "resume": "never"})
    assert main(["--order", str(path)]) == 0
    assert json.loads(where.read_text())["steps"] == 1
    assert (tmp_path / "run" / "checkpoints.before-1").is_dir()


def test_help_shows_every_task_with_an_example_without_importing_torch() -> None:
    code = (
        "import sys; sys.argv = ['trainer', '--help']\n"
        "try:\n import trainer.__main__ as m; m.main()\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "python -m trainer sft" in done.stdout
    assert "chat-5m" in done.stdout


@pytest.mark.slow
def test_worker_processes_give_the_same_tokens_and_the_same_errors(tiny: dict, tmp_path: Path) -> None:
    import numpy as np

    from trainer.errors import TrainerError
    from trainer.options.settings import from_mapping
    from trainer.tasks.sft import Sft

    alone = Sft().prepare(from_mapping({**tiny, "tokenize_workers": 1}, "test"), None)
    other = {**tiny, "tokenize_workers": 2, "cache": str(tmp_path / "other")}
    spread = Sft().prepare(from_mapping(other, "test"), None)
    assert np.array_equal(alone.source.tokens.ids, spread.source.tokens.ids)
    assert np.array_equal(alone.source.tokens.trained, spread.source.tokens.trained)
    bad = {**tiny, **lines_of(tmp_path, GOOD, "{}"), "tokenize_workers": 2}
    with pytest.raises(TrainerError, match="line 2") as caught:
        Sft().prepare(from_mapping(bad, "test"), None)
    assert caught.value.kind == "missing-column"
