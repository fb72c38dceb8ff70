"""What a line proves and what usually lies behind it are told apart, and a line that proves neither is left alone."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.knowledge.errors import ERRORS
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding

RULES = load_rules()


def told(text: str) -> tuple[Finding, ...]:
    return tuple(diagnose(read(text), no_target(), RULES).findings)


def test_what_is_usual_is_no_sentence_of_its_own_and_beside_no_guess() -> None:
    for row in ERRORS:
        if row.usually:
            assert not row.usually.endswith("."), row.usually
            assert not row.guess, row.meaning


@pytest.mark.parametrize(
    ("line", "not_said"),
    [
        (
            "whisper_init_state: failed to load Core ML model from 'models/ggml-base.en-encoder.mlmodelc'",
            "model's file",
        ),
        ("AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'", "does not hold what its Python part"),
        ("TypeError: Could not infer dtype of numpy.datetime64", "bridge to the NumPy"),
        ("KeyError: 'yield_rate'", "table of models"),
        ("KeyError: 'philosophy'", "table of models"),
        (
            "fatal: unable to access 'https://h.example/a/b.git/': The requested URL returned error: 403",
            "A server was not reached",
        ),
        ("Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open", "of its own line"),
        ("nvidia-container-cli: initialization error: cuda error: unknown error: unknown.", "CUDA could not start"),
    ],
)
def test_a_row_does_not_speak_of_what_only_looks_like_it(line: str, not_said: str) -> None:
    assert not [one for one in told(line) if not_said in one.message]


@pytest.mark.parametrize(
    ("line", "subject", "said"),
    [
        ("SystemError: PY_SSIZE_T_CLEAN macro must be defined for '#' formats", "a compiled package", "before 3.10"),
        (
            'File "/v/site-packages/triton/compiler.py", line 9, in launch\n'
            "SystemError: PY_SSIZE_T_CLEAN macro must be defined for '#' formats",
            "triton",
            "before 3.10",
        ),
        (
            "ImportError: cannot import name 'BERT_PRETRAINED_MODEL_ARCHIVE_MAP' from 'transformers'",
            "transformers",
            "2.11",
        ),
        (
            "ImportError: cannot import name 'BERT_PRETRAINED_MODEL_ARCHIVE_LIST' from 'transformers'",
            "transformers",
            "4.41",
        ),
        ("RuntimeError: CPU dispatcher tracer already initialized", "numpy", "loaded a second time"),
        ("RuntimeError: CPU dispatcher tracer already initlized", "numpy", "loaded a second time"),
        ("ModuleNotFoundError: No module named 'bitsandbytes.cuda_setup.paths'", "bitsandbytes", "older bitsandbytes"),
        ("KeyError: 'phi3'", "transformers", "no entry phi3"),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", "a server", "broke the transfer off"),
        ("BrokenPipeError: [Errno 32] Broken pipe", "the process at the other end", "Usually a worker"),
    ],
)
def test_a_row_speaks_of_its_own_line(line: str, subject: str, said: str) -> None:
    assert [one for one in told(line + "\n") if one.subject == subject and said in one.message]


def test_a_file_in_a_listing_is_not_one_that_does_not_load() -> None:
    listing = "c10.dll\nfbgemm.dll\nfbgemm.lib\nRuntimeError: something else"
    assert "fbgemm" not in " ".join(one.message for one in diagnose(read(listing), no_target(), RULES).findings)
    failure = (
        'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\x\\fbgemm.dll" or one'
    )
    assert "fbgemm" in " ".join(one.message for one in diagnose(read(failure), no_target(), RULES).findings)
