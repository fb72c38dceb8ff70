import pytest

from envdoctor.facts.pasted import read
from envdoctor.facts.pasted.wording import in_the_tools_words
from tests.facts.pasted.reading import driver, torch


def test_errors_are_messages_and_the_rest_with_a_key_is_a_remark() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in <module>\n    import flash_attn\n'
        "ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c105Error\n"
        "training_file: examples/sft.yaml\nI cannot get this to work, please help\n"
    )
    facts = read(text)
    assert facts.messages == ("ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c105Error",)
    assert facts.remarks == {"training_file": "examples/sft.yaml"}


def test_a_message_that_goes_on_in_the_next_line() -> None:
    text = "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.1 as it may crash.\n"
    assert any(line.endswith("cannot be run in NumPy 2.0.1 as it may crash.") for line in read(text).messages)


def test_numbers_that_errors_carry() -> None:
    text = "CUDA initialization: The NVIDIA driver on your system is too old (found version 11040).\n"
    assert driver(text).cuda == "11.4"
    assert (torch(text).cuda_available, torch(text).cuda_error) == (False, text.strip())
    assert driver("Found no NVIDIA driver on your system.").kernel_module == ""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("worker killed: bus error", "out of shared memory"),
        ("0 items of ancdata came back", "received 0 items of ancdata"),
        ("cuInit returns 999 here", "Error 999"),
        ("system not yet initialised", "Error 802"),
        ("cuDNN: loaded 8.9.0, built with 8.5.0", "compiled against 8.5.0 but found runtime version 8.9.0"),
        ("installed CUDA 12.0 does not match torch's 11.7", "detected CUDA version (12.0) mismatches"),
        (
            "module torch.compiler has no attribute is_compiling",
            "module 'torch.compiler' has no attribute 'is_compiling'",
        ),
        ("cannot import Cache from transformers", "cannot import name 'Cache' from 'transformers'"),
        ("no wheel of torch for this Python", "requires a different Python"),
    ],
)
def test_retold_errors_get_their_tools_words(line: str, words: str) -> None:
    assert any(words in said for said in in_the_tools_words(line))


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: received 0 items of ancdata",
        "The NVIDIA driver on your system is too old (found version 11040)",
        "ValueError: Attention mask should be of size (1, 1, 10, 10)",
        "UserWarning: torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly",
        "FutureWarning: You are using torch.load with weights_only=False",
        "loss becomes nan after 100 steps",
    ],
)
def test_tools_own_words_and_other_matters_stay_as_they_are(line: str) -> None:
    assert list(in_the_tools_words(line)) == []


def test_a_broken_line_is_joined() -> None:
    assert any("undefined symbol: _Z3x" in text for text in read("a.so: undefined\n symbol: _Z3x\n").messages)


def test_what_a_person_retells_is_heard() -> None:
    said = read("Hi, I installed all of it, but still get the error 'sm_120' is not a recognized processor for it\n")
    assert said.messages == ("'sm_120' is not a recognized processor for it",)


def test_a_cut_traceback_lends_its_extension_to_the_heading() -> None:
    text = (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
        'File "/v/site-packages/mamba_ssm/ops/selective_scan_interface.py", line 181, in forward\n'
    )
    assert read(text).messages[0].endswith("[raised in mamba_ssm]")


def test_whether_cuda_is_available_is_answered_in_the_next_line() -> None:
    torch = read("torch==1.8.1+cu102\nprint(torch.cuda.is_available())\nreturn False\n").torch
    assert getattr(torch, "cuda_available", None) is False
