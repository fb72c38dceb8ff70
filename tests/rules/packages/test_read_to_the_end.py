"""Numbers, names and images that stand in a text and decide which remedy fits."""

from __future__ import annotations

import pytest

from envdoctor.rules import remedies
from envdoctor.rules.finding import Finding
from tests.rules.packages.test_known_errors import judged


def first(text: str) -> Finding:
    found = judged(text)
    return found.root_cause or found.findings[0]


@pytest.mark.parametrize(
    "text",
    [
        # Windows: no default build tells the line
        'File "D:\\work\\splat\\train.py", line 9, in step\n    grads = grads[keep]\nRuntimeError: CUDA error: no '
        "kernel image is available for execution on the device\nRTX 5080, CUDA: 12.8, PyTorch: 2.7.0\n",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
        "I have an RTX 5070 and torch 2.7.1.\n",
        'File "C:\\x\\run.py", line 2, in go\n    out = nvdiff.apply(x)\nRuntimeError: CUDA error: no kernel image is '
        "available for execution on the device\nI use an RTX 5090 with torch 2.9.1 and CUDA toolkit 12.8.\n",
    ],
)
def test_no_build_is_judged_by_torchs_version_alone(text: str) -> None:
    found = first(text)
    assert "no kernel will start" not in found.message
    assert "extension" in found.message
    assert "TORCH_CUDA_ARCH_LIST=12.0" in found.remedy.text
    assert "get_arch_list()" in found.remedy.commands[0]


def test_a_release_without_any_build_for_the_gpu_is_at_fault() -> None:
    found = first(
        'File "D:\\x\\run.py", line 2, in go\nRuntimeError: CUDA error: no kernel image is available for execution on '
        "the device\nGPU: RTX 5090\nPyTorch: 2.5.1\n"
    )
    assert "no kernel will start" in found.message
    assert "torchvision" in found.remedy.commands[0]


@pytest.mark.parametrize(
    "line",
    [
        "ModuleNotFoundError: No module named 'torch._custom_ops'",
        "ImportError: cannot import name 'GradScaler' from 'torch.amp'",
        "AttributeError: module 'torch.compiler' has no attribute 'set_stance'",
        "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'",
    ],
)
def test_torch_moves_with_its_mates(line: str) -> None:
    remedy = first(line + "\n").remedy
    (command,) = (each for each in remedy.commands if "install" in each)
    assert all(f"'{name}" in command for name in ("torch", "torchvision", "torchaudio"))
    assert "restart the runtime" in remedy.text


def test_what_is_no_mate_of_torch_moves_alone() -> None:
    line = "ImportError: cannot import name 'cached_download' from 'huggingface_hub'"
    assert not any("torch" in command for command in first(line + "\n").remedy.commands)


def xformers(torch: str, cuda: str, here: str, python: str, own: str) -> str:
    return (
        "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
        f"    PyTorch {torch} with CUDA {cuda} (you have {here})\n    Python  {python} (you have {own})\n"
        "  Please reinstall xformers\n"
    )


@pytest.mark.parametrize(
    ("text", "differs", "same"),
    [
        (xformers("2.0.1+cu118", "1108", "2.1.0+cu121", "3.10.11", "3.10.6"), ("torch (2.0", "line (11.8"), "Python ("),
        (
            xformers("2.5.1+cu121", "1201", "2.5.1+cu121", "3.11.9", "3.12.4"),
            ("Python (3.11.9 against 3.12.4)",),
            "torch (",
        ),
        (
            xformers("2.7.1+cu128", "1208", "2.7.1+cu126", "3.12.10", "3.12.3"),
            ("line (12.8 against cu126)",),
            "Python (",
        ),
        (  # a wheel for every Python from 3.9 on
            xformers("2.10.0+cu128", "1208", "2.11.0+cu130", "3.10.19", "3.13.9"),
            ("torch (2.10", "line (12.8 against cu130)"),
            "Python (",
        ),
    ],
)
def test_what_xformers_was_built_for_is_compared(text: str, differs: tuple[str, ...], same: str) -> None:
    found = first(text)
    assert found.subject == "xformers"
    behind = found.message.partition("differs here")[2]
    assert all(part in behind for part in differs)
    assert same not in behind


def test_xformers_of_a_board_leaves_torch_alone() -> None:
    found = first("On my Jetson Orin NX:\n" + xformers("2.8.0", "1209", "2.8.0", "3.12.3", "3.10.12"))
    assert "Python (3.12.3 against 3.10.12)" in found.message
    assert "torch wheel" not in found.remedy.text
    assert all(" torch" not in command for command in found.remedy.commands)


