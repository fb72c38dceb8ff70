"""Rejection fine-tuning from prompts to adapters, on a small model that answers some additions right."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.trainer.conftest import TINY, write_lines
from tests.trainer.running import prepare_run
from trainer import loop
from trainer.data.workloads import DATA
from trainer.errors import TrainerError
from trainer.options.settings import Settings, from_mapping
from trainer.report import RunReport
from trainer.run import execute
from trainer.state import Run
from trainer.tasks import rft
from trainer.tasks.answers import rejection
from trainer.tasks.answers.checkers import Checker
from trainer.tasks.answers.sampling import Answer
from trainer.tasks.rft import Rft

ROOT = Path(rft.__file__).parent.parent.parent


def taught(folder: Path, lessons: list, epochs: int) -> Path:
    """A one-layer model that learnt `lessons`."""
    config = {**TINY, "num_hidden_layers": 1, "eos_token_id": 1}
    (folder / "one.json").write_text(json.dumps(config))
    run: Run = prepare_run({
        "model_config": str(folder / "one.json"), "tokenizer": str(DATA / "tokenizer"), "threads": 1, "device": "cpu",
        "data": [str(write_lines(folder / "lessons.jsonl", lessons))], "cache": str(folder / "cache"),
        "epochs": epochs, "tokens_per_row": 128, "learning_rate": 1e-2, "output": str(folder / "x"),
    })  # fmt: skip
    loop.train(run, [])
    run.trainee.model.save_pretrained(folder / "model")
    run.prepared.tokenizer.save_pretrained(folder / "model")
    return folder / "model"


@pytest.fixture(scope="module")
def pupil(tmp_path_factory) -> Path:
    """Knows a + 1 for ten digits, and half the time says 3 instead."""
    lessons = [
        {"prompt": f"{a} + 1 =", "completion": f" {a + 1 if turn else 3}"} for a in range(10) for turn in range(2)
    ]
    return taught(tmp_path_factory.mktemp("pupil"), lessons * 6, 20)


@pytest.fixture
def values(pupil: Path, tmp_path: Path) -> dict:
    prompts = [{"prompt": f"{a} + 1 =", "answer": a + 1} for a in range(10)]
    return {
        "model": str(pupil), "data": [str(write_lines(tmp_path / "p.jsonl", prompts))], "checker": "numeric",
        "max_new_tokens": 4, "samples_per_prompt": 6, "sample_batch": 8, "output": str(tmp_path / "run"),
        "cache": str(tmp_path / "cache"), "tokens_per_row": 128, "threads": 1, "device": "cpu", "epochs": 2,
        "warmup_steps": 0, "log_every": 1,
    }  # fmt: skip


def prepared(values: dict):
    return Rft().prepare(from_mapping(values, "test"), None)


def accepted(values: dict) -> list:
    return [json.loads(line) for line in (Path(values["output"]) / "rft" / "accepted.jsonl").read_text().splitlines()]


def test_only_right_answers_are_trained_on_each_once(values: dict, capsys) -> None:
    summary = prepared(values).facts["rft"]
    lines = accepted(values)
    assert 0 < summary["accepted"] < 60 == summary["answers"]
    assert summary["wrong"] > 0
    assert summary["accepted"] + summary["wrong"] + summary.get("unfinished", 0) == 60
    assert summary["kept"] == len(lines) == len({(line["prompt"], line["completion"]) for line in lines}) <= 10
    assert summary["kept"] + summary["duplicate"] == summary["accepted"]
    assert summary["prompts_without"] == 10 - len({line["prompt"] for line in lines})
    for line in lines:
        a = int(line["prompt"].split()[0])
        assert line["completion"].split()[-1] == str(a + 1)
        assert line["origin"]["row"] == f"{values['data'][0]}, line {a + 1}"
        assert line["origin"]["model"] == values["model"]
    assert summary["accept_rate"] == round(summary["accepted"] / 60, 4)
    assert summary["generated_tokens"] >= 60
    assert summary["tokens_per_second"] > 0
    said = capsys.readouterr().err
    assert "sampling 60/60 answers" in said
    assert f"accepted {summary['accepted']} of 60 answers" in said


def test_nothing_is_sampled_or_judged_twice(values: dict, monkeypatch) -> None:
    first = prepared(values)
    monkeypatch.setattr(rft, "Sampler", None)  # calling it would raise
    monkeypatch.setattr(rejection, "keep", None)
    again = prepared(values)
    assert again.facts["rft"] == first.facts["rft"]
    assert again.identity == first.identity
    monkeypatch.undo()
    monkeypatch.setattr(rft, "Sampler", None)
    limited = prepared({**values, "numeric_tolerance": 0.5}).facts["rft"]  # judged anew, from the same samples
    assert limited["identity"] != first.facts["rft"]["identity"]
    assert limited["accepted"] > first.facts["rft"]["accepted"]


def test_other_prompts_in_the_same_output_are_refused_or_put_aside(values: dict) -> None:
    prepared(values)
    with pytest.raises(TrainerError) as caught:
        prepared({**values, "seed": 5})
    assert caught.value.kind == "other-run"
    before = (Path(values["output"]) / "rft" / "samples.jsonl").read_bytes()
    prepared({**values, "seed": 5, "resume": "never"})
    assert (Path(values["output"]) / "rft.before-1" / "samples.jsonl").read_bytes() == before


def test_chats_are_answered_where_the_assistant_speaks(values: dict, tmp_path: Path) -> None:
    rows = [{"prompt": [{"role": "user", "content": "2 + 1 ="}], "answer": "[^$]"}]
    prepared({**values, "data": [str(write_lines(tmp_path / "chat.jsonl", rows))], "checker": "regex",
              "max_new_tokens": 40, "samples_per_prompt": 30})  # fmt: skip
    line = accepted(values)[0]
    assert line["prompt"] == rows[0]["prompt"]
    assert [turn["role"] for turn in line["completion"]] == ["assistant"]


def answers(*texts: str) -> list:
    return [Answer(number // 4, number % 4, text, 1, text != "cut") for number, text in enumerate(texts)]


def test_each_answer_has_one_fate() -> None:
    rows = [("p, line 1", {"prompt": "a", "answer": 1}), ("p, line 2", {"prompt": "b", "answer": 1})]
    check = Checker(lambda place, text, row: {"w": "wrong", "s": "slow"}.get(text, "accepted"), lambda *_: None)
    settings = Settings(max_accepted=2)
    kept, fates = rejection.keep(answers("y", "x", "x", "z", "w", "s", "cut", "v"), rows, check, settings)
    assert [(answer.prompt, answer.text) for answer in kept] == [(0, "y"), (0, "x"), (1, "v")]
    assert fates == Counter(
        kept=3, accepted=5, duplicate=1, beyond_max_accepted=1, wrong=1, slow=1, unfinished=1, prompts_without=0
    )


def test_no_right_answer_is_one_error_with_three_wrong_ones(values: dict, tmp_path: Path) -> None:
    rows = [{"prompt": f"{a} + 1 =", "answer": 700 + a} for a in range(5)]
    data = [str(write_lines(tmp_path / "hard.jsonl", rows))]
    with pytest.raises(TrainerError) as caught:
        prepared({**values, "data": data})
    assert caught.value.kind == "nothing-accepted"
    assert "none of 30 answers" in caught.value.message
    examples = caught.value.message.split("\n")[1:]
    assert len(examples) == 3
    assert all("wanted '700' (" in line and "hard.jsonl, line 1" in line for line in examples)


BAD = [
    ({"data": ""}, "empty-data"),
    ({"data": '{"prompt": "a", "answer": 1}\n{"prompt"'}, "line 2: not JSON"),
    ({"data": '{"question": "a", "answer": 1}'}, "line 1: no column 'prompt'; it has 'question', 'answer'"),
    ({"data": '{"prompt": "a"}'}, "line 1: no column 'answer'"),
    ({"data": '{"prompt": "", "answer": 1}'}, "line 1: the prompt is empty"),
    ({"data": '{"prompt": 5, "answer": 1}'}, "line 1: messages must be a list"),
    ({"checker": "magic"}, "unknown checker 'magic'"),
    ({"max_new_tokens": 126}, "more than tokens_per_row (128)"),
    ({"max_new_tokens": 600, "tokens_per_row": 2048}, "the model has 512"),
    ({"temperature_": 1}, "unknown setting"),
]


@pytest.mark.parametrize(("changes", "said"), BAD)
def test_bad_input_is_one_message_before_anything_is_sampled(values: dict, tmp_path, changes: dict, said: str) -> None:
    if "data" in changes:
        (tmp_path / "bad.jsonl").write_text(changes["data"])
        changes = {"data": [str(tmp_path / "bad.jsonl")]}
    with pytest.raises(TrainerError) as caught:
        prepared({**values, **changes})
    assert said in caught.value.message or said == caught.value.kind
    assert caught.value.remedy


def test_a_checker_that_raises_loses_no_samples(values: dict, tmp_path: Path, monkeypatch) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def f(answer, row):\n    return int(answer) == row['sum']\n")
    with pytest.raises(TrainerError, match="KeyError: 'sum'") as caught:
        prepared({**values, "checker": f"{mine}:f"})
    assert "p.jsonl, line 1" in caught.value.message
    mine.write_text("def f(answer, row):\n    return answer.split()[-1:] == [str(row['answer'])]\n")
    monkeypatch.setattr(rft, "Sampler", None)
    assert prepared({**values, "checker": f"{mine}:f"}).facts["rft"]["kept"] == len(accepted(values))


def executed(values: dict, name: str = "rft") -> RunReport:
    report = RunReport(task=name)
    execute(name, from_mapping(values, "test"), {}, None, report, lambda text: None)
    return report


def test_the_whole_run_leaves_an_adapter_and_a_merged_model(values: dict) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    report = executed({**values, "merge_lora": True, "epochs": 4, "learning_rate": 1e-2})
    assert report.outcome == "finished"
    assert report.losses[-1] < report.losses[0]
    assert report.data["rft"]["kept"] > 0
    assert "rank 16" in {choice.value for choice in report.choices}
    assert 0 < report.model.trained_parameters < report.model.parameters
    base = AutoModelForCausalLM.from_pretrained(values["model"])
    PeftModel.from_pretrained(base, Path(values["output"]) / "adapter")
    # The merged model answers the same prompts better than the one it came from.
    first = report.data["rft"]["accept_rate"]
    again = prepared({**values, "model": report.model_path, "output": values["output"] + "-2"}).facts["rft"]
    assert again["accept_rate"] > first


def test_the_way_before_is_one_preset(values: dict) -> None:
    settings = from_mapping(values, "test", "before-rft")
    before = {"examples_per_batch": 32, "packing": False, "recompute": "full", "checkpoint_every": -1}
    assert {name: getattr(settings, name) for name in before} == before
    del values["sample_batch"]
    settings = from_mapping(values, "test", "before-rft")
    assert settings.sample_batch == 1
    report = RunReport(task="rft")
    execute("rft", settings, {}, None, report, lambda text: None)
    assert report.outcome == "finished"
    steps = report.steps
    names = sorted(path.name for path in (Path(values["output"]) / "checkpoints").iterdir())
    assert names == [f"step-{steps // 2:08d}", f"step-{steps:08d}"]  # one for each of the two epochs


def start(values: dict) -> subprocess.Popen:
    arguments = [text for name, value in values.items() for text in
                 (f"--{name}", *(value if isinstance(value, list) else [str(value)]))]  # fmt: skip
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "trainer", "rft", *arguments], cwd=ROOT, text=True, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def told(values: dict) -> list:
    lines = (Path(values["output"]) / "rft" / "samples.jsonl").read_text().splitlines()
    return [json.loads(line).get("answers") for line in lines]


@pytest.mark.slow
def test_killed_while_sampling_it_goes_on_to_the_same_answers(values: dict) -> None:
    values = {**values, "samples_per_prompt": 40, "sample_batch": 4}
    whole = {**values, "output": values["output"] + "-whole"}
    prepared(whole)
    file = Path(values["output"]) / "rft" / "samples.jsonl"
    counts = []
    for more in (3, 30):  # killed twice
        child = start(values)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and (file.read_bytes().count(b"\n") if file.exists() else 0) < more:
            time.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        counts.append(file.read_bytes().count(b"\n"))
    assert counts[0] < counts[1] < 101, "it was not killed in the middle"
    child = start(values)
    out, err = child.communicate(timeout=180)
    assert child.returncode == 0, err
    assert f"continuing with {4 * (counts[1] - 1)} of 400 answers sampled" in err
    assert told(values) == told(whole)
    assert accepted(values) == accepted(whole)
    assert json.loads(out)["model_path"].endswith("adapter")


@pytest.mark.slow
def test_the_bundled_sums_from_lessons_to_better_answers(tmp_path: Path) -> None:
    lessons = [json.loads(line) for line in (DATA / "sums-lessons.jsonl").read_text().splitlines()]
    model = taught(tmp_path, lessons, 12)
    values = {
        "model": str(model), "data": [str(DATA / "sums.jsonl")], "checker": "numeric", "max_new_tokens": 4,
        "samples_per_prompt": 8, "output": str(tmp_path / "run"), "cache": str(tmp_path / "cache"), "threads": 1,
        "tokens_per_row": 256, "device": "cpu", "epochs": 10, "learning_rate": 5e-3, "merge_lora": True,
    }  # fmt: skip
    report = executed(values)
    first = report.data["rft"]["accept_rate"]
    again = prepared({**values, "model": report.model_path, "output": str(tmp_path / "second")}).facts["rft"]
    assert 0.05 < first < again["accept_rate"]
