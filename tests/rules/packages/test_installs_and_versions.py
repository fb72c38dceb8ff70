"""What installers, solvers and builds say, and names that other libraries brought or dropped: each class once."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding
from tests.rules.packages.test_known_errors import judged


def root(text: str) -> Finding:
    found = judged(text).root_cause
    assert found is not None
    return found


TREE = """LibMambaUnsatisfiableError: Encountered problems while solving:
  - package torchaudio-2.0.2-py310_cu117 requires pytorch-cuda 11.7.*, but none of the providers can be installed

Could not solve for environment specs
The following packages are incompatible
├─ pytorch-cuda {asked} ha16c6d3_5 is requested and can be installed;
└─ torchaudio 2.0.2  is not installable because there are no viable options
   └─ torchaudio 2.0.2 would require
      └─ pytorch-cuda 11.7.* , which conflicts with any installable versions previously reported.
"""
PIP = """ERROR: Cannot install -r requirements.txt (line 36) and tokenizers=={asked} because these package \
versions have conflicting dependencies.

The conflict is caused by:
    The user requested tokenizers=={asked}
    transformers 4.32.0 depends on tokenizers!=0.11.3, <0.14 and >=0.11.1
"""
OWN = """Traceback (most recent call last):
  File "/x/lib/python3.10/site-packages/numpy/random/_pickle.py", line 1, in <module>
    from .mtrand import RandomState
  File "numpy/random/mtrand.pyx", line 1, in init numpy.random.mtrand
"""
OTHERS = """Traceback (most recent call last):
  File "/x/lib/python3.10/site-packages/pandas/__init__.py", line 22, in <module>
    from pandas.compat import is_numpy_dev
  File "pandas/_libs/interval.pyx", line 1, in init pandas._libs.interval