BUILDS = "File /home/me/.cache/uv/builds-v0/.tmpQ/setuptools/build_meta.py, line 3, in get_requires_for_build_wheel"


@pytest.mark.parametrize(
    "text",
    [
        f"× Failed to build `flash-attn==2.7.4`\n├─▶ The build backend returned an error\n{BUILDS}\n"
        "ModuleNotFoundError: No module nam",
        f"Getting requirements to build wheel did not run successfully.\n{BUILDS}\n"
        "ModuleNotFoundError: No module named 't",
        f"× Failed to build `mamba-ssm==2.2.4`\n{BUILDS}\nModuleNotFoundError: No module named 'torch'\n",
        "Failed to build causal-conv1d\ntorch is not declared in the build-system requirements of it\n",
    ],
)
def test_an_isolated_build_without_torch(text: str) -> None:
    found = first(text)
    assert found.subject.endswith("build isolation")
    assert "without" in found.remedy.text
    assert "isolation" in found.remedy.text


def test_another_module_of_a_build_is_not_torch() -> None:
    found = first(f"× Failed to build `thing==1.0`\n{BUILDS}\nModuleNotFoundError: No module named 'Cython'\n")
    assert "it is torch" not in found.message


EIGHT = (
    "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file: "
    "No such file or directory\n"
)
NINE = "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_ops.so}\n"


@pytest.mark.parametrize(
    ("image", "error", "instead"),
    [
        ("my image is nvidia/cuda:11.7.1-runtime-ubuntu20.04", EIGHT, "nvidia/cuda:11.7.1-cudnn8-runtime-ubuntu20.04"),
        ("FROM nvidia/cuda:12.6.3-base-ubuntu24.04", NINE, "nvidia/cuda:12.6.3-cudnn-runtime-ubuntu24.04"),
        ("docker run --gpus all nvidia/cuda:12.4.1-devel-ubuntu22.04", EIGHT, "nvidia/cuda:12.2.2-cudnn8-runtime"),
    ],
)
def test_an_image_without_cudnn(image: str, error: str, instead: str) -> None:
    found = first(f"{image}\n{error}")
    assert "holds none as it is published" in found.message
    assert instead in found.remedy.text


@pytest.mark.parametrize("said", ["I have CUDA 11.8 here.", "CUDA Version: 11.4", "nvidia/cuda:11.8.0-cudnn8-runtime"])
def test_no_library_of_cuda_12_where_cuda_11_is_told(said: str) -> None:
    found = first(f"{said}\n{EIGHT}")
    assert "holds none" not in found.message
    assert not any("cu12" in command or "--upgrade" in command for command in found.remedy.commands)
    other = first(f"I have CUDA 12.1 here.\n{EIGHT}")
    assert any("ctranslate2" in command for command in other.remedy.commands)


GCC = "host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later than {} are not supported!\n"


@pytest.mark.parametrize("newest", [8, 10, 13])
def test_the_compiler_that_the_toolkit_names(newest: int) -> None:
    found = first(GCC.format(newest))
    assert f"takes no gcc newer than {newest}" in found.message
    assert any(f"g++-{newest}" in command for command in found.remedy.commands)


def test_a_compiler_without_a_number() -> None:
    found = first("error: #error -- unsupported clang version! clang version must be less than 16\n")
    assert "does not take this C++ compiler" in found.message


HIP = "RuntimeError: HIP error: invalid device function\n"


@pytest.mark.parametrize(
    ("card", "override"),
    [("amd rx6600", "10.3.0"), ("Radeon RX 6750 XT", "10.3.0"), ("RX 7600", "11.0.0"), ("gfx1103", "11.0.0")],
)
def test_a_card_that_runs_its_neighbours_code(card: str, override: str) -> None:
    found = first(f"Problems with my {card} under Linux\n{HIP}")
    assert f"export HSA_OVERRIDE_GFX_VERSION={override}" in found.remedy.commands


@pytest.mark.parametrize("said", ["RX 7900 XTX", "RX 6800", "RX 6600 with HSA_OVERRIDE_GFX_VERSION=10.3.0", ""])
def test_no_override_for_others_nor_where_it_is_set(said: str) -> None:
    assert not any("export" in command for command in first(f"{said}\n{HIP}").remedy.commands)


def test_torchaudio_is_not_asked_of_lines_that_came_after_it() -> None:
    assert "torchaudio" in remedies.torch_family(None, "cu130", "torch==2.11.*")
    assert "torchaudio" not in remedies.torch_family(None, "cu132", "torch==2.15.*")
    assert "torchvision" in remedies.torch_family(None, "cu132", "torch==2.15.*")
