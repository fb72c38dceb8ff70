"""Files that are broken, tampered with or without end: each ends in a message that names it."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.trainer.launching import ROOT, environment, free_port
from trainer.__main__ import main
from trainer.data import dialogue, examples
from trainer.data.workloads import DATA


def _said(values: dict, capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    words = [word for name, value in values.items() for word in ("--" + name, str(value))]
    words[words.index("--data") + 1] = str(values["data"][0])
    assert main(["sft", *words]) == code
    said = capsys.readouterr()
    assert "report this message" not in said.err + said.out
    return said.err + said.out


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe\x00", b'{"model": {"vocab": 1}}'])
def test_a_tokenizer_that_is_none(tiny: dict, tmp_path: Path, content: bytes, capsys) -> None:
    folder = tmp_path / "tokenizer"
    shutil.copytree(DATA / "tokenizer", folder)
    (folder / "tokenizer.json").write_bytes(content)
    assert f"{folder}: " in _said({**tiny, "tokenizer": folder}, capsys)


@pytest.mark.parametrize("changed", [{"hidden_size": "x"}, {"model_type": "nope"}, {"num_attention_heads": 0}, None])
def test_a_model_configuration_that_cannot_be(tiny: dict, changed: dict | None, capsys) -> None:
    path = Path(tiny["model_config"])
    path.write_text("[]" if changed is None else json.dumps({**json.loads(path.read_text()), **changed}))
    said = _said(tiny, capsys)
    assert f"{path}: " in said
    assert len(said) < 2_000, "not the list of all models that transformers knows"


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "header", "shapes"])
def test_weights_that_cannot_be_read(tiny: dict, tmp_path: Path, damage: str, capsys) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    folder = tmp_path / "model"
    config = json.loads(Path(tiny.pop("model_config")).read_text())
    AutoModelForCausalLM.from_config(AutoConfig.for_model(config.pop("model_type"), **config)).save_pretrained(folder)
    weights = folder / "model.safetensors"
    sound = weights.read_bytes()
    if damage == "shapes":
        known = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**known, "intermediate_size": 64}))
    else:
        broken = {"cut": sound[:-1000], "garbage": os.urandom(999), "empty": b"", "header": b"\xff" * 8 + sound[8:]}
        weights.write_bytes(broken[damage])
    said = _said({**tiny, "model": folder}, capsys)
    assert f"{folder if damage == 'shapes' else weights}: " in said


def test_a_template_without_end(tiny: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(dialogue, "TEMPLATE_SECONDS", 0.5)
    template = tmp_path / "endless.jinja"
    template.write_text("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}")
    said = _said({**tiny, "chat_template": template}, capsys)
    assert "line 1: it has not ended within 0.5 s" in said
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    monkeypatch.setattr(examples, "LONGEST", 1 << 20)
    path = tmp_path / ("rows.jsonl.gz" if packed else "rows.jsonl")
    with gzip.open(path, "wb") if packed else path.open("wb") as stream:
        stream.write(b'{"text": "short"}\n{"text": "')
        for _ in range(64):
            stream.write(b"a" * (1 << 20))
    with pytest.raises(examples.TrainerError, match=r"line 2: longer than 1 MB"):
        list(examples.read_rows([path]))


def test_a_line_of_a_gigabyte_is_not_taken_into_memory(tmp_path: Path) -> None:
    """In 700 MB of address space, with a file that has holes."""
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as stream:
        stream.write(b'{"text": "')
        stream.truncate(1 << 30)
    code = (
        "import resource, sys; from pathlib import Path; from trainer.data import examples\n"
        "resource.setrlimit(resource.RLIMIT_AS, (700 << 20,) * 2)\n"
        "try: list(examples.read_rows([Path(sys.argv[1])]))\n"
        "except examples.TrainerError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, capture_output=True, text=True)
    assert "rows.jsonl, line 1: longer than 64 MB" in done.stdout, done.stderr[-500:]


@pytest.mark.slow
def test_a_small_parquet_file_of_much_text(tmp_path: Path) -> None:
    """One text of 70 MB that every row names: 200 KB on the disk, 70 GB as rows."""
    import pyarrow
    import pyarrow.parquet as parquet

    path = tmp_path / "rows.parquet"
    text = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 1000, pyarrow.int32()), ["a" * 70_000_000])
    parquet.write_table(pyarrow.table({"text": text}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(examples.TrainerError, match=r"row 1 or after: longer than 64 MB"):
        list(examples.read_rows([path]))


@pytest.mark.parametrize(
    "content", [b"\x1f\x8b" + bytes(100), gzip.compress(b'{"text": "a"}\n' * 999, mtime=0)[:-20], b"plain\n"]
)
def test_a_gzip_file_that_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(examples.TrainerError, match=r"rows\.jsonl\.gz: (?!None)"):
        list(examples.read_rows([path]))


def _other(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        file = next(path for path in folder.glob("*.safetensors") if path.stem == "model")
        tensors = load_file(file)
        change(tensors)
        save_file(tensors, file)

    return damage


def _state(text: Callable[[str], str]) -> Callable[[Path], None]:
    return lambda folder: (folder / "state.json").write_text(text((folder / "state.json").read_text())) and None


TAMPERED: dict[str, Callable[[Path], None]] = {
    "no state": _state(lambda text: "{}"),
    "a list": _state(lambda text: "[]"),
    "another step": _state(lambda text: text.replace('"step": 4', '"step": 99999999')),
    "a step of text": _state(lambda text: text.replace('"step": 4', '"step": "4"')),
    "no weight": _other(lambda tensors: tensors.pop(next(iter(tensors)))),
    "one weight more": _other(lambda tensors: tensors.update(more=torch.ones(3))),
    "another shape": _other(
        lambda tensors: tensors.update({name: value[..., :1].clone() for name, value in tensors.items()})
    ),
}


@pytest.mark.parametrize("kind", list(TAMPERED))
def test_a_checkpoint_that_somebody_else_wrote(tiny: dict, tmp_path: Path, kind: str, capsys) -> None:
    """Its manifest is right, and its content is no state of the run: named, instead of going on from half of it."""
    values = {**tiny, "max_steps": 4, "checkpoint_every": 2}
    _said(values, capsys, 0)
    folder = tmp_path / "run" / "checkpoints" / "step-00000004"
    TAMPERED[kind](folder)
    files = [path for path in sorted(folder.iterdir()) if path.name != "MANIFEST.json"]
    sums = {f.name: {"size": f.stat().st_size, "sha256": hashlib.sha256(f.read_bytes()).hexdigest()} for f in files}
    (folder / "MANIFEST.json").write_text(json.dumps(sums))
    _unfinished(tmp_path)
    assert re.search(r"step-00000004 is no state of this run \(", _said(values, capsys))


def _unfinished(folder: Path) -> None:
    record = folder / "run" / "run.json"
    record.write_text(record.read_text().replace('"finished"', '"interrupted"'))


def test_a_run_that_was_killed_after_its_last_checkpoint_makes_no_step_more(tiny: dict, tmp_path: Path, capsys) -> None:
    values = {**tiny, "max_steps": 4, "checkpoint_every": 2}
    _said(values, capsys, 0)
    model = tmp_path / "run" / "model" / "model.safetensors"
    before = model.read_bytes()
    shutil.rmtree(model.parent)
    _unfinished(tmp_path)
    assert "5 steps" not in _said(values, capsys, 0)
    assert model.read_bytes() == before


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_others_by_name(tiny: dict, tmp_path: Path) -> None:
    """Two that nobody watches, as under a scheduler that starts each by itself."""
    config = tmp_path / "settings.json"
    config.write_text(json.dumps({**tiny, "max_steps": 100_000, "checkpoint_every": 0, "epochs": 10_000}))
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    runs = []
    for rank in ("0", "1"):
        words = [sys.executable, "-m", "trainer", "sft", "--config", str(config)]
        words += ["--report", str(tmp_path / f"report{rank}.json")]
        own = environment(**meeting, RANK=rank, LOCAL_RANK=rank)
        runs.append(subprocess.Popen(words, cwd=tmp_path, env=own, stdout=-1, stderr=-2, text=True))
    try:
        metrics, last = tmp_path / "run" / "metrics.jsonl", time.monotonic() + 120
        while not (metrics.is_file() and metrics.stat().st_size) and time.monotonic() < last:
            time.sleep(0.2)
        runs[1].send_signal(signal.SIGKILL)
        said, _ = runs[0].communicate(timeout=120)
    finally:
        for run in runs:
            run.kill()
            run.wait()
    assert runs[0].returncode == 1, said[-2000:]
    assert "another process of this run has ended" in said
    assert json.loads((tmp_path / "report0.json").read_text())["error"]["kind"] == "other-process"
