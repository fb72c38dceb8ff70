"""Programs of end users: whose Python and whose installer a remedy names."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.pasted import read
from envdoctor.knowledge.programs import PROGRAMS, own_python
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose

RULES = load_rules()
ROWS = [
    tuple(part.strip() for part in line.split("|", 2))
    for line in (Path(__file__).parent / "known_errors_of_programs.txt").read_text("utf-8").splitlines()
]


def judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


@pytest.mark.parametrize(("kind", "subject", "line"), ROWS, ids=[str(number) for number, _ in enumerate(ROWS, 1)])
def test_a_line_alone_is_named_by_its_row(kind: str, subject: str, line: str) -> None:
    root = judged(line).root_cause
    assert root is not None, "nothing explains it"
    assert root.rule == "packages/known-errors"
    assert (root.kind, root.subject) == (kind, subject)


def test_rows_have_what_they_need() -> None:
    for row in PROGRAMS:
        assert row.remedy.endswith("."), row
        assert not row.what.endswith("."), row
        assert row.source.startswith("https://"), row
        assert row.pattern.search("") is None, row


LACKS = 'Traceback (most recent call last):\n  File "{file}", line 3, in <module>\n    import quux_helper\n{error}\n'
ERROR = "ModuleNotFoundError: No module named 'quux_helper'"


@pytest.mark.parametrize(
    ("file", "command"),
    [
        (
            r"D:\ui\ComfyUI_windows_portable\ComfyUI\custom_nodes\some-node\nodes.py",
            "python -m pip install -r ComfyUI/custom_nodes/some-node/requirements.txt",
        ),
        (
            "/home/a/ComfyUI/custom_nodes/some-node/nodes.py",
            "python -m pip install -r custom_nodes/some-node/requirements.txt",
        ),
        (r"C:\text-generation-webui\modules\loaders.py", "update_wizard_windows.bat"),
        ("/opt/ai-toolkit/run.py", "git submodule update --init --recursive"),
    ],
)
def test_what_a_program_lacks_its_own_installer_brings(file: str, command: str) -> None:
    root = judged(LACKS.format(file=file, error=ERROR)).root_cause
    assert root is not None
    assert root.kind == "package-missing"
    assert command in root.remedy.commands


def test_what_a_users_own_code_lacks_is_nobodys_program() -> None:
    root = judged(LACKS.format(file="/home/a/work/train.py", error=ERROR)).root_cause
    assert root is not None
    assert root.remedy.commands == ("python -m pip install -r requirements.txt",)


@pytest.mark.parametrize(
    ("line", "python"),
    [
        (r'File "D:\v3\runtime\lib\site-packages\torch\x.py", line 1', r"runtime\python.exe"),
        (r"D:\w\system\python\lib\site-packages\torch", r"system\python\python.exe"),
        (r"C:\a\python_embeded\python.exe -s main.py", r"python_embeded\python.exe"),
        (r"C:\t\installer_files\env\lib\x.py", r"installer_files\env\python.exe"),
        (r"C:\w\venv\lib\site-packages\torch\x.py", r"venv\Scripts\python.exe"),
        (r"C:\Users\a\anaconda3\envs\x\lib\site-packages\torch", None),
    ],
)
def test_the_python_that_a_program_brought_is_known_by_its_folder(line: str, python: str | None) -> None:
    assert own_python(line) == python


def test_commands_go_to_the_python_that_ran() -> None:
    text = LACKS.format(file=r"D:\v3\runtime\lib\site-packages\a.py", error="No module named 'faiss'")
    root = judged(text).root_cause
    assert root is not None
    assert root.remedy.commands == (r"runtime\python.exe -m pip install faiss-cpu",)


def test_of_the_desktop_app_no_portable_python_is_named() -> None:
    shown = r"D:\Programs\@comfyorgcomfyui-electron\resources\ComfyUI\execution.py"
    text = "It is in C:\\ComfyUI\\python_embeded\\Lib.\n" + LACKS.format(file=shown, error="No module named 'triton'")
    root = judged(text).root_cause
    assert root is not None
    assert root.remedy.commands == (r".venv\Scripts\python.exe -m pip install --upgrade triton-windows",)


def test_a_torch_without_cuda_is_not_bitsandbytes_fault() -> None:
    text = (
        "The installed version of bitsandbytes was compiled without GPU support.\n"
        "    PyTorch 2.7.0+cu126 with CUDA 1206 (you have 2.7.0+cpu)\n"
    )
    found = judged(text)
    assert [one.subject for one in found.findings if one.severity is not None and one.severity.name == "ERROR"] == [
        "torch"
    ]


def test_a_traceback_that_is_cut_off_names_who_raised_what_the_heading_says() -> None:
    text = (
        "# ImportError: cannot import name 'quux' from 'flashinfer.sampling'\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/e/lib/python3.10/site-packages/sglang/srt/x.py", line 3, in <module>\n'
        "    from flashinfer.sampling import quux\n"
    )
    root = judged(text).root_cause
    assert root is not None
    assert root.remedy.commands == ("python -m pip install --upgrade sglang flashinfer-python",)


def test_cudnn_9_that_is_not_found_is_no_mixture() -> None:
    root = judged("Unable to load any of {libcudnn_graph.so.9.1.0, libcudnn_graph.so.9}").root_cause
    assert root is not None
    assert root.rule == "torch/cudnn"
    assert "does not find them" in root.message


def test_a_package_is_read_out_of_a_path_and_never_is_a_drive() -> None:
    root = judged(
        r"cannot import name 'Quux' from D:\ui\python\Lib\site-packages\huggingface_hub\__init__.py"
    ).root_cause
    assert root is not None
    assert root.subject == "huggingface-hub"


def test_torch_is_not_blamed_for_a_program_that_has_none() -> None:
    text = "ollama serve\nCUDA error: no kernel image is available for execution on the device\n"
    assert {one.rule for one in judged(text).findings} == {"packages/known-errors"}
    assert "torch/no-kernels" in {one.rule for one in judged(text.replace("ollama serve", "torch 2.3.1")).findings}


def test_a_line_that_is_quoted_whole_is_a_programs() -> None:
    root = judged('" RuntimeError: CUDA error: no kernel image is available for execution on the device "').root_cause
    assert root is not None
    assert root.kind == "no-kernels-for-gpu"


def test_a_package_whose_file_ran_by_its_path_is_the_projects_own() -> None:
    file = "/srv/some-tuner/src/quux_tuner/cache.py"
    root = judged(LACKS.format(file=file, error="ModuleNotFoundError: No module named 'quux_tuner'")).root_cause
    assert root is not None
    assert root.remedy.commands == ("python -m pip install -e /srv/some-tuner",)


def test_what_cuda_says_of_an_instruction_is_not_the_processors() -> None:
    found = judged("RuntimeError: CUDA error: an illegal instruction was encountered").findings
    assert "the processor" not in {one.subject for one in found}


def test_a_gpu_that_somebody_speaks_of_is_not_the_only_one() -> None:
    text = "We have two NVIDIA A100 GPUs.\nexport CUDA_VISIBLE_DEVICES=1,5\nValueError: quux failed\n"
    assert "CUDA_VISIBLE_DEVICES" not in {one.subject for one in judged(text).findings}


def test_the_python_for_an_old_torch_is_one_that_it_has_a_wheel_for() -> None:
    found = judged("ERROR: No matching distribution found for torch==1.12.1").findings
    assert any("uv venv --python 3.10 .venv" in one.remedy.commands for one in found)


def test_what_diffusers_says_of_a_torch_without_a_gpu() -> None:
    said = 'The error was: "torch.cuda.is_available() should be True but is False. xformers is only for GPUs"'
    root = judged(said).root_cause
    assert root is not None
    assert root.kind in {"torch-cpu-only", "gpu-not-visible"}


def test_a_program_is_known_behind_the_prefix_of_a_log() -> None:
    line = r'[Warning] [ComfyUI-0/STDERR]   File "E:\ui\ComfyUI\custom_nodes\some-node\a.py", line 1, in <module>'
    text = f"{line}\n[Warning] [ComfyUI-0/STDERR] ModuleNotFoundError: No module named 'quux_helper'\n"
    root = judged(text).root_cause
    assert root is not None
    assert any("some-node" in command for command in root.remedy.commands)
