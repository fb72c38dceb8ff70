"""Lines that look like what a rule judges, and are of something else: nothing untrue is said of them."""

from __future__ import annotations

import pytest

from tests.rules.told import errors, root, whole


@pytest.mark.parametrize("part", ["_ctypes", "_csv", "_ssl", "_sqlite3"])
def test_pythons_own_parts_are_no_extensions_of_torch(part: str) -> None:
    said = f"ImportError: DLL load failed while importing {part}: The specified module could not be found."
    assert "torch" not in " ".join(map(whole, errors(said)))


def test_a_full_table_of_the_systems_files_is_no_limit_of_a_process() -> None:
    found = errors("OSError: [Errno 23] Too many open files in system")
    assert not any(one.rule == "host/open-files" for one in found)


def test_openmp_without_shared_memory_starts_threads_all_the_same() -> None:
    assert not any("threads" in found.message for found in errors("OMP: Error #179: Function Can't open SHM2 failed:"))


def test_a_module_that_is_missing_tells_nothing_of_the_one_above_it() -> None:
    found = root("ModuleNotFoundError: No module named 'torchvision.io.surface'")
    assert "torchvision has torchvision.io from" not in found.message


def test_the_reader_of_videos_left_torchvision() -> None:
    found = root("ImportError: cannot import name 'VideoReader' from 'torchvision.io'")
    assert "0.25" in whole(found)


def test_a_wheel_of_a_newer_system_is_no_old_build_in_a_folder() -> None:
    where = "/opt/conda/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so"
    found = root(f"ImportError: /lib/libc.so.6: version `GLIBC_2.32' not found (required by {where})")
    assert "newer system" in found.message
    assert "source folder" not in found.message


def test_a_part_that_was_never_compiled_is_no_circle_of_imports() -> None:
    said = (
        "ImportError: cannot import name 'voxel_ext' from partially initialized module 'shelf.ops.voxel' (most likely "
        "due to a circular import) (/home/u/shelf/ops/voxel/__init__.py)"
    )
    assert not any("in a circle" in found.message for found in errors(said))


def test_an_assembler_without_memory_is_not_too_old() -> None:
    assert not any(
        "older than the GPU" in found.message for found in errors("ptxas fatal   : Memory allocation failure")
    )


def test_an_old_bitsandbytes_on_windows_has_no_library_of_cuda() -> None:
    where = "D:\\envs\\e\\lib\\site-packages\\bitsandbytes\\cextension.py:34"
    found = root(f"{where}: UserWarning: The installed version of bitsandbytes was compiled without GPU support.")
    assert "before 0.43" in found.message


def test_the_pins_of_one_package_exclude_each_other() -> None:
    have = "but you have {} which is incompatible."
    found = root(
        f"ERROR: shelf 0.1 requires torch==2.0.1, {have.format('torch 2.4.0')}",
        f"ERROR: shelf 0.1 requires torchvision==0.16.0, {have.format('torchvision 0.19.0')}",
    )
    assert found.subject == "shelf"
    assert "torchvision==0.16.0, which was made for torch 2.1" in found.message
    assert found.expected == "torchvision==0.15.*"


def test_a_word_of_the_sentence_is_no_argument() -> None:
    told = errors(
        "TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'",
        "With processing_class SFTTrainer.__init__() got an unexpected keyword argument instead.",
    )
    assert not any("argument instead" in found.message.partition(":")[0] for found in told)


def test_what_did_not_help_is_not_asked_for() -> None:
    told = errors("ModuleNotFoundError: No module named 'shelf_utils'", "pip install shelf_utils did not help")
    assert not any(found.rule == "packages/asked-for" for found in told)


def test_names_of_pythons_own_modules_come_with_its_releases() -> None:
    found = root("AttributeError: module 'inspect' has no attribute 'getargvalues_of'")
    assert "this Python is older than the code was written for" in found.message


def test_a_folder_that_somebody_shortened_is_no_project() -> None:
    told = errors('  File ".../onnxscript/foo.py", line 3', "ModuleNotFoundError: No module named 'onnxscript'")
    assert not any("pip install -e ..." in command for found in told for command in found.remedy.commands)


def test_a_build_for_intels_gpus_is_no_build_for_the_cpu() -> None:
    told = errors("torch: 2.6.0+xpu", "AssertionError: Torch not compiled with CUDA enabled")
    assert not any(found.rule == "torch/cpu-only" for found in told)


def test_the_torch_of_a_text_may_be_another_than_runs() -> None:
    found = root(
        "Tesla T4, torch 2.5.1+cu124",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    )
    assert "another torch runs than the one that the text tells of" in found.message


def test_a_driver_that_should_do_by_its_number_is_not_told_to_be_too_old() -> None:
    found = root(
        "torch 2.5.1+cu124, driver 525.85.12",
        "RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version",
    )
    assert "another libcuda than the driver's" in found.message
    assert "cannot run" not in found.message


def test_pypis_wheel_on_a_jetson_is_for_the_processor() -> None:
    found = root(
        "Jetson Orin Nano, JetPack 6", ">>> torch.__version__", "'2.5.1'", ">>> torch.cuda.is_available()", "False"
    )
    assert "built for CUDA" not in found.message
    assert "Jetson" in found.message
