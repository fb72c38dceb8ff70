"""However a report is wrapped, it says the same; whatever is pasted, reading ends with facts or one clear error."""

from __future__ import annotations

import dataclasses
import html
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import read
from envdoctor.facts.wire import from_json, to_json

CASES = {path.stem: path.read_text("utf-8") for path in sorted((Path(__file__).parents[2] / "cases").glob("*.txt"))}

WRAPPINGS = {
    "indented": lambda text: "".join(f"    {line}\n" for line in text.split("\n")),
    "fenced": lambda text: f"```text\n{text}\n```\n",
    "tilde": lambda text: f"~~~\n{text}\n~~~\n",
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.split("\n")),
    "quoted twice": lambda text: "".join(f"> > {line}\n" for line in text.split("\n")),
    "details": lambda text: f"<details>\n<summary>env</summary>\n\n```\n{text}\n```\n</details>\n",
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "coloured": lambda text: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.split("\n")),
    "trailing spaces": lambda text: "".join(f"{line}   \n" for line in text.split("\n")),
    "escaped html": lambda text: html.escape(text, quote=False),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "twice": lambda text: f"{text}\n\n{text}",
    "told": lambda text: f"Hi all,\n\nI ran the script and got the following output.\n\n{text}\n\nBest regards\n",
    "ranks": lambda text: "".join(f"[rank0]: {line}\n" if line.strip() else "\n" for line in text.split("\n")),
}


def comparable(facts: Facts) -> Facts:
    """Wrapping may add remarks ("env"), never facts."""
    return dataclasses.replace(facts, remarks={})


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_wrapping_changes_nothing(wrapping: str) -> None:
    wrap = WRAPPINGS[wrapping]
    for name, text in CASES.items():
        if wrapping == "escaped html" and text.lstrip().startswith("<details>"):
            continue  # its own tags would be escaped too
        assert comparable(read(wrap(text))) == comparable(read(text)), name


def test_facts_travel_as_json() -> None:
    for text in CASES.values():
        facts = read(text)
        assert from_json(Facts, to_json(facts)) == facts


@pytest.mark.parametrize("name", CASES)
def test_a_report_may_be_cut_off_anywhere(name: str) -> None:
    text = CASES[name]
    for end in range(0, len(text), max(1, len(text) // 40)):
        quietly(text[:end])
        quietly(text[end:])


def quietly(text: str) -> Facts | None:
    try:
        return read(text)
    except Trouble as error:
        refused = error
    assert refused.problem
    assert refused.remedy
    return None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=2_000))
def test_any_text_gives_facts_or_one_clear_error(text: str) -> None:
    quietly(text)


_PIECES = st.sampled_from(
    [line for text in CASES.values() for line in text.split("\n")]
    + ["```", "> ", ">>> torch.__version__", "| 0 |", "+---+", "CPU:", "GPU 0:", "[conda] a", "Name: x", "Version: 1",
       "- `Accelerate` default config:", "{'a': {", "torch==", "Package Version", "GPU0 X NV1", "index, name", "\x00",
       "==============NVSMI LOG==============", "GPU 00000000:01:00.0", "Found GPU0", "NCCL INFO Using network"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=60).map("\n".join))
def test_any_mixture_of_real_lines(text: str) -> None:
    facts = quietly(text)
    if facts is not None:
        assert from_json(Facts, to_json(facts)) == facts


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("binary", "\x00\x01\x02\ufffd" * 10_000),
        ("too long", "x" * (4 * 1024 * 1024 + 1)),
        ("too many lines", "torch==2.0\n" * 30_000),
        ("empty", ""),
        ("blank", " \n\t\n"),
        ("prose", "Lorem ipsum dolor sit amet\n" * 50),
    ],
)
def test_what_is_no_report_is_refused_in_words(name: str, text: str) -> None:
    with pytest.raises(Trouble) as caught:
        read(text)
    assert caught.value.remedy, name


HOSTILE = {
    "one line": "PyTorch version: " * 50_000,
    "brackets": "[" * 250_000,
    "quotes": "> " * 125_000 + "torch==2.0",
    "bullets": "- " * 125_000,
    "html": "<details " * 50_000,
    "comment": "<!--" * 50_000,
    "escapes": "\x1b[" * 75_000,
    "dots": "a" + "." * 250_000 + " 1",
    "spaces": "torch" + " " * 250_000 + "2.0\nPackage Version\n",
    "digits": "torch==" + "1." * 100_000,
    "braces": "deepspeed_config: " + "{'a': " * 1_000,
    "pipes": "| " * 200_000,
    "stars": "**" * 200_000,
    "many gpus": "".join(f"GPU {index}: NVIDIA A100\n" for index in range(5_000)),
    "many packages": "".join(f"package{index}==1.{index}\n" for index in range(5_000)),
    "many messages": "".join(f"RuntimeError: undefined symbol number {index}\n" for index in range(5_000)),
    "keys": "".join(f"key{index}: value\n" for index in range(5_000)),
    "flags": "CPU:\nFlags: avx2\n" + "sse " * 75_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_is_read_in_bounded_time(name: str) -> None:
    start = time.process_time()
    facts = quietly(HOSTILE[name])
    # A bound against blow-up, not a measure of speed: a quadratic pattern takes minutes on these.
    assert time.process_time() - start < 30
    if facts is not None:
        assert len(facts.messages) <= 2_000
        assert len(facts.remarks) <= 500


def test_secrets_do_not_pass() -> None:
    text = (
        "PyTorch version: 2.6.0\nHF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789\nCUDA_VISIBLE_DEVICES=0\n"
        "RuntimeError: cannot reach https://user:geheim@example.org/simple?token=abcdef123456\n"
    )
    found = str(to_json(read(text)))
    assert "hf_abcdefghij" not in found
    assert "geheim" not in found
    assert "abcdef123456" not in found
    assert read(text).variables == {"CUDA_VISIBLE_DEVICES": "0"}
