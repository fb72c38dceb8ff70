from dataclasses import replace

import pytest

from envdoctor.facts.model import Extension, Facts, Interpreter
from envdoctor.facts.pasted import read
from envdoctor.rules.packages.extension_abi import extension_abi
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped, torch
from tests.rules.told import root

SYMBOL = "ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE"


def built(version: str = "2.8.3", name: str = "flash-attn", *, ours: str = "2.13.0+cu130", **values: object) -> Facts:
    return Facts(
        torch=torch(ours, cuda="13.0"),
        interpreter=Interpreter(version="3.11.7"),
        packages=installed({name: version}),
        extensions=(Extension(name=name, version=version, **values),),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (built(torch="2.8"), "built for torch 2.8, torch 2.13 is installed"),
        (built(torch="2.13.0", cuda="12"), "built for CUDA 12, torch for CUDA 13.0"),
        (built(cxx11_abi=False), "old C++ ABI"),
        (built(python="3.10"), "built for Python 3.10, this is 3.11"),
        (
            Facts(packages=installed({"torch": "2.6.0+cu124", "flash-attn": "2.7+cu12torch2.5cxx11abifalse"})),
            "torch 2.5",
        ),
        (Facts(packages=installed({"torch": "2.6.0+cu124", "torch-scatter": "2.1.2+pt25cu124"})), "torch 2.5"),
    ],
)
def test_built_for_something_else(facts: Facts, words: str) -> None:
    (finding,) = findings(extension_abi, facts)
    assert (finding.kind, finding.severity) == ("extension-abi-mismatch", Severity.ERROR)
    assert words in finding.message
    assert any(command.startswith("python -m pip uninstall") for command in finding.remedy.instead)
    assert not any(command.startswith("python -m pip uninstall") for command in finding.remedy.commands)


@pytest.mark.parametrize(
    ("name", "version", "ours"), [("torchao", "0.15.0", "2.7.1+cu128"), ("xformers", "0.0.28.post2", "2.9.0+cu128")]
)
def test_packages_that_go_on_without_their_kernels_are_warned_of(name: str, version: str, ours: str) -> None:
    (finding,) = findings(extension_abi, Facts(packages=installed({"torch": ours, name: version})))
    assert (finding.subject, finding.severity) == (name, Severity.WARNING)


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        (SYMBOL, "flash-attn"),
        ("vllm/_C.abi3.so: undefined symbol _ZN5torch3jit17parseSchemaOrNameERKSsb", "vllm"),
        ("undefined symbol: _ZNK3c105Error4whatEv", "a compiled extension"),
        ("xFormers was built for: PyTorch 2.1.0+cu121 (you have 2.2.0+cu121)", "xformers"),
        ("OSError: libtorch_cuda_cu.so: cannot open shared object file", "a compiled extension"),
    ],
)
def test_the_line_of_a_report(line: str, subject: str) -> None:
    (finding,) = findings(extension_abi, Facts(messages=(line,)))
    assert finding.subject == subject
    assert finding.certain > findings(extension_abi, built(torch="2.8"))[0].certain


def test_a_failed_import_of_the_probe() -> None:
    (finding,) = findings(extension_abi, built(error=SYMBOL))
    assert "_ZN3c10" in finding.message
    assert silent(extension_abi, built(error="ModuleNotFoundError: No module named 'einops'"))


@pytest.mark.parametrize(
    "facts",
    [
        built(torch="2.13.0", cuda="13.0", python="3.11", cxx11_abi=True),
        built(python="3.9+"),  # abi3
        built(cuda="13"),
        built(),
        Facts(packages=installed({"torch": "2.1.2+cu121", "deepspeed": "0.12.5"})),
        Facts(packages=installed({"torch": "2.5.0+cu121", "xformers": "0.0.28.post2"})),
        Facts(packages=installed({"torch": "2.12.0", "torchao": "0.17.0"})),
        Facts(packages=installed(torch="2.13.0")),
    ],
)
def test_fitting_builds_and_builds_that_say_nothing(facts: Facts) -> None:
    assert silent(extension_abi, facts)


def test_libraries_of_others_are_not_extensions() -> None:
    lines = (
        "libcublas.so.11: undefined symbol: cublasLtGetStatusString, version libcublasLt.so.11",
        "libcudnn_cnn_train.so.8: undefined symbol _ZN5cudnn3cnn34layerNormFwd_execute_internal",
    )
    assert silent(extension_abi, Facts(messages=lines))


def test_repaired_from_the_lock() -> None:
    facts = replace(built(torch="2.8"), messages=(SYMBOL,))
    (finding,) = findings(extension_abi, facts, locked(**{"flash-attn": "2.8.4"}))
    assert finding.repair == (Pin(name="flash-attn", version="2.8.4"),)


def test_unknown_is_skipped() -> None:
    assert skipped(extension_abi, Facts())


def test_an_extension_that_looks_for_the_libraries_of_another_cuda() -> None:
    line = "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory"
    packages = installed(torch="2.1.2+cu121", flash_attn="2.3.6")
    (finding,) = findings(extension_abi, Facts(messages=(line,), packages=packages))
    assert (finding.kind, finding.subject) == ("extension-abi-mismatch", "flash-attn")
    same = "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"
    assert silent(extension_abi, Facts(messages=(same,), packages=packages))
    ours = f"bitsandbytes: {line}"  # packages/extension-binary speaks of it
    assert silent(
        extension_abi, Facts(messages=(ours,), packages=installed(torch="2.1.2+cu121", bitsandbytes="0.41.0"))
    )


