"""Rules about packages say what a line proves, and apart from it what usually lies behind it."""

from __future__ import annotations

import pytest

from tests.rules.told import root, whole


@pytest.mark.parametrize(
    ("line", "proves", "command"),
    [
        ("numpy.dtype size changed. Expected 96 from C header, got 88 from PyObject", "for NumPy 1 meets", "numpy<2"),
        ("numpy.dtype size changed. Expected 88 from C header, got 96 from PyObject", "for NumPy 2 meets", "numpy>=2"),
        ("numpy.ndarray size changed. Expected 88 from C header, got 80 from PyObject", "1.20 or later", ">=1.20,<2"),
        ("module compiled against API version 0x10 but this version of numpy is 0xf", "1.23 or later", ">=1.23,<2"),
        ("module compiled against API version 0x12 but this version of numpy is 0x10", "for NumPy 2", "numpy>=2"),
        ("module compiled against ABI version 0x1000009 but this version of numpy is 0x2000000", "NumPy 1", "numpy<2"),
    ],
)
def test_the_numbers_of_numpys_interface_tell_which_side_is_old(line: str, proves: str, command: str) -> None:
    found = root(f"ValueError: {line}")
    assert found.rule == "packages/numpy-abi"
    assert proves in found.message
    assert command in " ".join(found.remedy.commands)


def test_a_failed_import_of_numpys_core_decides_for_no_side() -> None:
    found = root("ImportError: numpy.core.multiarray failed to import", "import cv2")
    assert "Usually" in found.message
    assert not any("install" in command for command in found.remedy.commands)


@pytest.mark.parametrize(
    ("line", "proves", "usually"),
    [
        ("RuntimeError: PassManager::run failed", "gave a kernel up", "does not know the GPU"),
        ("ModuleNotFoundError: No module named 'triton'", "is not found", "Windows"),
        ("RuntimeError: Cannot find a working triton installation", "none is found", "another release"),
        ("ImportError: cannot import name 'wanted_thing' from 'triton.compiler'", "has not what", "different times"),
        ("ImportError: DLL load failed while importing flash_attn_2_cuda", "does not load", "another torch"),
        ("ImportError: libtorch_cuda.so: cannot open shared object file: No such file", "not found", "before torch"),
        ("AttributeError: 'NoneType' object has no attribute 'cadam32bit_grad_fp32'", "its library", "saw no GPU"),
        ("RuntimeError: No available kernel. Aborting execution.", "attention kernels", "float32"),
        ("ModuleNotFoundError: No module named 'wholly.unheard'", "has no unheard", "another release"),
        ("NameError: name 'flash_attn_func' is not defined", "was not imported", "does not load"),
        ("PermissionError: [Errno 13] Permission denied: '/root/.cache/huggingface/hub'", "could not be used", "owns"),
        ("RuntimeError: can't start new thread", "could not be started", "20.10.10"),
    ],
)
def test_a_rule_names_what_usually_lies_behind(line: str, proves: str, usually: str) -> None:
    certain, _, likely = root(line).message.partition(" Usually ")
    assert proves in certain
    assert usually in likely


def test_the_assembler_of_a_build_is_not_tritons() -> None:
    unknown = "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'"
    built = root("nvcc fatal : Unsupported gpu architecture 'compute_120'", unknown)
    assert built.rule == "packages/known-errors"
    own = root(f"triton.compiler.errors.PTXASError: {unknown}")
    assert "knows no sm_120" in own.message


def test_a_c_library_that_is_too_old_is_not_torchs_matter() -> None:
    found = root(
        "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by "
        "/opt/conda/lib/python3.10/site-packages/flash_attn_2_cuda.so)"
    )
    assert "newer C or C++ library" in found.message
    assert "does not fit this torch" not in found.message


def test_triton_is_not_offered_where_it_has_no_wheel() -> None:
    found = root("I use a MacBook Pro with an M2.", "ModuleNotFoundError: No module named 'triton'")
    assert not found.remedy.commands
    assert "macOS" in found.remedy.text


@pytest.mark.parametrize(
    ("lines", "says", "never"),
    [
        (
            ("docker run --gpus all image", "torch.cuda.is_available() returns False"),
            "torch is a build for CPUs",
            "started without",
        ),
        (
            (
                "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.",
                "Since `find_unused_parameters=True` is enabled, this likely means that not all outputs take part.",
            ),
            "Bring every returned output into the loss",
            "or find_unused_parameters=True",
        ),
        (
            ('An error encountered: "invalid kernel file" at /src/main.hip:204',),
            "--offload-arch",
            "torch",
        ),
    ],
)
def test_rows_leave_out_what_the_text_rules_out(lines: tuple[str, ...], says: str, never: str) -> None:
    found = root(*lines)
    assert says in whole(found)
    assert never not in whole(found)


def test_a_gpu_that_a_container_dropped_is_sent_to_an_older_one() -> None:
    found = root("ERROR: Detected Tesla V100S-PCIE-32GB GPU, which is not supported by this container")
    assert "no longer holds code for Tesla V100S-PCIE-32GB" in found.message
    assert found.remedy.text.startswith("Take an older release")
    unknown = root("ERROR: Detected NVIDIA Thing 1 GPU, which is not supported by this container")
    assert "no longer" not in unknown.message
