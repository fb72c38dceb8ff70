import pytest

from envdoctor.errors import Trouble
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
    assert facts.remarks == {
        "training_file": "examples/sft.yaml",
        "module flash_attn": "imported",
        "tools": "a script",
        "what the text shows": "Linux",
    }


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
        ("in docker torch.cuda.is_available() 为false", "is_available() is False"),
        ("torch.cuda.available() returns False there", "is_available() is False"),
        ("with cuda_is_available returns False here", "is_available() is False"),
        ("the system RAM grows to 500 GB, then it is out of memory", "can't allocate memory"),
        ("fine-tuning on 16 GB V100: out of memory", "CUDA out of memory"),
    ],
)
def test_retold_errors_get_their_tools_words(line: str, words: str) -> None:
    assert any(words in said for said in in_the_tools_words(line, alone=False))


def test_a_wheel_that_somebody_misses_is_told_where_no_program_speaks() -> None:
    words = in_the_tools_words("no wheel of torch for this Python", alone=True)
    assert any("requires a different Python" in said for said in words)


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
    assert list(in_the_tools_words(line, alone=True)) == []


def test_a_broken_line_is_joined() -> None:
    assert any("undefined symbol: _Z3x" in text for text in read("a.so: undefined\n symbol: _Z3x\n").messages)


@pytest.mark.parametrize("words", ["underfined symbol", "undefind symbol", "undefinied symbols", "unresolved symbol"])
def test_a_mangled_name_is_read_however_its_words_are_spelt(words: str) -> None:
    text = f"ImportError: /v/lib/python3.8/site-packages/loss-0.0.0-\npy3.8.egg/loss.so:\n {words}: _ZN3c105ErrorC1Ev\n"
    assert any("undefined symbol: _ZN3c105ErrorC1Ev" in said for said in read(text).messages)


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


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("torch is not detecting my GPU inside WSL2", "is_available() is False"),
        ("GPU is not being used, training runs on CPU only", "is_available() is False"),
        ("Docker container can't see GPU", "is_available() is False in the container"),
        ("nvidia-smi works on the host but not in the container", "in the container"),
        ("after kernel update nvidia-smi stopped working", "couldn't communicate with the NVIDIA driver"),
        ("RTX 5090 is not supported by this pytorch version", "no kernel image"),
        ("Getting OOM with batch size 1 on 24 GB", "CUDA out of memory"),
        ("The kernel appears to have died. It will restart automatically.", "Killed"),
        ("error when installing flash attention", "Failed building wheel for flash-attn"),
        ("pip install flash-attn==2.5.6 failed", "Failed building wheel for flash-attn"),
        ("can't install deepspeed on Windows", "Failed building wheel for deepspeed"),
        ("pip can't find torch 2.0.1", "No matching distribution found for torch==2.0.1"),
        ("401 unauthorized when downloading llama", "403 Client Error"),
        ("V100 does not support bfloat16", "bf16 precision was requested"),
        ("flash attention not supported on T4", "only supports Ampere"),
        ("fp8 is not supported on my 3090", "fp8e4nv not supported"),
    ],
)
def test_what_people_say_of_it_where_no_program_speaks(line: str, words: str) -> None:
    assert any(words in said for said in in_the_tools_words(line, alone=True))
    assert not any(words in said for said in in_the_tools_words(line, alone=False))
    assert any(words in said for said in read(line).messages)
    beside = read(f"{line}\nValueError: invalid literal for int() with base 10: 'x'\n")
    assert not any(words in said for said in beside.messages)


def test_what_is_asked_is_no_message_and_what_is_said_beside_it_is() -> None:
    text = "Does this work with an RTX 5080? I get sm_120 is not compatible with the current PyTorch installation\n"
    assert any("no kernel image" in said for said in read(text).messages)
    assert not any("no kernel image" in said for said in read("Why is sm_120 not compatible with it?\nx: 1\n").messages)


def test_an_exception_within_a_sentence() -> None:
    text = "Hi, the newest one gives import error \"ImportError: cannot import name 'A' from 'b.c'\". Thanks!\n"
    assert any(said.startswith("ImportError: cannot import name 'A'") for said in read(text).messages)


@pytest.mark.parametrize(
    "text",
    [
        "# Not found a_b-2.3.2+cu124torch2.6-cp310-cp310-linux_x86_64.whl\ntorch==2.6.0\n",
        "# ddp run fails at the end\ntorch==2.6.0\n",
        "I tried everything and it does not work\ntorch==2.6.0\n",
    ],
)
def test_a_complaint_alone_is_kept(text: str) -> None:
    assert "complaint" in read(text).remarks


@pytest.mark.parametrize("text", ["### Expected behavior\ntorch==2.6.0\n", "# Describe the bug\ntorch==2.6.0\n"])
def test_a_form_s_own_headings_are_no_complaint(text: str) -> None:
    assert "complaint" not in read(text).remarks


