"""Lines that read like a row's and mean something else: the row stays silent, or says less."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose

RULES = load_rules()


def judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("INFO:jax._src.xla_bridge:Unable to initialize backend 'cuda': no devices", "JAX"),
        ("I0101 12:00:00.000000 140 xla_bridge.py:353] Unable to initialize backend 'gpu': not found", "JAX"),
        ("NotOpenSSLWarning: urllib3 v2 only supports OpenSSL 1.1.1+, compiled with 'LibreSSL 2.8.3'", "urllib3"),
        ("ValueError: mutable default <class 'list'> for field names is not allowed: use default_factory", "python"),
        ("NameError: name 'use_cuda' is not defined", "use-cuda"),
        ("ImportError: Numba needs NumPy 1.22 or greater. Got NumPy 1.21.", "numba"),
        ("AttributeError: module 'lib' has no attribute 'models'", "pyOpenSSL"),
        ("TypeError: Client.__init__() got an unexpected keyword argument 'proxy'", "httpx"),
        ("RuntimeError: broke at /usr/include/c++/11/bits/std_function.h:590", "nvcc"),
        ("AttributeError: module 'numpy' has no attribute '_core'", "numpy"),
        ("torch._inductor.exc.SubprocException: An exception occurred in a subprocess:", "worker processes"),
        ("KeyError: 'epoch'", "the checkpoint's keys"),
        ("RuntimeError: value cannot be converted to type int64_t without overflow", "number formats"),
        ("ImportError: cannot import name 'ProcessGroupNCCL' from 'torch._C._x' (unknown location)", "torch"),
        (
            "An error occurred while trying to fetch /m: Error no file named x.bin found in directory /m.",
            "the model's files",
        ),
        ("ValueError: of ['CoreMLExecutionProvider', 'AzureExecutionProvider', 'CPUExecutionProvider']", "onnxruntime"),
        ("RuntimeError: rendezvous with the store: Operation timed out", "a download"),
    ],
)
def test_a_line_that_means_something_else_is_not_taken_for_the_rows(line: str, subject: str) -> None:
    assert subject not in [one.subject for one in judged(line).findings if one.rule == "packages/known-errors"]


@pytest.mark.parametrize(
    "line",
    [
        "UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider names.",
        "[WARNING]your gpu arch (8, 9) isn't compiled in prebuilt, may cause invalid device function.",
    ],
)
def test_what_a_run_goes_on_with_is_a_warning(line: str) -> None:
    assert [one.severity.word for one in judged(line).findings if one.rule == "packages/known-errors"] == ["warning"]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("ValueError: DistributedDataParallel device_ids and output_device arguments only work with", "on the CPU"),
        ("ValueError: Can't find 'adapter_config.json' at 'somebody/adapter'", "gated"),
        ("ValueError: DeepSpeed is not compatible with `device_map`. n_gpu: 2", "need not have been given"),
        ("TypeError: forward() missing 1 required positional argument: 'self'", "class is called where an instance"),
        ("OSError: Error no file named scheduler_config.json found in directory ./out.", "a configuration"),
        ("ValueError: Couldn't cast", "columns"),
    ],
)
def test_a_message_of_several_causes_names_them(line: str, word: str) -> None:
    assert any(word in one.message for one in judged(line).findings if one.rule == "packages/known-errors")
