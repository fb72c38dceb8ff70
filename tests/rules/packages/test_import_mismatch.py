import pytest

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.facts.pasted import read
from envdoctor.rules.packages.import_mismatch import import_mismatch
from envdoctor.rules.rule import Finding, Severity
from tests.rules.judging import findings, installed, silent


@pytest.mark.parametrize(
    ("line", "subject", "missing"),
    [
        ("ImportError: cannot import name 'is_npu' from 'transformers.utils' (/x.py)", "transformers", "is_npu"),
        ("AttributeError: module 'torch' has no attribute 'float7_e4m2fn'", "torch", "float7_e4m2fn"),
        ("ModuleNotFoundError: No module named 'huggingface_hub.wonders'", "huggingface-hub", "wonders"),
        ("ImportError: trl (/opt/env/trl/__init__.py) has no name GRPOWonder", "trl", "GRPOWonder"),
        ("AttributeError: module 'sklearn.utils' has no attribute 'x'", "scikit-learn", "x"),
    ],
)
def test_a_name_that_is_not_there(line: str, subject: str, missing: str) -> None:
    (finding,) = findings(import_mismatch, Facts(messages=(line,), packages=installed({subject: "1.2.3"})))
    assert (finding.kind, finding.subject, finding.severity) == ("package-conflict", subject, Severity.ERROR)
    assert finding.actual == "1.2.3"
    assert missing in finding.expected
    assert not finding.certain  # whatever is more specific explains it


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: cannot import name 'x' from partially initialized module 'random' (circular import)",
        "TypeError: forward() got an unexpected keyword argument 'foo'",
        "ModuleNotFoundError: No module named 'einops'",
        "nothing",
    ],
)
def test_lines_that_tell_something_else(line: str) -> None:
    assert silent(import_mismatch, Facts(messages=(line,)))


def said(text: str) -> Finding:
    from envdoctor.facts.pasted import read

    (found,) = findings(import_mismatch, read(text))
    return found


def test_a_package_that_lacks_a_part_of_its_own_is_torn() -> None:
    found = said(
        'File "C:\\v\\site-packages\\bitsandbytes\\cuda_setup\\main.py", line 2, in <module>\n'
        "ModuleNotFoundError: No module named 'bitsandbytes.cuda_setup.paths'\n"
    )
    assert (found.kind, found.subject) == ("package-damaged", "bitsandbytes")
    assert "does not find a part of its own" in found.message
    lazy = said(
        "Failed to import transformers.trainer because of the following error (look up to see its traceback): "
        "cannot import name 'something_new' from 'transformers.utils'\n"
    )
    assert (lazy.kind, lazy.subject) == ("package-damaged", "transformers")


def test_a_name_asked_of_the_wrong_package_is_an_import_to_change() -> None:
    found = said("trl 0.9.0\nImportError: cannot import name 'TrainingArguments' from 'trl'\n")
    assert found.expected == "from transformers import TrainingArguments"


def test_an_unknown_module_may_be_hidden_by_a_folder() -> None:
    (one,) = findings(import_mismatch, Facts(messages=("AttributeError: module 'trlx' has no attribute 'train'",)))
    assert one.message.startswith("trlx has no train here")
    assert "__file__" in one.remedy.text


def test_an_old_python_gets_no_later_release() -> None:
    line = "ImportError: cannot import name 'GRPOConfig' from 'trl' (/a/trl/__init__.py)"
    (one,) = findings(import_mismatch, Facts(messages=(line,), interpreter=Interpreter(version="3.8.17")))
    assert one.remedy.commands[0].startswith("uv venv --python 3.12")
    assert "its latest releases are for 3.10 and later" in one.remedy.text


def test_a_package_that_asks_itself_for_what_it_dropped_is_mixed() -> None:
    line = (
        "Failed to import transformers.trainer because of the following error (look up to see its traceback): "
        "cannot import name 'add_model_info_to_custom_pipelines' from 'transformers.utils'"
    )
    (finding,) = findings(import_mismatch, Facts(messages=(line,)))
    assert (finding.kind, finding.subject) == ("package-damaged", "transformers")
    assert "dropped" not in finding.message


def test_who_fails_within_a_part_that_could_not_be_imported_is_not_told() -> None:
    head = (
        "RuntimeError: Failed to import diffusers.loaders.lora_pipeline because of the following error (look up to see"
    )
    facts = read(f"{head} its traceback):\nmodule 'torch' has no attribute 'int1'\n")
    (finding,) = findings(import_mismatch, facts)
    assert "torch has int1 from 2.6.0 on, and diffusers or what it imports needs it" in finding.message


def test_without_quotes_it_is_another_python_and_no_part_that_is_missing() -> None:
    said = "ImportError: No module named torch.utils.cpp_extension"
    assert silent(import_mismatch, Facts(messages=(said,), packages=installed(torch="1.13.1")))


