"""Which of several rows of the errors speaks, where a report holds lines of more than one."""

from __future__ import annotations

import pytest

from envdoctor.knowledge.errors import ERRORS
from tests.rules.packages.test_known_errors import judged


def test_what_is_said_of_any_failure_gives_way_to_what_names_one() -> None:
    any_ = "ninja: build stopped: subcommand failed."
    found = judged(f"/usr/bin/ld: cannot find -lcurand\n{any_}\n")
    assert [one.subject for one in found.findings if one.rule == "packages/known-errors"] == ["libcurand"]
    alone = judged(any_)
    assert alone.root_cause is not None
    assert alone.root_cause.subject == "an extension that is compiled at start"


def test_a_destructor_that_fails_after_a_build_is_not_the_cause() -> None:
    text = (
        "Exception: Installed CUDA version 11.0 does not match the version torch was compiled with 10.1\n"
        '  File "/v/site-packages/deepspeed/ops/adam/cpu_adam.py", line 91, in __del__\n'
        "AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'\n"
    )
    assert [one.rule for one in judged(text).findings if one.severity.word == "error"] == ["torch/nvcc"]


def test_a_programs_own_advice_is_said_only_where_no_row_speaks() -> None:
    advice = "ValueError: The value is odd. Please pass a `size` that is even."
    alone = judged(advice).root_cause
    assert alone is not None
    assert "pass a size that is even" in alone.remedy.text
    beside = judged(f"{advice}\nRuntimeError: Ninja is required to load C++ extensions\n")
    assert [one.subject for one in beside.findings if one.severity.word == "error"] == ["ninja"]


def test_a_warning_does_not_silence_what_is_said_of_any_failure() -> None:
    text = (
        "UserWarning: no 'device' argument is passed to the 'Pipeline' object.\n"
        "ValueError: too many values to unpack (expected 2)\n"
    )
    subjects = {one.subject for one in judged(text).findings}
    assert subjects == {"the device", "what is unpacked"}


def test_more_gpus_than_there_are_is_not_said_to_be_none() -> None:
    line = "MisconfigurationException: You requested gpu: [0, 1, 2]\n But your machine only has: {}"
    some, none = judged(line.format("[0, 1]").replace("\n", "")), judged(line.format("[]").replace("\n", ""))
    assert [one.kind for one in some.findings if one.severity.word == "error"] == ["config-mismatch"]
    assert {one.kind for one in none.findings if one.severity.word == "error"} == {"gpu-not-visible"}


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("ValueError: The value is odd. Please pass a `size` that is even.", None),
        ("error: subprocess-exited-with-error", "a package built from source"),
        ("ValueError: `packing` is not supported with `padding_free`", "what the message refuses"),
    ],
)
def test_what_an_errors_form_alone_tells_is_a_warning_at_most(line: str, subject: str | None) -> None:
    """Whatever the table says: the rows have the severity of an error, as those that name a cause."""
    assert {row.severity for row in ERRORS if row.alone} == {"error"}
    told = [one for one in judged(line).findings if one.rule == "packages/known-errors"]
    assert [one.severity.word for one in told] == ["warning"]
    assert subject in (None, told[0].subject)


def test_a_worker_that_ended_is_read_without_its_exceptions_name() -> None:
    root = judged("It reported:\nDataLoader worker (pid(s) 18056, 20540) exited unexpectedly\n").root_cause
    assert root is not None
    assert root.subject == "the loader's workers"
    assert "could not start from this script" in root.message


def test_an_index_that_was_asked_is_not_said_to_be_missing() -> None:
    line = "ERROR: Could not find a version that satisfies the requirement torch==1.13.1+cu116 (from versions: 2.0.0)\n"

    def told(indexes: str) -> str:
        (found,) = (one for one in judged(f"Looking in indexes: {indexes}\n{line}").findings if one.subject == "torch")
        return found.message

    assert "the text names PyTorch's own index" in told("https://x/simple, https://download.pytorch.org/whl/cu116/")
    assert "are on PyTorch's own index" in told("https://x/simple")


