"""Lines that look like those of a row and are another program's, another cause's, or a notice."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose

RULES = load_rules()


def messages(text: str) -> str:
    return "\n".join(one.message for one in diagnose(read(text), no_target(), RULES).findings)


@pytest.mark.parametrize(
    ("lines", "not_said"),
    [
        ("Consult /var/lib/dkms/nvidia/550.54.14/build/make.log for more information.", "AMD's own kernel module"),
        ("ValueError: the batch size 30 is not divisible by world_size 4", "what it is to be cut into"),
        ("ValueError: input_size must be divisible by 32", "that its code wants"),
        ("ImportError: cannot import name 'clock' from 'time' (unknown location)", "bare folder"),
        ("RuntimeError: Support for `callbacks` has been removed in v2.0", "hook of Lightning"),
        ("Building kernel modules: [##########] 100%", "NVIDIA's installer"),
        ("Unrecognized option: --add-opens=java.base/java.nio=ALL-UNNAMED", "assembler or linker"),
        ("/usr/bin/run: /bin/bash^M: bad interpreter: No such file or directory", "names a Python"),
        ("a.cpp:3:5: warning: narrowing conversion of 'n' from 'long' to 'int' [-Wnarrowing]", "within braces"),
        ("a.cpp(3): error C2143: syntax error: missing ';' before 'int'", "Visual C++ does not"),
        ("FileURLRetrievalError: downloadQuotaExceeded", "quota is smaller"),
        ("loading firmware nvidia/550.54.14/gsp_ga10x.bin", "does not find the firmware"),
        ("NVRM: krcRcAndNotifyAllChannels_IMPL: RC all channels for critical error 119.", "no longer answers"),
        ("export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/root/.mujoco/mujoco210/bin", "MuJoCo's own files"),
        (
            'File "/v/site-packages/torch/optim/lr_scheduler.py", line 130\n'
            "RuntimeError: The size of tensor a (10) must match the size of tensor b (20) at non-singleton dimension 1",
            "The optimizer's state",
        ),
        (
            "/v/pandas/core/computation/expressions.py:21: UserWarning: Pandas requires version '2.8.4' or newer\n"
            "KeyError: 'speaker'",
            "no column or row",
        ),
        (
            "pip install flash-attn --no-build-isolation\nModuleNotFoundError: No module named 'einops'",
            "needed to build a package",
        ),
    ],
)
def test_a_row_leaves_lines_alone_that_are_not_its_own(lines: str, not_said: str) -> None:
    assert not_said not in messages(f"PyTorch version: 2.5.1+cu124\n{lines}\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Consult /var/lib/dkms/amdgpu/6.8.5/build/make.log for more information.", "AMD's own kernel module"),
        ("ValueError: 40 attention heads is not divisible by tensor parallel size", "what it is to be cut into"),
        (
            "RuntimeError: Weight input_size_per_partition = 10944 is not divisible by min_thread_k = 128.",
            "that its code wants",
        ),
        (
            "RuntimeError: expected device cuda:0 and dtype Float but got device cuda:0 and dtype Half",
            "two number formats",
        ),
        ("RuntimeError: expected device cpu but got device cuda:0", "another device"),
        ("OSError: /v/lib/libjemalloc.so.2: ELF load command alignment not page-aligned", "smaller pages"),
        ("OSError: /v/lib/libtorch.so: ELF load command past end of file", "cannot be read whole"),
        ("a.cpp(3): error C2398: Element '1': conversion requires a narrowing conversion", "within braces"),
        ("NVRM: krcRcAndNotifyAllChannels_IMPL: RC all channels for critical error 79.", "no longer answers"),
        ("-bash: /v/bin/pip: /old/bin/python3.10: bad interpreter: No such file or directory", "names a Python"),
    ],
)
def test_a_row_still_speaks_of_its_own_line(line: str, said: str) -> None:
    assert said in messages(line + "\n")