@pytest.mark.parametrize("symbol", ["_ZN6caffe28TypeMeta12someFunctionEv", "THPVariableClass"])
def test_an_extension_of_no_index_is_built_from_its_repository(symbol: str) -> None:
    line = f"ImportError: /v/site-packages/detectron2/_C.cpython-38-x86_64-linux-gnu.so: undefined symbol: {symbol}"
    (finding,) = findings(extension_abi, Facts(messages=(line,), packages=installed(torch="1.8.0", detectron2="0.4")))
    assert finding.subject == "detectron2"
    assert "git+https://github.com/facebookresearch/detectron2" in finding.remedy.commands[0]


def test_a_symbol_that_a_heading_leaves_out() -> None:
    line = "ImportError: flash_attn_2_cuda undefined symbol on v0.12.2 (torch 2.6.0/cu124, flash-attn 2.8.2)"
    (finding,) = findings(extension_abi, Facts(messages=(line,)))
    assert finding.subject == "flash-attn"


def test_a_file_outside_any_installation_is_not_the_listed_extension_s() -> None:
    packages = installed({"torch": "1.13.1+cu117", "apex": "0.1"})
    line = "ImportError: {}: undefined symbol: _ZN3c106detail14torchCheckFailEv"
    own = Facts(messages=(line.format("/src/mixer/kernels/build/mix_cuda.so"),), packages=packages)
    assert [found.subject for found in findings(extension_abi, own)] == ["a compiled extension"]
    theirs = Facts(messages=(line.format("/v/lib/python3.10/site-packages/mix_cuda.so"),), packages=packages)
    assert [found.subject for found in findings(extension_abi, theirs)] == ["apex"]


def test_the_module_of_a_path_names_an_extension_that_no_table_has() -> None:
    line = "ImportError: /h/.local/lib/python3.11/site-packages/{}: undefined symbol: _ZN3c104cuda9SetDeviceEa"
    (found,) = findings(extension_abi, Facts(messages=(line.format("mix_kernel/ops.abi3.so"),)))
    assert found.subject == "mix-kernel"
    assert not findings(extension_abi, Facts(messages=(line.format("torch/lib/libc10_cuda.so"),)))  # torch's own


def test_an_import_by_name_is_of_the_module_that_asked_for_it() -> None:
    report = """Traceback (most recent call last):
  File "/opt/conda/lib/python3.9/site-packages/mmcv/utils/loading.py", line 9, in load
    ext = importlib.import_module(name)
  File "/opt/conda/lib/python3.9/importlib/__init__.py", line 127, in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
ImportError: libcudart.so.10.2: cannot open shared object file: No such file or directory
"""
    (found,) = findings(extension_abi, read(report))
    assert found.subject == "mmcv"
    assert "raised in" not in found.message


def test_a_cuda_that_nobody_told_is_not_asked_for() -> None:
    """PyTorch's index has other builds of the same release than PyPI's."""
    line = "ImportError: /x/site-packages/mmcv/_ext.so: undefined symbol: _ZTIN3c1021AutogradMetaInterfaceE"
    assert root("torch 1.7.1", "python 3.7", line).expected == "built for torch 1.7, Python 3.7"


@pytest.mark.parametrize(
    ("package", "torch", "advised"),
    [
        ("mmcv/_ext.so", "torch 1.7.1", "mim install mmcv-full"),
        ("mmcv/_ext.so", "torch 2.1.0", "mim install mmcv"),
    ],
)
def test_an_extension_of_an_index_of_its_own(package: str, torch: str, advised: str) -> None:
    line = f"ImportError: /x/site-packages/{package}: undefined symbol: _ZTIN3c1021AutogradMetaInterfaceE"
    assert root(torch, line).remedy.commands[0] == advised


def test_a_file_that_is_named_for_a_torch_comes_from_no_index() -> None:
    symbol = "_ZN3c106detail23torchInternalAssertFailEPKcS2_jS2_RKSs"
    line = f"ImportError: /x/site-packages/nunchaku/_C.so: undefined symbol: {symbol}"
    found = root("torch 2.6.0", "nunchaku==0.3.0.dev20250522+torch2.6", line)
    assert not any("install nunchaku" in command for command in found.remedy.commands)
    assert "releases" in found.remedy.text


def test_what_xformers_says_of_itself_is_true_whatever_a_list_of_another_environment_shows() -> None:
    found = root(
        "torch 2.4.1+cu124",
        "xformers 0.0.28.post1",
        "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:",
        "    PyTorch 2.2.2+cu121 with CUDA 1201 (you have 2.1.0+cu118)",
    )
    assert "it was built for torch 2.2.2+cu121" in found.message
    assert "another environment than the list" in found.message
    assert found.actual == "another one than is listed"


def test_a_function_of_its_own_sources_says_nothing_of_torch() -> None:
    said = "ops/points/stack_cuda.cpython-36m-x86_64-linux-gnu.so: undefined symbol: {}N2at6TensorES0_S0_"
    (own,) = findings(
        extension_abi, read(f"Python 3.6.5\nPyTorch 1.1.0\nImportError: {said.format('_Z24interpolate_grad_wrapper')}")
    )
    assert "by its name is no torch's" in own.message
    assert "files of two builds meet" in own.message
    (torchs,) = findings(
        extension_abi, read(f"Python 3.6.5\nPyTorch 1.1.0\nImportError: {said.format('_ZN2at6detail3add')}")
    )
    assert "does not fit this torch" in torchs.message