@pytest.mark.parametrize(
    ("beside", "line", "subject"),
    [
        (
            "docker run -it --user 1000 shelf/serve:3",
            "serve: error while loading shared libraries: libpython3.11.so.1.0: cannot open shared object file",
            "the image's Python",
        ),
        (
            "GPU available: True (cuda), used: True",
            "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, use spawn",
            "Lightning's processes",
        ),
        (
            "the nodes are joined by InfiniBand",
            "node01:1:2 [0] NCCL INFO NET/IB : No device found.",
            "InfiniBand",
        ),
        (
            "uv pip install vllm --torch-backend=cu129",
            "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory",
            "a package for CUDA 13",
        ),
        (
            "python -m pip install paddlepaddle-gpu",
            "ImportError: libcudart.so.10.2: cannot open shared object file: No such file or directory",
            "paddlepaddle-gpu",
        ),
        (
            "dinov2/fsdp/__init__.py, in free_if_fsdp",
            "AttributeError: 'VisionTransformer' object has no attribute '_handles'",
            "torch",
        ),
        (
            "load(documents, PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0)",
            "RuntimeError: MPS backend out of memory (MPS allocated: 2.44 GB)",
            "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
        ),
    ],
)
def test_a_row_that_asks_for_what_stands_beside_it(beside: str, line: str, subject: str) -> None:
    def subjects(text: str) -> set[str]:
        return {one.subject for one in judged(text).findings if one.rule == "packages/known-errors"}

    assert subject in subjects(f"{beside}\n{line}\n")
    assert subject not in subjects(f"{line}\n")


@pytest.mark.parametrize(
    "text",
    [
        "'NSYS' is not recognized as an internal or external command",
        "libGL.so.1 => /lib/x86_64-linux-gnu/libGL.so.1 (0x00007f)",
        "'NoneType' object has no attribute 'cget'",
        'Error: unsupported architecture "arm64"',
        "Loaded D:\\ui\\bin\\cudnn64_9.dll",
        "Set the CUDA_HOME environment variable before you build",
        "model.from_pretrained(path, ignore_mismatched_sizes=True)",
        "FSDP_TRANSFORMER_CLS_TO_WRAP=LlamaDecoderLayer",
        "CUDA available: True, MPS available: False",
    ],
)
def test_what_only_resembles_a_line_is_not_taken_for_it(text: str) -> None:
    rules = [one.rule for one in judged(f"torch==2.4.0\n{text}\n").findings if one.severity.word == "error"]
    assert "packages/known-errors" not in rules


def test_a_module_that_a_running_program_lacks_is_not_said_to_be_missing_in_a_build() -> None:
    line = "ModuleNotFoundError: No module named 'torch'\n"

    def told(before: str) -> str:
        found = (one.message for one in judged(f"{before}\n{line}").findings if one.rule == "packages/known-errors")
        return "\n".join(found)

    assert "needs torch while it is built, and" in told("error: subprocess-exited-with-error")
    assert "The Python that runs or builds this has no torch" in told("Preparing metadata (setup.py) ... done")
    assert "torch is not found by the Python that runs this" in told("python train.py")


def test_the_name_of_an_error_that_cannot_be_imported_is_not_that_error() -> None:
    met = judged("LocalEntryNotFoundError: Cannot find the requested files in the disk cache\n")
    missing = judged("ImportError: cannot import name 'LocalEntryNotFoundError' from 'huggingface_hub.errors'\n")
    assert "the Hub" in {one.subject for one in met.findings}
    assert {one.subject for one in missing.findings} == {"huggingface-hub"}


def test_an_old_assembler_on_path_stands_before_newer_gpus() -> None:
    old = "E asm_compiler.cc:99] *** WARNING *** You are using ptxas 10.2.89, which is older than 11.1."
    text = f'{old}\nW asm_compiler.cc:2] ptxas does not support CC 8.6\nfailed to get PTX kernel "add" from module: X\n'
    assert [one.subject for one in judged(text).findings] == ["an old ptxas on PATH"]
    fatal = "xla/stream_executor: ptxas fatal   : Value 'sm_89' is not defined for option 'gpu-name'\n"
    root = judged(f"Cuda compilation tools, release 10.2, V10.2.89\n{fatal}").root_cause
    assert root is not None
    assert root.subject == "an old ptxas on PATH"
    later = judged(f"Cuda compilation tools, release 12.2, V12.2.140\n{fatal}").findings
    assert "an old ptxas on PATH" not in [one.subject for one in later]
