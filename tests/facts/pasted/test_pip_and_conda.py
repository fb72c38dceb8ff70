import pytest

from envdoctor.facts.pasted import read
from tests.facts.pasted.reading import distribution, packages, torch, versions

LIST = """\
Package                  Version      Editable project location
------------------------ ------------ -------------------------
accelerate               1.6.0
my_project               0.1.0        /home/me/project
torch                    2.6.0+cu124
typing_extensions        4.13.0
"""


def test_a_list() -> None:
    assert versions(LIST) == {
        "accelerate": "1.6.0",
        "my-project": "0.1.0",
        "torch": "2.6.0+cu124",
        "typing-extensions": "4.13.0",
    }
    assert distribution(LIST, "my-project").editable
    assert torch(LIST).cuda == "12.4"
    assert not packages(LIST).complete


def test_a_whole_list_proves_absence() -> None:
    rows = "".join(f"package{index}  1.{index}\n" for index in range(100))
    assert packages("Package  Version\n-------  -------\n" + rows).complete


@pytest.mark.parametrize(
    "text",
    [
        "torch==2.6.0+cu124\nnumpy==1.26.4\n",
        "torch==2.6.0+cu124, numpy==1.26.4\n",
        "- torch==2.6.0+cu124\n- numpy == 1.26.4\n",
        "torch   2.6.0+cu124\nnumpy   1.26.4\n",
        "| Package | Version |\n|---|---|\n| torch | 2.6.0+cu124 |\n| numpy | 1.26.4 |\n",
        "torch: 2.6.0+cu124\nnumpy: 1.26.4\n",
        "torch @ file:///w/torch-2.6.0%2Bcu124-cp311-cp311-linux_x86_64.whl\nnumpy==1.26.4 ; python_version > '3.8'\n",
        "Name: torch\nVersion: 2.6.0+cu124\nSummary: Tensors\nRequires: filelock\n---\nName: numpy\nVersion: 1.26.4\n",
    ],
)
def test_many_ways_to_say_it(text: str) -> None:
    assert versions(text) == {"numpy": "1.26.4", "torch": "2.6.0+cu124"}


def test_a_demand_is_not_an_installation() -> None:
    assert versions("vllm 0.6 requires torch==2.4.0\nvllm==0.6\n") == {"vllm": "0.6"}


def test_conda() -> None:
    text = """\
# packages in environment at /opt/conda/envs/train:
#
# Name                    Version                   Build  Channel
_libgcc_mutex             0.1                        main
cudatoolkit               11.3.1               h2bc3f7f_2
numpy                     1.22.3           py38he7a7128_0
python                    3.8.13               h12debd9_0
pytorch                   1.12.1          py3.8_cuda11.3_cudnn8.3.2_0    pytorch
transformers              4.20.1                   pypi_0    pypi
"""
    assert versions(text) == {"numpy": "1.22.3", "torch": "1.12.1", "transformers": "4.20.1"}
    assert torch(text).cuda == "11.3"
    assert packages(text).conda["cudatoolkit"] == "11.3.1 h2bc3f7f_2"
    assert packages(text).complete


@pytest.mark.parametrize(
    "text",
    [
        "pytorch=1.11.0=py3.8_cpu_0\ncpuonly=2.0=0\n",
        "pytorch==1.11.0 py3.8_cpu_0 pytorch\ncpuonly==2.0 0 pytorch\n",
        "pytorch 1.11.0 py3.8_cpu_0 pytorch\ncpuonly 2.0 0 pytorch\n",
    ],
)
def test_builds_of_conda_elsewhere(text: str) -> None:
    assert (torch(text).version, torch(text).cuda) == ("1.11.0", "")
    assert packages(text).conda["cpuonly"] == "2.0 0"


def test_a_report_that_says_more_wins() -> None:
    assert versions("torch==2.6.0\nPyTorch version: 2.6.0+cu124\n")["torch"] == "2.6.0+cu124"
    assert versions("PyTorch version: 2.6.0+cu124\ntorch==2.6.0\n")["torch"] == "2.6.0+cu124"
    assert torch("PyTorch version: 2.9.0+cpu\n[pip3] torch==2.9.0\n").cuda == ""
    assert versions("torch==2.1\ntorch==2.10\n")["torch"] == "2.1"


def test_a_log_that_ends_while_something_is_built_tells_it() -> None:
    log = "Collecting mmcv-full\nBuilding wheels for collected packages: mmcv-full\n"
    assert "Building wheels for collected packages: mmcv-full" in read(log).messages
    done = f"{log}Successfully built mmcv-full\n"
    assert "Building wheels for collected packages: mmcv-full" not in read(done).messages


def test_a_wheel_that_somebody_asks_for_is_not_installed() -> None:
    name = "causal_conv1d-1.2.0+cu118torch2.1cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"
    error = "ImportError: libcudart.so.12: cannot open shared object file"
    assert "causal-conv1d" not in versions(f"Where do I get {name}?\ntorch 2.1.0\n{error}\n")
    assert versions(f"pip install {name}\n{error}\n")["causal-conv1d"] == "1.2.0+cu118torch2.1cxx11abiFALSE"