def test_a_console_in_another_encoding_is_read() -> None:
    text = "ModuleNotFoundError: No module named 'einops'\n" + "\ufffd" * 6 + " x" * 60
    assert any("einops" in said for said in read(text).messages)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            "Collecting numpy==1.19.3\n  Using cached numpy-1.19.3.zip (7.3 MB)\n"
            "  Getting requirements to build wheel: started\nERROR: Exception:\n",
            "Failed building wheel for numpy [sources of numpy-1.19.3]",
        ),
        (
            "Collecting flash_attn\n  Using cached flash_attn-2.8.3.tar.gz (8.4 MB)\n"
            "  error: subprocess-exited-with-error\n",
            "Failed building wheel for flash_attn [sources of flash_attn-2.8.3]",
        ),
        (
            "error: subprocess-exited-with-error\n"
            "  C:\\Temp\\pip-install-lqshaox1\\numba_78c75fdebe164f898fbb78a8711baa93\\versioneer.py:415\n",
            "Failed building wheel for numba",
        ),
    ],
)
def test_pip_s_log_names_what_it_builds(log: str, said: str) -> None:
    assert said in [line.partition(" [in other words: ")[0] for line in read(log).messages]


def test_sources_that_were_built_are_no_failure() -> None:
    log = "Collecting fire\n  Downloading fire-0.6.0.tar.gz (88 kB)\nSuccessfully installed fire-0.6.0\n"
    assert not any("Failed building" in said for said in read(log).messages)


def test_a_program_in_a_sentence_without_blanks_is_read() -> None:
    said = read("训练报错cannot import name 'AdamW' from 'transformers'\n").messages
    assert any(line.startswith("训练报错 cannot import") for line in said)


def test_an_exception_that_is_not_called_an_error_is_read() -> None:
    line = "torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached"
    assert line in read(f"Traceback (most recent call last):\n{line}\n").messages


def test_cuda_beside_a_driver_is_the_drivers() -> None:
    text = "NVIDIA Driver: 525.105.17\nCUDA: 12.0\n"
    assert driver(text).cuda == "12.0"
    assert getattr(read(text).torch, "cuda", None) is None


@pytest.mark.parametrize(
    "line",
    [
        'raise ImportError("Missing dependencies for serving. Install with pip install thing[serving]")',
        "except RepositoryNotFoundError:",
        '"GPUs sharing the same CPU memory, which risks CPU OOM. We "',
        'return f"Weights only load failed. {message}"',
        '   30         "To use `datasets`, the module `pyarrow>=3.0.0` is required"',
        "Raise a neater RuntimeError when the correct async deps are not installed. (#826)",
        "from .errors import EntryNotFoundError",
    ],
)
def test_quoted_code_and_changelogs_say_nothing_of_this_run(line: str) -> None:
    assert read(f"torch 2.9.0\n\n{line}\n").messages == ()


def test_the_line_of_a_frame_was_run() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in run\n    raise ImportError("no CUDA binary")\n'
    )
    assert any("no CUDA binary" in line for line in read(text).messages)


def test_a_launchers_traceback_is_not_that_of_the_error_above_it() -> None:
    """The program's own traceback ended in its error; the launcher's, cut off, has none."""
    text = """Traceback (most recent call last):
  File "/content/train.py", line 3, in <module>
    from somewhere import a_name
ImportError: cannot import name 'a_name' from 'somewhere'
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/accelerate/commands/launch.py", line 636, in simple_launcher
    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)"""
    messages = read(text).messages
    assert "ImportError: cannot import name 'a_name' from 'somewhere'" in messages
    assert not any("raised in accelerate" in message for message in messages if "ImportError" in message)


def test_the_line_above_an_import_error_names_its_module() -> None:
    """Before Python 3.7 the error names none, and a list in parentheses further up is another import's."""
    text = """Traceback (most recent call last):
  File "/x/site-packages/pytorch_lightning/metrics/__init__.py", line 15, in <module>
    from pytorch_lightning.metrics.classification import (  # noqa: F401
  File "/x/site-packages/pytorch_lightning/metrics/utils.py", line 22, in <module>
    from torchmetrics.utilities.data import get_num_classes as _get_num_classes
ImportError: cannot import name 'get_num_classes'"""
    assert any("from 'torchmetrics.utilities.data'" in message for message in read(text).messages)


def test_a_message_within_a_persons_sentence_is_heard() -> None:
    text = "Hello, that step ends in ```The detected CUDA version (12.5) mismatches the version\nPyTorch (11.3).```"
    assert any(one.startswith("CUDA version (12.5) mismatches the version [as told") for one in read(text).messages)


def test_of_a_traceback_with_folded_frames_nobody_knows_the_last() -> None:
    text = """Traceback (most recent call last)
/usr/local/lib/python3.12/dist-packages/diffusers/utils/import_utils.py in _get_module(self, module_name)
    35 frames
ModuleNotFoundError: No module named 'transformers.modeling_layers'"""
    assert not any("raised in diffusers" in message for message in read(text).messages)


def test_a_log_whose_letters_were_lost_is_still_read() -> None:
    lost = "\ufffd" * 20
    facts = read(f"[WinError 1455] {lost}\nError loading c10.dll")
    assert any("WinError 1455" in text for text in facts.messages)
    with pytest.raises(Trouble, match="not text"):
        read("\x01\x02" + lost)


def test_a_heading_without_a_version_says_nothing_of_torch() -> None:
    text = "pytorch version:\ntorch.version = 1.7.1+cu110\n\nRuntimeError: CUDA error: invalid argument\n"
    assert torch(text).version == "1.7.1+cu110"