"""
SIZE = (
    "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from "
    "PyObject\n"
)
BOOL = "TypeError: argument of type 'bool' is not iterable\n"


@pytest.mark.parametrize(
    ("text", "meaning", "remedy"),
    [
        (TREE.format(asked="==12.1"), "torchaudio 2.0.2 needs pytorch-cuda 11.7, and pytorch-cuda 12.1", "Change one"),
        (
            "LibMambaUnsatisfiableError: Encountered problems while solving:\n"
            "  - package python-3.11.4-h955ad1f_0 is excluded by strict repo priority\n",
            "strict channel",
            "flexible",
        ),
        (
            "hint: You're using CPython 3.11 (`cp311`), but `av` (v16.0.0) only has wheels with the following Python "
            "ABI tags: `cp39`, `cp310`\n",
            "no wheel for CPython 3.11",
            "uv venv --python 3.10 .venv",
        ),
        (
            "└─ pytorch-gpu ==1.9.0 cuda112py38h0bbbad9_1 is not installable because it requires\n",
            "one build of pytorch-gpu 1.9.0",
            "Remove the builds",
        ),
        (
            "LibMambaUnsatisfiableError: Encountered problems while solving:\n"
            "  - nothing provides requested zlib ==1.2.13 hd590300_5\n"
            "  - nothing provides requested xz ==5.4.5 h5eee18b_0\n",
            "Builds are asked for",
            "Remove the builds",
        ),
        (PIP.format(asked="0.10.3"), "transformers 4.32.0 needs tokenizers", "goes with tokenizers==0.10.3"),
        ("Failed to import the 'pkg_resources' Python module.\n", "setuptools 82", "Install a setuptools that has it"),
        ("ModuleNotFoundError: No module named 'pkg_resources'\n", "82", "setuptools<81"),
        (
            "RuntimeError: jaxlib version 0.4.30 is newer than and incompatible with jax version 0.4.28.\n",
            "of different releases",
            "in one command",
        ),
        (
            "AttributeError: jax.core.Jaxpr was removed in JAX v0.8.2: use x\n",
            "jax 0.8.2 removed",
            "Upgrade what calls",
        ),
        ("AttributeError: module 'scipy' has no attribute 'signal'\n", "was not imported", "import scipy.signal"),
        (
            "AttributeError: partially initialized module 'cv2' has no attribute '_registerMatType'\n",
            "several OpenCV packages",
            "Remove them all",
        ),
        ("ImportError: DLL load failed while importing cv2: not found\n", "Visual C++", "Media Feature Pack"),
        (
            "cv2.error: The function is not implemented. Rebuild the library with Windows, GTK+ 2.x or Cocoa\n",
            "headless",
            "in place of imshow",
        ),
        (f'  File "/x/gradio_client/utils.py", line 863, in get_type\n{BOOL}', "pydantic 2.11", "Upgrade gradio"),
        ("AttributeError: 'DataFrame' object has no attribute 'applymap'\n", "pandas 3", "pandas below 3"),
        ("AttributeError: module 'configparser' has no attribute 'SafeConfigParser'\n", "Python 3.12", "3.11"),
        ("AttributeError: module 'ast' has no attribute 'Str'\n", "Python 3.14", "3.13"),
        ("AttributeError: module 'time' has no attribute 'clock'\n", "old Python", "perf_counter"),
        ("ModuleNotFoundError: No module named 'cPickle'\n", "Python 2", "no package brings"),
        (
            "/usr/include/bits/mathcalls.h(79): error: exception specification is incompatible with that of previous "
            'function "cospi"\n',
            "glibc 2.41",
            "newer CUDA toolkit",
        ),
        (
            '/usr/include/stdlib.h(141): error: identifier "_Float32" is undefined\n',
            "toolkit is older",
            "older compiler",
        ),
        ("error: command 'cl.exe' failed: No such file or directory\n", "no C++ compiler", "compiler"),
        ("x.h:3:10: fatal error: cuda/std/utility: No such file or directory\n", "libcu++", "cuda-cccl"),
        ("BackendUnavailable: Cannot import 'poetry.core.masonry.api'\n", "build backend", "poetry-core"),
        ("AttributeError: 'EntryPoints' object has no attribute 'get'\n", "importlib-metadata 5", "below 5"),
        ("AttributeError: 'FigureCanvasAgg' object has no attribute 'tostring_rgb'\n", "3.10", "buffer_rgba"),
        ("You tried to access openai.ChatCompletion, but this is no longer supported\n", "openai 1.0", "below 1"),
        ("LookupError:\n  Resource punkt_tab not found.\n", "data punkt_tab", "ownload"),
        (
            "pkg_resources.VersionConflict: (protobuf 4.21.1 (/x), Requirement.parse('protobuf<4'))\n",
            "protobuf 4.21.1 is installed, and the program that starts demands protobuf<4",
            "what it demands",
        ),
        (
            "Apple M2, macOS 14.4\nERROR: No matching distribution found for triton\n",
            "this is a Mac, for which it",
            "sys_platform == 'linux'",
        ),
        ("ERROR: No matching distribution found for decord==0.6.0\n", "wheels for Linux and Windows", "eva-decord"),
        ("'DynamicCache' object has no attribute 'seen_tokens'\n", "get_max_length", "transformers<4.49"),
        ("Error: pg_config executable not found.\n", "PostgreSQL", "psycopg2-binary"),
        ("error: command 'swig' failed: No such file or directory\n", "SWIG", "pip install swig"),
        ("bash: pip: command not found\n", "does not find pip", "python3 -m pip"),
        (
            "Fatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding\n"
            "ModuleNotFoundError: No module named 'encodings'\n",
            "PYTHONHOME",
            "Unset both",
        ),
        (
            "fatal: clone of 'git@github.com:x/y.git' into submodule path 'z' failed\nPermission denied (publickey).\n",
            "refused a login by ssh",
            "insteadOf",
        ),
        ("Permission denied (publickey).\ndeepspeed --hostfile hosts train.py\n", "launcher", "without a password"),
        (
            "AttributeError: 'Sequential' object has no attribute 'predict_classes'\n",
            "This model has no predict_classes",
            "argmax",
        ),
        ("AttributeError: module 'tensorflow._api.v2.train' has no attribute 'AdamOptimizer'\n", "train", "compat.v1"),
        ("ImportError: cannot import name 'Adam' from 'keras.optimizers'\n", "do not hand Adam on", "tensorflow.keras"),
        ("AttributeError: module 'tensorflow_core.compat.v2' has no attribute '__internal__'\n", "newer than", "2.3.1"),
        ("..\\meson.build:1:0: ERROR: Unknown compiler(s): [['icl'], ['cl']]\n", "Meson", "has wheels"),
        ("ERROR: Can not perform a '--user' install. User site-packages are not visible\n", "--user", "Leave --user"),
        ("  Caused by: invalid peer certificate: UnknownIssuer\n", "is not accepted", "--native-tls"),
        ("CondaSSLError: OpenSSL appears to be unavailable on this machine.\n", "module ssl", "conda's own prompt"),
        (
            "error: The requested interpreter resolved to Python 3.9.6, which is incompatible with the project's "
            "Python requirement: `>=3.10`\n",
            "asks for Python >=3.10",
            "uv downloads it",
        ),
        (OWN + SIZE, "NumPy's own compiled parts", "restart the runtime"),
        (OTHERS + SIZE, "compiled for NumPy 1 meets NumPy 2", "newer releases"),
        (
            "ImportError: cannot import name '_center' from 'numpy._core.umath' (/x/numpy/_core/umath.py)\n",
            "A part of NumPy",
            "restart the runtime",
        ),
    ],
)
def test_what_it_means_and_what_helps(text: str, meaning: str, remedy: str) -> None:
    found = root(text)
    assert meaning in found.message
    assert remedy in found.remedy.text or any(remedy in one for one in found.remedy.commands)


@pytest.mark.parametrize(
    ("line", "requirement"),
    [
        ("ModuleNotFoundError: No module named 'keras.engine'", "keras<2.13.1"),
        ("ModuleNotFoundError: No module named 'langchain.llms'", "langchain<1.0.0"),
        ("ImportError: cannot import name 'LangSmithParams' from 'langchain_core.language_models'", ">=0.2.33"),
        ("ModuleNotFoundError: No module named 'sklearn.cross_validation'", "scikit-learn<0.20.0"),
        ("ImportError: cannot import name 'plot_confusion_matrix' from 'sklearn.metrics'", "<1.2.0"),
        ("AttributeError: 'CountVectorizer' object has no attribute 'get_feature_names'", "scikit-learn<1.2.0"),
        ("ImportError: cannot import name 'soft_unicode' from 'markupsafe'", "markupsafe<2.1.0"),
        ("ImportError: cannot import name 'url_quote' from 'werkzeug.urls'", "werkzeug<3.0.0"),
        ("ImportError: cannot import name 'TypeIs' from 'typing_extensions'", "typing-extensions>=4.10.0"),
        ("ImportError: cannot import name 'runtime_version' from 'google.protobuf'", "protobuf>=5.27.0"),
        ("ImportError: cannot import name 'builder' from 'google.protobuf.internal'", "protobuf>=3.20.0"),
        ("AttributeError: module 'tensorflow' has no attribute 'placeholder'", "compat.v1.placeholder"),
        ("AttributeError: module 'ml_dtypes' has no attribute 'float4_e2m1fn'", "ml-dtypes>=0.5.0"),
        ("ModuleNotFoundError: No module named 'mmcv.runner'", "mmcv-full<1.7.1"),
        ("ModuleNotFoundError: No module named 'numpy._core'", "numpy>=2"),
        ("ImportError: cannot import name 'compare_ssim' from 'skimage.measure'", "structural_similarity"),
    ],
)
def test_names_that_came_or_went(line: str, requirement: str) -> None:
    found = root(line + "\n")
    assert requirement in " ".join((found.message, found.remedy.text, *found.remedy.commands))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TREE.format(asked="==11.7"), "exclude each other"),  # the release that is asked for is what is needed
        (PIP.format(asked="0.13.3"), "needs tokenizers"),
        (BOOL, "gradio"),  # of any code
        ("ERROR: No matching distribution found for triton\n", "this is a Mac, for which it"),
        ("AttributeError: module 'scipy' has no attribute 'no_such_thing'\n", "was not imported"),
        ("DNN library initialization failed\n", "do not go together"),
        ("ModuleNotFoundError: No module named 'queue'\n", "Python 2"),
        ("importlib.metadata.PackageNotFoundError: No package metadata was found for peft\n", "asks for no,"),
    ],
)
def test_what_only_resembles_it(text: str, words: str) -> None:
    assert all(words not in one.message for one in judged(text).findings)


def test_who_is_named_when_no_metadata_is_found() -> None:
    found = root("importlib.metadata.PackageNotFoundError: No package metadata was found for peft\n")
    assert found.subject == "peft"


def test_two_packages_that_exclude_each_other() -> None:
    said = (
        "The conflict is caused by:\n    pytorch-lightning 1.8.0 depends on lightning-utilities==0.3.*\n"
        "    lightning-bolts 0.6.0 depends on lightning-utilities<{below} and >0.{above}\n"
    )
    found = root("ERROR: ResolutionImpossible\n" + said.format(below="0.5.0", above="4.0"))
    assert "pytorch-lightning 1.8.0 needs lightning-utilities==0.3.*, and lightning-bolts 0.6.0 needs" in found.message
    agree = judged("ERROR: ResolutionImpossible\n" + said.format(below="0.5.0", above="2.0"))
    assert all("needs lightning-utilities" not in one.message for one in agree.findings)


@pytest.mark.parametrize(
    ("asked", "needed", "apart"),
    [
        ("numpy<1.17 and >=1.16.4", "numpy>=1.19.3", True),
        ("numpy<1.20 and >=1.16.4", "numpy>=1.19.3", False),
        ("numpy<2", "numpy!=1.26.4, <2 and >=1.26", False),
        ("torch==2.1.0+cu118", "torch==2.1.0", False),
        ("torch~=1.8.1", "torch<1.8 and >=1.3", True),
    ],
)
def test_ranges_that_no_release_meets(asked: str, needed: str, apart: bool) -> None:
    said = f"The conflict is caused by:\n    The user requested {asked}\n    some-package 4.5.2 depends on {needed}\n"
    messages = [one.message for one in judged("ERROR: ResolutionImpossible\n" + said).findings]
    assert any("some-package 4.5.2 needs" in one for one in messages) is apart


def test_what_pip_took_away_is_not_there() -> None:
    told = judged(
        "  Attempting uninstall: torch\n    Found existing installation: torch 2.0.1+cu118\n"
        "    Uninstalling torch-2.0.1+cu118:\n      Successfully uninstalled torch-2.0.1+cu118\n"
        "torchvision 0.15.2+cu118 requires torch==2.0.1, but you have torch 2.7.1 which is incompatible.\n"
    )
    assert told.root_cause is not None
    assert "2.7.1" in told.root_cause.message
    assert all("is a build for CUDA" not in one.message for one in told.findings)
