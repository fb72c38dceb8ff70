"""A person says that a run stands still, eats memory or gives nonsense: what stands beside it tells the likeliest."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import read
from envdoctor.knowledge.slowness import COMPLAINTS
from envdoctor.rules.host.complained_of import complained_of
from tests.rules.host.test_slow_run import judged
from tests.rules.judging import skipped


def told(text: str) -> list[str]:
    return [one.subject for one in judged(text).findings if one.rule == "host/complained-of"]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("# It hangs for hours\nThe last line is: Loading extension module fused_adam...", "a lock left behind"),
        (
            "# Training gets stuck after two epochs\nWe use four V100 GPUs with torchrun.",
            "ranks that wait for one another",
        ),
        ("[Bug] Training hangs after one epoch\nWe use DDP on 2 gpus.", "ranks that wait for one another"),
        ("# Training hangs on two gpus\nThe last line is initializing ddp ...", "variables of a cluster"),
        (
            "# Stuck with Lightning\nWith devices=4 and strategy ddp, WORLD_SIZE=4 is set here.",
            "variables of a cluster",
        ),
        ("# DDP hangs at the start\nNODE_RANK=0 comes from our cluster.", "variables of a cluster"),
        ("# It freezes at the barrier\nOn my old server the same script works with torchrun.", "one of two machines"),
        ("# Training hangs on 4 gpus\nThe image runs fine on another machine.", "one of two machines"),
        ("# accelerate launch gets stuck\nOn machine A all is well, on machine B never.", "one of two machines"),
        ("# Two GPUs hang\nIt works with NCCL_P2P_DISABLE=1.", "peer access that is broken"),
        ("# Two nodes hang\nIt works with NCCL_IB_DISABLE=1.", "the way between the machines"),
        ("# NCCL hangs\nall_reduce_perf hangs, too.", "below PyTorch"),
        (
            "# DDP hangs\nGLOBAL_RANK: 0, MEMBER: 1/3\nGLOBAL_RANK: 0, MEMBER: 1/3",
            "ranks that came twice",
        ),
        ("# DDP hangs\nIt hangs with gloo as well.", "a start that stands with one GPU, too"),
        ("# Stuck after the first epoch\nNo error, one card.", "between two epochs"),
        ("# Nothing happens before the first batch\nnum_workers=8 hangs, 0 goes.", "the loader's workers"),
        (
            "# It hangs in the first epoch\nUserWarning: This DataLoader will create 24 worker processes in total. Our "
            "suggested max number of worker in current system is 4.",
            "more workers than processors",
        ),
        ("# map is stuck at 97 %\nds.map(fn, num_proc=16)", "rows prepared by several processes"),
        ("# The download hangs\nFetching 30 files: 40%, from the Hub.", "a download"),
        ("# Stuck while installing\nBuilding wheels for collected packages: flash-attn", "a compiler at work"),
        ("# Stuck here\nLoading checkpoint shards: 0%| 0/3", "weights on their way"),
        ("# Memory leak\nIt grows with num_workers of the DataLoader.", "the loader's copies"),
        ("# GPU memory keeps growing\nwith each iteration, until it is full", "what is kept from step to step"),
        ("# RAM usage keeps increasing\n60 GB of RAM and all of swap after a day", "the machine's memory"),
        ("# GPU memory is not released\nvLLM takes all of the memory after its start.", "what an engine reserves"),
        ("# Memory leak\nEach prompt in ComfyUI needs more of it.", "models that stay loaded"),
        (
            "# Colab: RAM crashed\nIt crashes at torch.load(path, map_location='cpu').",
            "a checkpoint that is read whole",
        ),
        ("# The saved adapter is only 12 KB\nI train with ZeRO-3 and peft.", "an adapter in pieces"),
        ("# adapter_model.safetensors is empty\nA LoRA of peft.", "an adapter that is filtered twice"),
        ("训练完成后lora的adapter_model.bin只有443字节", "an adapter that is filtered twice"),
        ("# 443 bytes adapter_model.bin after the tuning\nNo message at all.", "an adapter that is filtered twice"),
        ("# NaN after the first step\nThe loss becomes nan in FP16, never in float32.", "numbers that overflow"),
        ("# Results change between runs\nThe same input gives another label each time.", "not the same twice"),
        ("# I only get black images\nGTX 1660, no message.", "black pictures"),
        ("# The output images are all noise\nA LoRA of SDXL with diffusers.", "pictures of noise"),
        ("# Model gives gibberish\nThe chat model repeats random tokens.", "garbled text"),
        ("# Loss is not decreasing\nIt stays at 1.386 in all epochs.", "a loss that does not fall"),
        ("# Wrong results on MPS\nThe same net is right on the CPU of my MacBook.", "Apple's GPU"),
        ("# Black images with fp16\nThe card is a GTX 1660 super, half precision.", "fp16 on a GTX 16"),
        (
            "# OOM when fine-tuning 13B\n  modules.py:268 in _save_to_state_dict\n    undo_layout(CxB, indices)",
            "a checkpoint that is written",
        ),
        ("# No GPU is found inside WSL\nMicrosoft Windows [Version 10.0.19041.508]", "a Windows before GPUs in WSL"),
        ("# 用模型做训练，loss一下子掉成0\nfp16: true", "a loss without content"),
        (
            "# Training hangs in WSL when nearly all VRAM is allocated\nShared GPU memory rises in the Task Manager.",
            "memory that spills over under Windows",
        ),
        ("# matmul rounds on a 3090\nfloat32: 1024.5 becomes 1025 on that GPU.", "products in TF32"),
        ("# Different results between CPU and GPU\nThe outputs differ by 0.3.", "other numbers on another device"),
        ("# Different batch sizes give different results\nIn bf16.", "other numbers in another batch"),
        ("# torch.compile failed when using dynamic input shapes\nOn generation.", "what torch.compile does not take"),
        ("# inductor recompiles the model for each length", "what torch.compile does not take"),
        ("# torch.compile gives wrong results\nEager is fine.", "a compiled model with other numbers"),
        ("# FSDP2 loss differs from DDP\nOn the same rows.", "a mean that is taken otherwise"),
        ("# Training in pure bf16 does not converge\nfloat32 does, on the same rows.", "weights in bf16"),
        ("# Gradients are not synchronized across ranks with DDP", "gradients that stay with their rank"),
        ("# Validation stuck when ranks have different data size\nFSDP.", "ranks with more batches than others"),
        ("# Cannot find CUDA devices when the machine stays idle for a while", "a GPU that goes away"),
        ("# All false attention mask causes output to be NaN\nWith SDPA.", "rows that see nothing"),
        ("# zero3 hangs in inference\nIt goes with one prompt.", "ranks that generate to different lengths"),
        ("# Loss exploded after epoch 84\nIt was fine before.", "a loss that rises"),
        ("# Training loss acts strangely after resuming\nIt jumped.", "a state that is not restored"),
        ("# Gradient accumulation gives different loss than large batch", "a mean that is taken otherwise"),
        ("# GPU memory not released after training finishes", "held after the end"),
        ("# accuracy drops when training with DDP compared to single GPU", "the batch over all GPUs"),
        ("# FSDP uses more memory than DDP\nFor the same model.", "more than the weights"),
        ("# Updating from torch 2.8 to 2.9 breaks our gradients", "a newer release than the code"),
        ("# GPU memory usage differs across GPUs in DDP\nWhy?", "ranks that touch GPU 0"),
        ("# Using a fixed seed doesn't work\nThe loss is another one in each run.", "not the same twice"),
        ("# Running the script multiple times, the results are different.", "not the same twice"),
        (
            "# Why does cuda memory gradually increase\nMemory grows from 3 GB to 8 GB in each epoch.",
            "what is kept from step to step",
        ),
        ("# VRAM need in training\nI wonder how much VRAM is needed, 8 GB are not enough.", "what a step needs"),
        ("# My training process is frozen\nNo more is told.", "where it stands is not told"),
        ("# Training takes only one GPU\nThe job asks for --gres=gpu:4 in its sbatch file.", "Slurm's tasks"),
        ("# Just the first GPU is busy\nThere are two cards in this box.", "one process"),
        (
            "# The second GPU stays idle, only one GPU computes\nmodel loaded with device_map.",
            "weights of one model on several GPUs",
        ),
        ("# CUDA_VISIBLE_DEVICES is ignored\nos.environ is set at the top of main().", "the variable comes too late"),
        ("# It takes the wrong GPU\nIn nvidia-smi the RTX 3090 is number 1.", "the order of the GPUs"),
        ("# The model is always on GPU 0\nI pass --device 3 to the demo.", "a GPU that the code names"),
        ("# Unbalanced memory\nWith nn.DataParallel the first one is full.", "DataParallel's first GPU"),
        ("# More processes than GPUs\nEach rank of eight has 500 MB on GPU 0 too.", "ranks that touch GPU 0"),
        (
            "# My GPU is not used\ntorch.cuda.is_available() returns True, and the CPU is at 100 %.",
            "a model that was not moved",
        ),
        ("Not Using GPU\nThe tool spikes the processor, the VRAM stays empty.", "the processor in place of the GPU"),
        ("onnxruntime uses the CPU instead of the GPU after pip install onnxruntime", "onnxruntime for the processor"),
        ("# Worse accuracy with 4 GPUs\nOne card gives 81.2, four give 77.", "the batch over all GPUs"),
        ("# The PC shuts down when I train\nA 4090 with a supply of 650 W.", "power and heat"),
        ("# Exited with code 139\nRX 7900 XTX and the container for ROCm 5.3.", "RDNA3 and an older ROCm"),
        ("# It segfaults\nRX 9070 and ROCm 6.2, at the first tensor.", "RDNA4 and an older ROCm"),
        ("# Segfault at start\nA Ryzen with Cezanne graphics, torch for rocm.", "an AMD GPU without code of its own"),
        ("# Closes without any error\nwhile it is loading the model, 16 GB RAM.", "memory while loading"),
        ("# The kernel dies\nas soon as I import torch in a notebook.", "an import that crashes"),
        ("# The process ends silently\nafter the second picture.", "a library that crashes"),
        ("# Old files are broken with torch 2.6\nThe checkpoint was made in 2023.", "weights_only"),
        ("# New lightning renamed the arguments\nrequirements: pytorch-lightning>=1.3", "Lightning's arguments"),
        ("# Does not work with numpy 2.0\nA fresh environment gets it.", "NumPy 2"),
        ("# Arc A770 not used\nAn Intel Arc and a script for cuda.", "Intel's GPU"),
        ("# Uses the CPU instead of my card\nA Radeon, torch by pip.", "AMD's GPU"),
        ("# I cannot reproduce the results\nThe settings are the paper's.", "settings that are not the paper's"),
        ("# Each node trains independently\ntorchrun on two machines.", "launchers that do not know one another"),
        ("# My computer freezes\nwhen it trains under WSL.", "a machine that freezes"),
        ("# The loss does not converge in fp16\nIn fp32 it does.", "gradients that vanish in fp16"),
        ("# The outputs are all zeros\nbf16 on a V100.", "bf16 on an older GPU"),
        ("# Other predictions after loading the model\nIt was saved as .pt.", "not the same after loading"),
        ("# Crashes silently on Windows\nwith num_workers=4 only.", "workers that crash on Windows"),
        ("# Broken since the update\nAfter updating diffusers nothing runs.", "a newer release than the code"),
        ("# VRAM is still occupied once I close the script\nOne A40.", "processes that still live"),
        ("# conda keeps giving me the CPU build of pytorch\nI have a driver.", "the index that was not asked"),
        ("# torch gets replaced by an older version whenever I install a plugin", "a requirement of another package"),
        ("# The CUDA version of nvcc and the one of nvidia-smi are different\nWhy?", "three numbers of CUDA"),
        ("# The learning rate starts at the top again when I resume training", "a state that is not restored"),
        ("# Embeddings come back on cuda despite the model being on cpu", "a device that is chosen elsewhere"),
        ("# A 1B model takes three times the GPU memory that it should\nbatch 1", "more than the weights"),
        ("# My home folder runs out of space, 300 GB of models", "caches of models and packages"),
        ("# In Jupyter torch is not found, from the terminal it works fine", "two Pythons"),
        ("# I can not import flash_attn any more\nIt was there yesterday.", "what was built for another torch"),
        ("# The notebook session crashed while the model was coming in", "a session that lost its memory"),
        ("# The power draw of my GPU stays at 60 W", "power, heat and slots"),
        ("# My finished LoRA makes no difference\nThe picture is the base model's.", "an adapter that is not applied"),
        ("# TF32 does not seem to be active on the A100", "conditions of the faster way"),
        ("# Only 6 GB of the 24 GB are ever used", "what limits the memory in use"),
        ("# The second node cannot reach the master\nPort 29500.", "an address that leads nowhere"),
        ("# It downloads the weights again at every start", "a cache that is not found again"),
        ("# My card is not recognised by the trainer", "the way from the driver to torch"),
        ("# OMP_NUM_THREADS has no effect at all", "a setting that comes too late"),
        ("# OOM in the validation of every epoch\nTraining is fine.", "predictions that are kept"),
        ("# The memory is not enough: insufficient memory when it saves\nZeRO-3.", "saving and loading"),
        ("# Out of memory with a batch of 2\nA 4090.", "what a step needs"),
        ("# The loss is always 0.0 from the first step on\nLoRA in fp16.", "a loss without content"),
        ("# It takes all CPU cores while idle\nA small net.", "threads for small work"),
        ("# Unable to install the package on my cluster\nNo idea.", "no wheel, or no compiler"),
        ("# The port is already taken when a second run starts", "another run on the port"),
        ("# The nvidia driver does not load after a kernel update", "a module that does not fit the kernel"),
        ("# The cache folder is read-only on our cluster\nHow so.", "a folder of another user"),
        ("# Gated model: access is still refused, I did accept it", "a token without the right"),
        ("# Some weights are never updated in my training", "nothing that learns"),
        ("# The saved model is incomplete\nZeRO-3.", "shards, ties and full disks"),
        ("# Our docker image got huge because of torch\nCPU only.", "the libraries of CUDA in it"),
        ("# Fetching from the hub fails in our office\nA proxy.", "the way to the Hub"),
        ("# Gibberish on two GPUs\nWith a single GPU it is fine.", "GPUs that read one another wrongly"),
        ("# Validation crashes but training works\nNo more is told.", "what evaluation does otherwise"),
        ("# My pod does not see the GPU\nA k3s cluster.", "a pod's runtime"),
        ("# It just hangs\nNothing else is printed.", "where it stands is not told"),
        ("# There is a memory leak somewhere\nI cannot say more.", "what grows is not told"),
        ("# The model keeps repeating itself\nWhat can it be.", "why it is nonsense is not told"),
        (
            "RTX 4080 not detected on Windows 11\n\nTensorFlow version: 2.18.0\nOS platform: Windows 11 24h2",
            "TensorFlow on Windows",
        ),
        (
            "My GPU is not found\n\nonnxruntime and onnxruntime-gpu are both installed.",
            "onnxruntime's two packages",
        ),
        ("no cuda / gpu inside the docker container (agx orin)", "a Jetson's torch"),
        ("IPEX with oneAPI 2024.1 finds no XPU device on a Max 1550", "the way to Intel's GPU"),
        ("The GPU is not detected any more\n\njax.devices() shows only the CPU", "JAX's plugin"),
        (
            "torch 2.10.0 broke torchcodec\nTraceback (most recent call last):\n"
            '  File "/e/lib/python3.13/site-packages/torchcodec/_core/ops.py", line 104, in <module>\n',
            "what is compiled for each torch",
        ),
        ("The accuracy script is failing with nltk==3.9.1", "NLTK's punkt"),
        ("Can't import the pipelines any more with kernels v0.15", "kernels of the Hub"),
        (
            "Broken with tensorflow 2.18\n\ntensorflow-metal 1.1.0 is installed on a Mac.",
            "TensorFlow's plugin for Apple's GPUs",
        ),
    ],
)
def test_what_stands_beside_the_complaint_is_named(text: str, subject: str) -> None:
    found = judged(text)
    assert subject in told(text)
    assert found.unexplained is None
    guesses = [one for one in found.findings if one.rule == "host/complained-of"]
    assert {one.severity.word for one in guesses} == {"warning"}
    assert all(one.message.startswith("Most often in such runs ") and not one.certain for one in guesses)


def test_every_situation_is_tried() -> None:
    mark = next(mark for mark in test_what_stands_beside_the_complaint_is_named.pytestmark if mark.args)
    assert {subject for _, subject in mark.args[1]} == set(COMPLAINTS.names())


@pytest.mark.parametrize(
    "text",
    [
        # a program says what failed
        "# Training hangs with torchrun\nModuleNotFoundError: No module named 'foo'",
        "# Black images\nRuntimeError: CUDA error: no kernel image is available for execution on the device",
        # a person is stuck, not the run
        "# I am stuck with this install\nModuleNotFoundError: No module named 'foo', two GPUs, num_workers=2",
        # a program's own line
        "[rank0]: ProcessGroupNCCL's watchdog got stuck for 480 seconds; torchrun on two GPUs\nError: x",
        "torch 2.5.1, two GPUs with torchrun\nprocess was forked. Disabling parallelism to avoid deadlocks...",
        # files that hold something, and another thing that is empty
        "# Upload\nThe adapter_model.bin of 443 MB is too large.\nError: x",
        "# LoRA\ntorch.cuda.empty_cache() does nothing for my LoRA weights.\nError: x",
        "# Memory\nWith float32 the V100 would cause out of memory, says everybody.",
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    assert not told(text)


def test_memory_that_grows_until_it_is_full() -> None:
    text = "# GPU memory increases every iteration\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    assert "what is kept from step to step" in told(text)


@pytest.mark.parametrize(
    "text",
    [
        "# Inference slow\nonly about 3 FPS with onnxruntime on a 3090",
        "训练时，cpu 占用100%，gpu占用较低是什么原因？",
        "# Utilization\nThe utilization of my GPU is extremely low, gpu utilization 3%.",
        "# More GPUs, longer time for the step\n450 ms on one V100, 2 s on 4 gpus.",
    ],
)
def test_slowness_in_other_words(text: str) -> None:
    assert any(one.rule == "host/slow-run" for one in judged(text).findings)


def test_where_nothing_stands_beside_it_the_usual_causes_are_named() -> None:
    found = judged("# It gets stuck in the second round\nNo message at all.").findings
    assert [one.subject for one in found if one.rule == "host/complained-of"] == ["where it stands is not told"]
    assert any("py-spy" in command for one in found if one.remedy for command in one.remedy.commands)


def test_a_heading_that_tells_of_trouble_is_never_healthy() -> None:
    found = judged("# My frobnication has issues\nPyTorch version: 2.11.0+cu130\nPython version: 3.12.4\n")
    assert found.outcome == "unexplained"
    assert found.unexplained is not None
    assert found.unexplained.line == "My frobnication has issues"


def test_unknown_is_skipped() -> None:
    assert skipped(complained_of, Facts())


@pytest.mark.parametrize(
    ("told_of", "ways"),
    [
        (
            "Apple's GPU",
            [
                "Strange pictures on my M2 MacBook",
                "On macOS with mps every mask is wrong",
                "mps: NaNs after the update",
            ],
        ),
        (
            "other numbers on another device",
            [
                "The 4090 computes other values: they differ from those of every other card",
                "Predictions on the A100 are inconsistent compared to my laptop",
                "My RTX 3080 infers something different than the TITAN does",
            ],
        ),
        (
            "one process",
            [
                "I set devices=4, yet one GPU is busy and that is all",
                "Of all eight cards just one gets used",
                "num_gpus is set to 2, only the first is utilised",
            ],
        ),
        (
            "processes that still live",
            [
                "After I kill the job, the memory of the GPU remains taken",
                "GPU memory does not get freed when training is interrupted",
                "Ctrl-C does end it, but 10 GB are still in use",
            ],
        ),
        (
            "the index that was not asked",
            [
                "uv sync picks the CPU wheel of torch",
                "I installed the requirements and got a pytorch without CUDA",
                "poetry resolves torch to the cpu-only build",
            ],
        ),
    ],
)
def test_order_of_the_words_does_not_matter(told_of: str, ways: list[str]) -> None:
    assert [told(f"# {way}\n") for way in ways] == [[told_of]] * len(ways)


@pytest.mark.parametrize(
    "text",
    [
        "torch 2.5.1+cu121 was installed by pip on a machine with a GPU of 24 GB\n",
        "# Which CUDA should I install for a 4090?\nGPU 0: NVIDIA GeForce RTX 4090\n",
        "Hi, here is my environment, is it all right for training?\nPyTorch version: 2.11.0+cu130\n",
        "We fine-tune on 8 GPUs with FSDP and it works well.\nPyTorch version: 2.11.0+cu130\n",
        "The model is saved every 500 steps and can be resumed.\nPyTorch version: 2.11.0+cu130\n",
    ],
)
def test_what_is_no_complaint(text: str) -> None:
    assert not told(text)


def test_what_is_usual_has_no_place_beside_what_is_certain() -> None:
    """The usual causes of an installation that fails say nothing where a program said why."""
    title = "# Cannot install it any more"
    assert told(title) == ["no wheel, or no compiler"]
    assert told(f"{title}\nERROR: Package 'x' requires a different Python: 3.8.10 not in '>=3.10'") == []


@pytest.mark.parametrize(
    "line",
    [
        "    --finetuning_mode freeze \\",
        "python train.py --stage sft --finetuning_type freeze",
        "CUDA_VISIBLE_DEVICES=0,1 torchrun run.py --tuner freeze \\",
    ],
)
def test_a_command_is_no_complaint(line: str) -> None:
    text = f"this is what I start:\n{line}\nRuntimeError: something failed\n"
    assert not any(one.rule in ("host/complained-of", "host/slow-run") for one in judged(text).findings)


@pytest.mark.parametrize("words", ["this error", "the same warning", "why it fails", "any such problem"])
def test_who_sees_no_error_does_not_miss_a_gpu(words: str) -> None:
    report = read(f"# NCCL fails in our Kubernetes pods\nOn a node with 8 gpus I don't see {words}.")
    assert "complaint of a GPU that is not seen" not in report.remarks
    seen = read("# No GPU in our Kubernetes pods\nThe pod does not see the GPU.")
    assert "complaint of a GPU that is not seen" in seen.remarks


def test_a_sentence_that_begins_like_a_command_is_a_complaint() -> None:
    assert told("deepspeed hangs with --zero 3")
    assert not told("python train.py --stuck-timeout 3")
