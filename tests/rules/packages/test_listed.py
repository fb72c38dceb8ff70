"""A module that is not found although the text lists its package: what runs is another Python than the listed one."""

from __future__ import annotations

from tests.rules.told import root, whole

LISTED = ("Name: accelerate", "- transformers version: 4.44.0", "- Python version: 3.10.14")
MISSING = "ModuleNotFoundError: No module named 'transformers'"


def test_the_list_is_another_pythons() -> None:
    found = root(*LISTED, MISSING)
    assert "another Python's than the one that runs this" in found.message
    assert "torchrun" not in whole(found)


def test_torchrun_names_the_python_that_it_took() -> None:
    found = root(*LISTED, MISSING, "failed (exitcode: 1) local_rank: 0 (pid: 41) of binary: /opt/conda/bin/python")
    assert "started by /opt/conda/bin/python" in found.message
    assert "python -m torch.distributed.run" in found.remedy.text
    assert found.remedy.commands[0] == "which -a torchrun python"


def test_a_project_s_own_module_under_another_python_s_torchrun() -> None:
    frame = '  File "/data/Factory/src/factory/launcher.py", line 5, in <module>'
    ran = "failed (exitcode: 1) local_rank: 0 (pid: 41) of binary: /opt/conda/bin/python"
    found = root("Traceback (most recent call last):", frame, "ModuleNotFoundError: No module named 'factory'", ran)
    assert "torchrun started the ranks with /opt/conda/bin/python" in found.remedy.text


def test_a_command_that_asks_for_the_version_hides_no_build() -> None:
    text = (
        "No module named 'torch' - does it not support my card?\n"
        '$ python -c "import torch; print(torch.__version__)"\nPyTorch : 2.9.0+cu130\n'
        "$ pip install 'git+https://example.org/detect.git'\n  Getting requirements to build wheel ... error\n"
        '  File "/e/lib/python3.10/site-packages/pip/_vendor/pyproject_hooks/_in_process/_in_process.py", line 9\n'
    )
    found = root(text)
    assert found.subject == "build isolation"
