"""A person says that a run is slow: what stands beside it tells where such runs lose their time."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import read
from envdoctor.knowledge.slowness import SITUATIONS
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.host.slow_run import slow_run
from tests.rules.judging import skipped

RULES = load_rules(("image", "script"))


def judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


def told(text: str) -> list[str]:
    return [one.subject for one in judged(text).findings if one.rule == "host/slow-run"]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        (
            "# Training is very slow\nepoch 3 [40/900] Time 1.204 (1.310) Data 0.910 (1.002) Loss 2.31",
            "steps that wait for their data",
        ),
        (
            "# Training gets slower and slower\ntrain: [5][99/100] |Data 3.556s(0.517s) |Net 1.014s",
            "steps that wait for their data",
        ),
        ("# Slow training\nIter 50, time: 1.50, data_time: 1.20, memory: 9000", "steps that wait for their data"),
        ("# Training got much slower after upgrading to 2.4.1\nSame code, same card.", "slower with another release"),
        ("# Training is slower than before\nI wrap the net in DataParallel over three cards.", "DataParallel"),
        ("# Is 4 GPUs slower than one normal?\nAn epoch takes 50 s on one and 80 s on four.", "several GPUs"),
        ("# Very slow epochs\ntorchrun --nproc_per_node=8 main.py --num_workers 32", "workers of every process"),
        (
            "# Tokenizing is taking too long?\nMap (num_proc=1): 100%| 90/90 [4:57:10<00:00, 11.27 examples/s]",
            "rows that one process prepares",
        ),
        ("# Why is my training so slow?\nThe pictures lie on an HDD, 16 GB of RAM.", "the disk"),
        ("slow data loading from S3\ntorch 2.6.0", "the disk"),
        ("# Loading the data is slow\nThe pictures are in /mnt/d/data, I use WSL.", "Windows' disk within WSL"),
        ("# Very slow in ComfyUI\nTwelve minutes for a picture of 1536x1536.", "one picture"),
        ("# Inference is too slow\nEach call of the detector needs two seconds on an L4.", "inference"),
        ("# Very slow epochs\nnvidia-smi shows that gpu utilization stays around 8 %.", "a GPU that waits"),
        (
            "# Training is very slow\n| 32%   46C    P8    28W / 250W |    320MiB / 12066MiB |      0%      Default |",
            "a GPU that computes nothing",
        ),
        ("# Inference is slow\nI run the exported model with onnxruntime-directml.", "DirectML's device"),
        ("# Really slow epochs\nI have Windows 10 and num_workers=8.", "loader workers on Windows"),
        ("# Inference is slow\nI run the exported model with onnxruntime.", "ONNX Runtime's provider"),
        ("# Extremely slow generation\nI load it with device_map='auto'.", "weights outside of the GPU"),
        ("# Training gets slow\nSame model, load_in_8bit=True this time.", "8 and 4 bits"),
        ("# Inference super slow\nAbout one token/s where others have thirty.", "generation without a cache"),
        ("# Training slow\nIt gets slower and slower with every epoch.", "slower with time"),
        ("# So slow at the beginning\nThe first iteration takes five minutes.", "the first steps"),
        ("# Training slow\nWe train in float32 on an A100.", "float32"),
        ("# Painfully slow to load\nLoading checkpoint shards takes 20 minutes.", "loading the weights"),
        ("# Process 0 very slow\nds.map(tokenize, num_proc=8)", "rows that several processes prepare"),
        ("# Steps slow down\nAll of the VRAM is taken.", "a GPU that is full"),
        (
            "# Very slow since the NVIDIA update\nDriver 536.67, 12 GB VRAM",
            "a driver that spills since its update",
        ),
        ("# Training slow with DDP\nOne GPU lags behind the others.", "one GPU behind the others"),
        ("# Training is slow\nIt runs fast on another machine.", "fast on another machine"),
        ("# Serving is slower than before\nDecode batch. cuda graph: False", "an engine without CUDA graphs"),
        ("# GPU training is as slow as CPU training", "slower than the processor"),
        ("# FP16 model inference time is two times of FP32 model", "a number format that gains nothing"),
        ("# Is it normal that CPU usage is at 100% while GPU is underutilized?", "a GPU that waits"),
        ("# Training is very slow\nWith ddp_find_unused_parameters_true.", "a search for unused parameters"),
        ("# DataLoader is very slow with num_workers > 0", "slower with workers"),
        ("# Training is slow: each epoch start takes minutes", "the time between epochs"),
        ("# torch 1.12.1 runs slower than torch 1.8.2 in training", "slower with another release"),
        ("# Training is much slower after updating torch\nWhy?", "slower with another release"),
        ("# Volatile GPU-Util is low and fluctuant\nAny advice?", "a GPU that waits"),
        ("# The 5080 is no faster than my old 2080 Ti in training", "a card that is slower than another"),
        ("# A quarter of the speed of my old 3090 on the new 5090", "a card that is slower than another"),
        ("# Training is half as fast as on our other 4090\nWhy?", "a card that is slower than another"),
        ("# fp16 has no speed gain over float32", "a number format that gains nothing"),
        ("# No improvement in throughput with torch.compile", "compiling that gains nothing"),
        ("# Steps take ages with zero-3\nFour A100s in one box.", "sharded weights"),
        ("# Poor throughput between two machines\n10 Gb ethernet.", "links between GPUs and nodes"),
        ("# Validation takes an eternity\nTen times the epoch.", "evaluation and saving"),
        ("# My logger makes each step slower\nIt is wandb.", "logging in every step"),
        ("# conda takes forever\nSolving environment.", "an installer at work"),
        ("# Training is slow\nIt just is.", "where a step loses its time"),
    ],
)
def test_what_stands_beside_the_complaint_is_named(text: str, subject: str) -> None:
    found = judged(text)
    assert subject in told(text)
    assert found.unexplained is None
    assert {one.severity.word for one in found.findings if one.rule == "host/slow-run"} == {"warning"}


def test_every_situation_is_tried() -> None:
    mark = next(mark for mark in test_what_stands_beside_the_complaint_is_named.pytestmark if mark.args)
    assert {subject for _, subject in mark.args[1]} == set(SITUATIONS.names())


@pytest.mark.parametrize(
    "text",
    [
        "# CUDA out of memory\nThe data lie on an HDD, in float32.",  # no complaint of speed
    ],
)
def test_nothing_is_guessed_of_nothing(text: str) -> None:
    assert told(text) == []


def test_an_error_is_not_explained_by_a_slow_disk() -> None:
    found = judged("# Training is so slow\nThe data lie on an HDD.\nRuntimeError: the frobnicator is not aligned\n")
    assert found.root_cause is None or found.root_cause.severity.word == "warning"
    assert found.unexplained is not None


def test_without_a_complaint_nothing_is_judged() -> None:
    assert skipped(slow_run, Facts())


def test_every_situation_says_what_to_do_and_who_says_so() -> None:
    for row in SITUATIONS:
        assert row.source.startswith("https://"), row
        assert row.remedy.endswith("."), row
        assert not row.meaning.endswith("."), row


@pytest.mark.parametrize(
    "text",
    [
        "# Very slow, an H100\nOne image of 1792x1792 with the diffusion pipeline, gpu utilization is low, about 15 %.",
        "生成速度太慢，4090\n一张图要八分钟，显卡利用率很低",
        "# Muy lento\nCada imagen tarda 6 minutos con Flux, y la GPU usage stays at 12 %",
        "# sehr langsam\nEin Bild mit ComfyUI braucht 15 Minuten auf einer RTX 3080",
        "画像生成が遅い\nRTX 4060で1枚に8分かかる",
    ],
)
def test_a_picture_has_no_loader(text: str) -> None:
    subjects = told(text)
    assert "one picture" in subjects
    assert "a GPU that waits" not in subjects
    assert "inference" not in subjects


def test_training_on_pictures_has_one() -> None:
    text = "# Training LoRA with diffusers is very slow\nGPU utilization is low, about 20 %, one image per second."
    assert "a GPU that waits" in told(text)
    assert "one picture" not in told(text)


def test_the_whole_of_inference_speaks_only_where_nothing_nearer_does() -> None:
    text = "# Inference is too slow\nOne token takes a second with llama on a 3090, gpu usage is low."
    assert "generation without a cache" in told(text)
    assert "inference" not in told(text)
