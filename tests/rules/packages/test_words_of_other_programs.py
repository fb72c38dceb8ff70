"""A row says nothing of a line that other programs print as well, and no cause that the line does not prove."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding, Severity

RULES = load_rules()


def told(text: str) -> tuple[Finding, ...]:
    return tuple(diagnose(read(text), no_target(), RULES).findings)


@pytest.mark.parametrize(
    ("text", "not_said"),
    [
        ("export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun train.py\nValueError: bad split\n", "CUDA_DEVICE_MAX"),
        ("Error: the environment variable NCCL_DEBUG is set to INFO\n", "that is not set where it runs"),
        ("google.api_core.exceptions.RetryError: GCS request timed out\n", "Ray"),
        ("-- The following variables are used in this project, but they are set to NOTFOUND.\nOpenCV_DIR\n", "CUDA"),
        ("building 'fused_weight_gradient_mlp_cuda' extension\nerror: command failed\n", "which does not load"),
        ("Jupyter command `jupyter-notebook` not found.\n", "ipykernel"),
        ("bash: ${a b}: bad substitution\n", "sh is given"),
        ("AttributeError: 'tuple' object has no attribute 'crop'\n", "cache object"),
        ("AttributeError: 'ProcessGroup' object has no attribute 'all_gather'\n", "ZeRO"),
        (
            'File "/a/properties.py", line 3, in load\n    kind = entry["type"]\nKeyError: \'type\'\n',
            "rope_scaling",
        ),
        (
            "File \"/a/args.py\", line 3, in __post_init__\nTypeError: argument of type 'NoneType' is not iterable\n",
            "tp_plan",
        ),
        ("fairseq | WARNING: ran out of memory, skipping batch\n", "The structure"),
        (
            "ImportError: x_cuda: undefined symbol: _ZN3c10foo\n",
            "was built for another torch than the one that loads it.",
        ),
        ('error: namespace "cub" has no member "DeviceTopK"\n', "CUDA 13 changed or dropped"),
    ],
)
def test_a_row_does_not_speak_for_another_program(text: str, not_said: str) -> None:
    assert not [one for one in told(text) if not_said in one.message and one.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Jupyter command `jupyter-notebook` not found.\n", "no program jupyter-notebook"),
        ("ValueError: foo is incompatible with torch >= 2.9\n", "does not run with torch >= 2.9"),
        ('error: namespace "cub" has no member "DeviceTopK"\n', "DeviceTopK"),
        (
            "AssertionError: Megatron-FSDP requires `CUDA_DEVICE_MAX_CONNECTIONS > 1`, for example 32\n",
            "CUDA_DEVICE_MAX_CONNECTIONS",
        ),
    ],
)
def test_what_the_line_proves_is_said(text: str, said: str) -> None:
    assert [one for one in told(text) if said in one.message]


@pytest.mark.parametrize(
    "line",
    [
        "/bin/bash: /e/lib/libtinfo.so.6: no version information available (required by /bin/bash)",
        "Unrecognized keys in `rope_parameters` for 'rope_type'='yarn': {'foo'}",
        "UserWarning: `training_step` returned `None`. If this was on purpose, ignore this warning...",
        "UserWarning: `do_sample` is set to `False`. However, `temperature` is set to `0.6`",
    ],
)
def test_a_notice_is_no_error(line: str) -> None:
    assert not [one for one in told(line + "\n") if one.severity is Severity.ERROR]
