"""Errors by which packages that are out of step are known, although no package of the pair says so itself.

Each row is what the error says, which distribution moved, and what to do. ``moved`` limits a row to releases in which
the thing is really gone: with another release installed the error has another cause.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from envdoctor.pattern import Pattern


class Symptom(NamedTuple):
    """``said`` means that ``name`` (a release within ``moved``, "" for any) and its caller do not go together."""

    said: Pattern
    name: str
    moved: str
    meaning: str
    use: str
    source: str


def _said(text: str) -> Pattern:
    return Pattern(text, re.IGNORECASE)


SYMPTOMS = (
    Symptom(
        _said(r"Descriptors cannot (?:not )?be created directly|descriptor.{0,30}generated code is out of date"),
        "protobuf",
        "",
        "protobuf 4 refuses code that was generated for protobuf 3",
        "protobuf<4",
        "https://protobuf.dev/news/2022-05-06/#python-updates",
    ),
    Symptom(
        _said(
            r"PydanticUserError|PydanticImportError|(?:root_validator|BaseSettings)\W{1,3}.{0,60}(?:moved|removed)"
            r"|non-annotated attribute was detected"
        ),
        "pydantic",
        ">=2",
        "a package written for pydantic 1 meets pydantic 2",
        "pydantic<2",
        "https://docs.pydantic.dev/latest/migration/",
    ),
    Symptom(
        _said(r"dataset cached in a LocalFileSystem is not supported"),
        "fsspec",
        ">=2023.10",
        "datasets before 2.14.6 does not know fsspec 2023.10 and later",
        "datasets>=2.14.6",
        "https://github.com/huggingface/datasets/issues/6352",
    ),
    Symptom(
        _said(r"Invalid pattern: '\*\*' can only be an entire path component"),
        "fsspec",
        ">=2023.10",
        "datasets before 2.14.6 does not know fsspec 2023.10 and later",
        "datasets>=2.14.6",
        "https://github.com/huggingface/datasets/issues/6737",
    ),
    Symptom(
        _said(r"module '?numpy'? has no attribute '?(?:float|int|bool|object|complex|str|long)\b'?"),
        "numpy",
        ">=1.24",
        "NumPy 1.24 dropped the aliases of Python's own types",
        "numpy<1.24",
        "https://numpy.org/doc/stable/release/1.24.0-notes.html#expired-deprecations",
    ),
    Symptom(
        _said(r"np\.\w+_?`? was removed in the NumPy 2\.0 release"),
        "numpy",
        ">=2",
        "NumPy 2 dropped names that a package still uses",
        "numpy<2",
        "https://numpy.org/doc/stable/numpy_2_0_migration_guide.html",
    ),
    Symptom(
        _said(r"No module named '?torch\._six|cannot import name '?container_abcs'? from '?torch\._six"),
        "torch",
        ">=1.9",
        "torch dropped torch._six, which an old package still imports",
        "the caller in a later release",
        "https://github.com/pytorch/pytorch/pull/94709",
    ),
    Symptom(
        _said(r"No module named '?torchvision\.transforms\.functional_tensor"),
        "torchvision",
        ">=0.17",
        "torchvision 0.17 dropped functional_tensor, which basicsr and others import",
        "torchvision<0.17, or the caller in a later release",
        "https://github.com/XPixelGroup/BasicSR/issues/663",
    ),
    Symptom(
        _said(r"No module named '?pkg_resources|module '?pkg_resources'? has no attribute"),
        "setuptools",
        ">=70",
        "setuptools no longer brings pkg_resources as a package imports it",
        "setuptools<70",
        "https://setuptools.pypa.io/en/latest/history.html",
    ),
    Symptom(
        _said(r"cannot import name '?packaging'? from '?pkg_resources"),
        "setuptools",
        ">=70",
        "setuptools 70 moved what torch's extension builder imported",
        "setuptools<70",
        "https://github.com/pypa/setuptools/issues/4399",
    ),
    Symptom(
        _said(r"Using the Trainer with PyTorch requires accelerate"),
        "accelerate",
        "",
        "the installed accelerate is older than transformers' trainer needs",
        "accelerate in a later release",
        "https://github.com/huggingface/transformers/blob/main/src/transformers/training_args.py",
    ),
    Symptom(
        _said(
            r"requires .{0,40}(?:the )?latest version of bitsandbytes|Using `?bitsandbytes`? .{0,60}requires"
            r"|requires Accelerate: pip install"
        ),
        "bitsandbytes",
        "",
        "transformers asks for a later bitsandbytes (or accelerate) than is installed",
        "bitsandbytes and accelerate in a later release",
        "https://github.com/huggingface/transformers/blob/main/src/transformers/quantizers/quantizer_bnb_4bit.py",
    ),
    Symptom(
        _said(r"does not recognize this architecture|model type `?[\w-]+`? but Transformers"),
        "transformers",
        "",
        "the installed transformers is older than the model",
        "transformers in a later release",
        "https://huggingface.co/docs/transformers/troubleshooting",
    ),
    Symptom(
        _said(
            r"Tokenizer class \w+ does not exist or is not currently imported"
            r"|data did not match any variant of untagged enum"
        ),
        "tokenizers",
        "",
        "the tokenizer file was written by a later release of tokenizers or transformers",
        "transformers and tokenizers in a later release",
        "https://github.com/huggingface/transformers/issues/31789",
    ),
    Symptom(
        _said(r"name '?ParallelismConfig'? is not defined"),
        "accelerate",
        "<1.10.1",
        "transformers 4.56 and trl 0.23 use ParallelismConfig, which accelerate knows from 1.10.1 on",
        "accelerate>=1.10.1",
        "https://github.com/huggingface/trl/issues/4098",
    ),
    Symptom(
        _said(r"name '?init_empty_weights'? is not defined"),
        "accelerate",
        "",
        "transformers asks for accelerate, which is absent or too old",
        "accelerate in a later release",
        "https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_utils.py",
    ),
    Symptom(
        _said(r"name '?(?:DTensor|DeviceMesh|LRScheduler|ProcessGroup)'? is not defined"),
        "torch",
        "<2.5",
        "transformers or accelerate use a part of torch.distributed that this torch does not have",
        "torch in a later release",
        "https://github.com/huggingface/transformers/releases/tag/v4.50.0",
    ),
    Symptom(
        _said(r"(?:PyTorch|torch) ?>= ?2\.\d+(?:\.\d+)? is required|Disabling PyTorch because PyTorch"),
        "torch",
        "",
        "transformers needs a later torch, and works without it until then",
        "torch in a later release",
        "https://github.com/huggingface/transformers/releases/tag/v4.50.0",
    ),
    Symptom(
        _said(r"upgrade torch to at least v?2\.6|due to a serious vulnerability issue in `?torch\.load"),
        "torch",
        "<2.6",
        "transformers from 4.51 on loads pickled weights with torch 2.6 or later only",
        "torch>=2.6, or weights as safetensors",
        "https://github.com/huggingface/transformers/pull/37785",
    ),
    Symptom(
        _said(r"Weights only load failed|WeightsUnpickler error"),
        "torch",
        ">=2.6",
        "torch.load reads plain tensors only since 2.6, and the caller was written before that",
        "the caller in a later release, or weights_only=False for files that you trust",
        "https://docs.pytorch.org/docs/stable/notes/serialization.html#weights-only",
    ),
    Symptom(
        _said(r"`?rope_scaling`? must be a dictionary with"),
        "transformers",
        "<4.43",
        "transformers before 4.43 does not know the rope scaling of Llama 3.1",
        "transformers>=4.43",
        "https://github.com/huggingface/transformers/releases/tag/v4.43.0",
    ),
)

CALLEES = {
    "transformers": "Trainer Seq2SeqTrainer TrainingArguments Seq2SeqTrainingArguments BitsAndBytesConfig "
    "compute_loss prediction_step training_step _save_checkpoint create_optimizer_and_scheduler "
    "DataCollatorWithPadding prepare_inputs_for_generation DynamicCache StaticCache AutoModelForCausalLM",
    "trl": "SFTTrainer SFTConfig DPOTrainer DPOConfig PPOTrainer PPOConfig GRPOTrainer GRPOConfig RewardTrainer "
    "RewardConfig KTOTrainer KTOConfig ORPOTrainer ORPOConfig CPOTrainer DataCollatorForCompletionOnlyLM",
    "accelerate": "Accelerator unwrap_model DataLoaderConfiguration DistributedDataParallelKwargs prepare_data_loader "
    "FullyShardedDataParallelPlugin DeepSpeedPlugin GradientAccumulationPlugin dispatch_model",
    "peft": "LoraConfig PeftModel get_peft_model PeftConfig prepare_model_for_kbit_training LoraModel AdaLoraConfig",
    "datasets": "load_dataset load_metric Dataset.map DatasetBuilder DownloadConfig",
    "huggingface-hub": "hf_hub_download snapshot_download cached_download HfApi HfFolder push_to_hub create_repo",
    "torch": "DataLoader GradScaler clip_grad_norm_ scaled_dot_product_attention DistributedDataParallel autocast",
    "deepspeed": "deepspeed.initialize DeepSpeedEngine DeepSpeedConfig",
    "bitsandbytes": "Linear4bit Linear8bitLt Params4bit Int8Params",
    "vllm": "LLMEngine EngineArgs SamplingParams LLM",
    "xformers": "memory_efficient_attention",
    "diffusers": "StableDiffusionPipeline UNet2DConditionModel AutoencoderKL FlowMatchEulerDiscreteScheduler",
    "lightning": "LightningModule lightning.Trainer LightningDataModule",
}
"""Names that appear in "got an unexpected keyword argument", and the distribution whose release decides."""