GONE = "ModuleNotFoundError: No module named 'langchain.document_loaders'"


def test_which_side_is_out_of_step_is_the_usual_one_where_no_release_is_named() -> None:
    found = said(GONE)
    proved, _, usual = found.message.partition(" Usually ")
    assert "dropped" not in proved
    assert "1.0.0 or later, which dropped it" in usual
    assert found.likely


def test_a_release_of_before_the_first_that_was_read_is_too_old_and_not_too_new() -> None:
    (found,) = findings(import_mismatch, Facts(messages=(GONE,), packages=installed({"langchain": "0.0.22"})))
    assert "dropped" not in found.message
    assert found.expected.startswith("langchain>=")
    assert "<1.0.0" in found.expected


def test_a_release_that_is_named_tells_the_side() -> None:
    (found,) = findings(import_mismatch, Facts(messages=(GONE,), packages=installed({"langchain": "1.0.3"})))
    assert "langchain dropped langchain.document_loaders in 1.0.0" in found.message


@pytest.mark.parametrize(
    ("line", "expected", "word"),
    [
        ("AttributeError: module 'jax' has no attribute '_src'", "jax<0.3.18", "chex>=0.1.5"),
        ("ImportError: cannot import name 'linear_util' from 'jax' (/v/jax/__init__.py)", "jax<0.4.24", "flax"),
        ("AttributeError: module 'jax.core' has no attribute 'Shape'", "jax<0.4.29", "flax"),
        ("AttributeError: module 'jax.interpreters.pxla' has no attribute 'Wonder'", "a jax that has Wonder", "flax"),
    ],
)
def test_what_asks_jax_is_older_than_jax(line: str, expected: str, word: str) -> None:
    (finding,) = findings(import_mismatch, Facts(messages=(line,)))
    assert finding.expected == expected
    assert word in finding.remedy.text
    assert "together with jax" in finding.remedy.text


def test_spconv_and_cumm_go_by_the_line_in_their_names() -> None:
    asks = (
        'Traceback (most recent call last):\n  File "/v/site-packages/spconv/core.py", line 9, in <module>\n'
        "    from cumm.gemm.algospec.core import TensorOpParams\n"
        "ImportError: cannot import name 'TensorOpParams' from 'cumm.gemm.algospec.core'\n"
    )
    found = said(f"{asks}\nspconv-cu118 2.1.25\n\ncumm-cu118 0.4.11\n")
    assert found.actual == "0.4.11"
    assert found.remedy.commands == ("python -m pip install 'spconv-cu118>=2.2.2'",)
    assert "cumm-cu118<0.3.0" in found.remedy.text
    unnamed = said(asks)
    assert not unnamed.remedy.commands
    assert "spconv-cuXXX>=2.2.2" in unnamed.remedy.text


def test_a_name_of_numba_that_is_cut_off_behind_its_import() -> None:
    found = said(
        'Traceback (most recent call last):\n  File "/v/site-packages/cudf/utils/spam.py", line 7, in <module>\n'
        "    from numba import cuda, numpy_support\nImportError: cannot import name 'numpy_support"
    )
    assert found.subject == "numba"
    assert found.expected == "numba<0.50.0"


def test_a_later_transformers_is_one_that_this_torch_runs() -> None:
    line = "ImportError: cannot import name 'EncoderDecoderCache' from 'transformers'\n"
    assert said(f"{line}\ntorch==2.1.0\ntransformers==4.40.1\n").expected == "transformers>=4.43.0,<4.56"
    assert said(f"{line}\ntorch==2.6.0\ntransformers==4.40.1\n").expected == "transformers>=4.43.0,<5"


def test_a_name_in_other_capitals_is_told_as_the_package_has_it() -> None:
    line = "ImportError: cannot import name 'GPTNeoxForCausalLM' from 'transformers' (/v/transformers/__init__.py)"
    (found,) = findings(import_mismatch, Facts(messages=(line,)))
    assert found.expected == "GPTNeoXForCausalLM"
    assert "in other capitals" in found.message
    assert found.likely


def test_a_release_that_another_package_forbids_does_for_neither() -> None:
    told = said(
        "ImportError: cannot import name 'split_torch_state_dict_into_shards' from 'huggingface_hub' (/x/__init__.py)\n"
        "When I update it pip tells me:\n"
        "tokenizers 0.14.1 requires huggingface_hub<0.18,>=0.16.4, but you have huggingface-hub 0.24.0 which is "
        "incompatible.\n"
    )
    assert "no release of huggingface-hub does for both" in told.message
    assert told.remedy.commands == ("python -m pip install --upgrade transformers tokenizers",)
