"""Error lines that are cut off, runs that were over, and what a text tells to have been tried."""

import pytest

from envdoctor.facts.pasted.completed import whole_of
from tests.rules.host.test_slow_run import judged

_FRAMES = """Traceback (most recent call last):
  File "/home/u/app/main.py", line 3, in <module>
    run()
  File "{file}", line 90, in {function}
    {code}"""


def said(text: str) -> str:
    return " ".join(f"{one.subject}: {one.message} {one.remedy.text}" for one in judged(text).findings)


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        ("RuntimeError: Torch is not a", "Torch is not able to use GPU"),
        ("RuntimeError: Expected all tensors to be on", "Expected all tensors to be on the same device"),
        ("RuntimeError: CUDA out of mem", "CUDA out of memory"),
        ("RuntimeError: No HIP GPUs are", "No HIP GPUs are available"),
        ("RuntimeError: CUDA out of memory", None),
        ("RuntimeError: CUDA error", None),
        ("ValueError: the size of it", None),
        ("RuntimeError: Torch", None),
    ],
)
def test_a_line_is_completed_where_one_sentence_begins_so(cut: str, whole: str | None) -> None:
    assert whole_of(cut) == whole


def test_a_completed_line_is_a_guess() -> None:
    found = judged('Traceback (most recent call last):\n  File "a.py", line 3, in f\nRuntimeError: No HIP GPUs are\n')
    assert found.unexplained is None
    assert {one.severity.word for one in found.findings} == {"warning"}


@pytest.mark.parametrize(
    ("file", "function", "code", "subject"),
    [
        ("D:\\sd\\modules\\launch_utils.py", "prepare_environment", "raise RuntimeError(", "torch"),
        ("/v/site-packages/torch/cuda/__init__.py", "_lazy_init", "raise AssertionErr", "CUDA"),
        ("/v/torch/serialization.py", "validate_cuda_device", "raise RuntimeError('Attem", "map_location"),
        ("/v/torch/nn/modules/module.py", "load_state_dict", "raise RuntimeError('Er", "the checkpoint"),
        ("/v/deepspeed/ops/op_builder/builder.py", "assert_no_cuda_mismatch", "raise Excepti", "nvcc"),
        ("/v/torch/utils/cpp_extension.py", "_check_cuda_version", "raise Runt", "nvcc"),
        ("/v/torchvision/_meta_registrations.py", "meta_nms", "torch._check", "torchvision"),
    ],
)
def test_the_last_function_of_a_traceback_that_breaks_off(file: str, function: str, code: str, subject: str) -> None:
    found = judged(_FRAMES.format(file=file, function=function, code=code))
    told = [one for one in found.findings if one.subject == subject]
    assert told
    assert found.unexplained is None
    assert all(one.severity.word == "warning" and "cut off" in one.message for one in told)


def test_a_function_that_many_things_end_in_tells_nothing() -> None:
    text = _FRAMES.format(file="/v/torch/nn/modules/module.py", function="_call_impl", code="return forward_call(")
    assert judged(text).unexplained is not None
    whole = _FRAMES.format(file="/v/torch/cuda/__init__.py", function="_lazy_init", code="x") + "\nKeyError: 'a'\n"
    assert "cut off" not in said(whole)


_STUCK = "[rank2]:[E1] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress\n"


@pytest.mark.parametrize(
    "over",
    [
        "The training is finished and the weights are on the disk.\n",
        "{'train_runtime': 90.1, 'train_loss': 0.4}\n",
        "`Trainer.fit` stopped: `max_epochs=3` reached.\n",
    ],
)
def test_a_run_that_was_over_is_told_apart(over: str) -> None:
    assert "destroy_process_group" in said(over + _STUCK)
    assert "destroy_process_group" not in said(_STUCK)
    assert "destroy_process_group" not in said(f"{over}Watchdog caught collective operation timeout\n{_STUCK}")


@pytest.mark.parametrize(
    "text",
    [
        "UnpicklingError when I load the file\n\nweights_only became True by itself",
        "With PyTorch 2.6 I get _pickle.UnpicklingError from torch.load",
        "torch==2.8.0\nUnpicklingError: Unsupported class numpy.core.multiarray.scalar",
    ],
)
def test_unpickling_is_known_by_its_class_and_the_release(text: str) -> None:
    assert "weights_only" in said(text)
    assert "weights_only" not in said("_pickle.UnpicklingError: invalid load key, 'v'.\ntorch==2.8.0")


_MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\n"


@pytest.mark.parametrize(
    "tried", ["I rebooted twice.", "Tried rebooting the server, but it's the same.", "Even after a reboot it stays."]
)
def test_a_reboot_that_did_not_help_is_not_advised_again(tried: str) -> None:
    finding = next(one for one in judged(_MISMATCH + tried).findings if one.rule == "driver/library-mismatch")
    assert "sudo reboot" not in finding.remedy.commands
    assert "dkms" in finding.remedy.text.lower()


@pytest.mark.parametrize("told", ["", "I cannot reboot it before Monday.", "It was fixed by a reboot."])
def test_a_reboot_that_was_not_tried_is(told: str) -> None:
    finding = next(one for one in judged(_MISMATCH + told).findings if one.rule == "driver/library-mismatch")
    assert finding.remedy.commands == ("sudo reboot",)


def test_a_newer_torch_that_did_not_help_is_not_advised_again() -> None:
    error = "RTX 5090\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    tried = f"{error}I already installed the nightly build with cu128, then vLLM complained.\n"
    assert "installed already" in said(tried)
    assert "installed already" not in said(error)


def test_a_variable_that_is_set_is_not_advised_again() -> None:
    error = (
        "NotImplementedError: The operator 'aten::x' is not currently implemented for the MPS device. As a temporary "
        "fix, you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1`\n"
    )
    variable = "export PYTORCH_ENABLE_MPS_FALLBACK=1"
    assert any(variable in one.remedy.commands for one in judged(error).findings)
    for tried in ("With that flag enabled it fails elsewhere.", "I have set PYTORCH_ENABLE_MPS_FALLBACK=1 already."):
        found = judged(error + tried).findings
        assert not any(variable in one.remedy.commands for one in found)
        assert any("done already" in one.remedy.text for one in found)


def test_a_symbol_that_is_missing_after_a_fresh_build() -> None:
    error = "ImportError: /a/_my_lib.so: undefined symbol: state_of_it\n"
    assert "no longer gives it out" in said(f"{error}It came with the last upgrade, I rebuilt it.\n")
    assert "no longer gives it out" not in said(error)


def test_a_mac_has_no_cuda() -> None:
    assert "mps" in said("# GPU not found on my MacBook\ntorch.cuda.is_available() returns False on Apple M2\n")
    assert "device mps" not in said("torch.cuda.is_available() returns False\nUbuntu, RTX 3090, ssh from my Mac\n")


def test_a_launchers_line_does_not_hide_what_the_environment_says() -> None:
    text = (
        "Error: Command 'docker run --runtime=nvidia image' returned non-zero exit status 1.\n"
        "Python platform: Linux-5.15.136-tegra-aarch64-with-glibc2.35\nIs CUDA available: False\n"
        "GPU models and configuration: GPU 0: Orin (nvgpu)\nNvidia driver version: N/A\n"
    )
    found = judged(text)
    assert found.unexplained is None
    assert any("Jetson" in one.message for one in found.findings)
