"""Sentences in which libraries ask for packages, in the forms that they have; and sentences that ask for none."""

from __future__ import annotations

import pytest

from envdoctor.knowledge.asking import Ask, ask_of, every_word
from envdoctor.knowledge.requirements import normal, read

ASKED = {
    "Sharded loading requires accelerate>1.12.0": "accelerate>1.12.0",
    "The merge needs `mergekit` >= 0.1.5 to be there": "mergekit>=0.1.5",
    "this head requires PyTorch 2.4 or higher": "torch>=2.4",
    "Segments of text need Pillow 10.1 or later, built with fonts": "pillow>=10.1",
    "FSDP over XLA requires `torch_xla` version >= 2.4.": "torch-xla>=2.4",
    "DeepSpeed version must be >= 0.14.0 for experts": "deepspeed>=0.14.0",
    "A valid HQQ version (>=0.2.1) is not there": "hqq>=0.2.1",
    "please use tokenizers>=0.11,<0.14 here": "tokenizers>=0.11,<0.14",
    "Found transformers==4.40.0, but transformers>=4.51 is wanted": "transformers>=4.51",
    "Kernel needs CUDA. To mend it: pip install -U 'flash-attn>=2.7'": "flash-attn>=2.7",
    "Experts are missing, install them by `pip install megakernels[cu13]`": "megakernels[cu13]",
    "index: run `conda install -c somewhere faiss-cpu`": "faiss-cpu",
    "Please upgrade your datasets version": "datasets",
    "This checkpoint is newer. Upgrade torchao to read it": "torchao",
    "Found an incompatible version of GPT-QModel (`gptqmodel` package)": "gptqmodel",
    "the installed triton version too old": "triton",
    "Wandb not installed.": "wandb",
    "sentencepiece library should be installed.": "sentencepiece",
    "PyTorch was not found in the environment": "torch",
    "To keep the curves you have to install `h5py` first": "h5py",
    "Make sure to install scipy if you want other sigmas": "scipy",
    "the reader requires the `pyctcdecode` library": "pyctcdecode",
    "einops is required by the mixer but cannot be imported": "einops",
    "nvidia-ml-py does not seem to be installed": "nvidia-ml-py",
    "fused mixing requires Triton": "triton",
    "Could not import tensorflow!": "tensorflow",
    "Flash Attention is not installed": "flash-attn",
    "no bitsandbytes found": "bitsandbytes",
}
NOT_ASKED = (
    "element 0 of tensors does not require grad and does not have a grad_fn",
    "the model needs labels to compute a loss",
    "cuDNN 9.8 or later is required",
    "attention requires CUDA tensors",
    "No GPU found. A GPU is needed for quantization.",
    "batch size must be at least 2",
    "found numpy==1.26.4",
    "the engine did not come up for vllm~=0.8",
    "this function requires Python 3.12 or newer",
    "please install from source: pip install git+https://somewhere/timm",
    "read the notes: pip install -r requirements.txt",
    "you need to install it first",
)


@pytest.mark.parametrize(("sentence", "requirement"), ASKED.items(), ids=lambda text: text[:40])
def test_what_is_asked_for(sentence: str, requirement: str) -> None:
    ask = ask_of(f"some.module.ImportError: {sentence} [raised in somewhere]")
    assert ask is not None
    assert ask.requirement == requirement
    assert read(ask.requirement) is not None


@pytest.mark.parametrize("sentence", NOT_ASKED)
def test_what_asks_for_no_package(sentence: str) -> None:
    assert ask_of(f"RuntimeError: {sentence}") is None


def test_only_an_error_asks() -> None:
    assert ask_of("For faster inference install flash-attn") is None
    assert ask_of("WARNING: scipy is not installed") is None


def test_what_no_index_has_is_named_without_a_requirement() -> None:
    assert ask_of("ImportError: NVIDIA DALI is not installed") == Ask(spoken="nvidia-dali", package="")


def test_the_table_holds_words_as_they_are_looked_up() -> None:
    assert all(word == word.lower() for word in every_word())
    packages = [ask.package for word in every_word() if (ask := ask_of(f"ImportError: {word} is not installed"))]
    assert len(packages) > 200
    assert all(normal(package) == package for package in packages if package)


def test_a_name_that_is_not_defined_is_a_package_s_only_where_the_table_says_so() -> None:
    asked = ask_of("NameError: name 'bnb' is not defined")
    assert asked is not None
    assert (asked.package, asked.module) == ("bitsandbytes", "bitsandbytes")
    assert ask_of("NameError: name 'batch' is not defined") is None
    assert ask_of("NameError: name 'torch' is not defined") is None  # an import that the script lacks
