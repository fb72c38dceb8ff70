"""Where the GPU is full, the text tells which run it is: its own options help, and those of others do not."""

from __future__ import annotations

import pytest

from tests.rules.told import root, whole

FULL = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB."


@pytest.mark.parametrize(
    ("line", "option"),
    [
        (
            '  File "/opt/sglang/python/sglang/srt/model_executor/model_runner.py", line 90, in init',
            "--mem-fraction-static",
        ),
        ("python -m sglang.launch_server --model-path M --tp 8", "--mem-fraction-static"),
        ("vllm serve M --max-num-seqs 512", "--gpu-memory-utilization"),
        (
            '  File "/usr/lib/python3/dist-packages/vllm/v1/worker/gpu_worker.py", line 9, in f',
            "--gpu-memory-utilization",
        ),
        ("trtllm-serve M --tp_size 2", "free_gpu_memory_fraction"),
    ],
)
def test_a_server_has_options_of_its_own(line: str, option: str) -> None:
    found = whole(root(line, FULL))
    assert option in found
    assert not any(word in found for word in ("ComfyUI", "picture", "gradient"))


def test_an_engine_beside_a_training_is_no_server() -> None:
    found = whole(root('  File "/x/trl/trainer/grpo_trainer.py", line 9, in f', "vllm serve M", "GRPO training", FULL))
    assert "--max-num-seqs" not in found


@pytest.mark.parametrize(
    "line",
    [
        "I have four cards, and only the first GPU is used.",
        "The other 3 GPUs stay at 0 MiB.",
        "The remaining cards are not loaded.",
        "It puts the whole batch of 64 on one GPU.",
    ],
)
def test_a_run_that_did_not_spread(line: str) -> None:
    found = whole(root("Training with device=[0, 1, 2, 3]", line, FULL))
    assert "did not spread" in found
    assert "torchrun" in found


@pytest.mark.parametrize(
    "line", ["I only have one GPU, it is used by me alone.", "With only one GPU it works.", "Only one epoch works."]
)
def test_a_run_on_one_gpu_has_nothing_to_spread(line: str) -> None:
    assert "did not spread" not in whole(root("Training", line, FULL))


BARE = "RuntimeError: CUDA error: out of memory"


@pytest.mark.parametrize("line", ["OS: Ubuntu 22.04 on WSL2", "Linux-5.15.90.1-microsoft-standard-WSL2-x86_64"])
def test_the_driver_s_refusal_under_wsl_may_be_pinned_memory(line: str) -> None:
    found = root(line, BARE)
    assert "pin_memory=False" in found.remedy.text
    assert "Usually under WSL" in found.message


@pytest.mark.parametrize("lines", [("OS: Ubuntu 22.04", BARE), ("OS: WSL2", FULL)])
def test_and_elsewhere_or_by_torch_s_own_word_it_is_not(lines: tuple[str, ...]) -> None:
    assert "under WSL it is memory" not in root(*lines).message


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("OOM after the last epoch, when the model is saved with FSDP", "rank0_only=True"),
        ('  File "/x/llava/train.py", line 9, in safe_save_model_for_hf_trainer', "offload_to_cpu=True"),
        ("ns-train splatfacto --data scene", "cap_max"),
        ('  File "gaussian-splatting/train.py", line 90, in training', "densify_grad_threshold"),
    ],
)
def test_what_grows_or_is_gathered_is_told(line: str, told: str) -> None:
    found = whole(root(line, FULL))
    assert told in found
    assert "LoRA" not in found
