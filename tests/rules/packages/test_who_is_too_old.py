"""Which side of a changed call, import or file is the older one, and whose class it is."""

import pytest

from envdoctor.facts.pasted import read
from envdoctor.knowledge import history, versions
from envdoctor.knowledge.names import ARGUMENTS, DROPPED, NAMES
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding
from envdoctor.rules.rule import Severity


def told(text: str) -> list[Finding]:
    """What is said of a text at the level of a warning or above, but for what follows from another."""
    found = diagnose(read(text), no_target(), load_rules()).findings
    return [each for each in found if each.severity is not None and each.severity >= Severity.WARNING]


def one(text: str) -> Finding:
    (found,) = told(text)
    return found


def words(found: Finding) -> str:
    return " ".join((found.message, found.remedy.text, *found.remedy.commands))


def bounds(release: str) -> tuple[int, ...]:
    parts = list(versions.release(release) or ())
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def test_two_tables_give_no_name_two_releases() -> None:
    spans = [
        (gone.release, span.removed)
        for gone in DROPPED
        for name in gone.names
        if (span := history.of_name(gone.module, name)) is not None
    ]
    spans += [
        (row.release, span.removed if row.direction == "removed" else span.added)
        for row in ARGUMENTS
        for name in row.names
        for span in history.of_argument(row.owner, name)
        if span.package == row.package
    ]
    assert spans
    assert not [pair for pair in spans if bounds(pair[0])[:2] != bounds(pair[1])[:2]]


def test_rows_by_hand_lie_within_the_steps_of_the_scan() -> None:
    checked = 0
    for row in NAMES:
        span = history.of_name(row.module, row.name) if row.name and not row.argument else None
        if span is None or row.direction != "removed" or not span.removed:
            continue
        before = [each for each in span.read if versions.below(each, span.removed)]
        checked += 1
        assert not before or versions.below(before[-1], row.release), row
        assert not versions.below(span.removed, row.release) or bounds(row.release)[:2] == bounds(span.removed)[:2], row
    assert checked > 50


def test_a_bound_is_that_of_the_scan() -> None:
    found = one("AttributeError: 'Trainer' object has no attribute 'accelerator_backend'\n")
    assert (found.severity, found.expected) == (Severity.ERROR, "pytorch-lightning>=0.9.0,<1.4.0")


@pytest.mark.parametrize(
    ("line", "never"),
    [
        ("AttributeError: type object 'Dropdown' has no attribute 'update'", "gradio>="),
        ("AttributeError: 'PreTrainedTokenizerFast' object has no attribute 'batch_encode_plus'", "transformers>="),
        ("TypeError: EngineArgs.__init__() got an unexpected keyword argument 'device'", "--upgrade"),
        ("AttributeError: module 'flax' has no attribute 'optim'", "import flax.optim"),
        ("ImportError: cannot import name 'model_urls' from 'torchvision.models.resnet'", "models.video"),
    ],
)
def test_no_upgrade_to_what_is_gone(line: str, never: str) -> None:
    for found in told(line + "\n"):
        assert never not in words(found)


HUB = "ImportError: cannot import name 'cached_download' from 'huggingface_hub' (/v/huggingface_hub/__init__.py)\n"
FRAME = '  File "/v/lib/python3.10/site-packages/diffusers/dynamic_modules_utils.py", line 28, in <module>\n'


def test_an_upgrade_that_breaks_another_import_of_the_text_comes_second() -> None:
    found = one(f"from diffusers.pipeline_utils import DiffusionPipeline\n{FRAME}{HUB}")
    assert found.remedy.commands == ("python -m pip install 'huggingface-hub<0.26.0'",)
    assert "diffusers.pipeline_utils" in found.remedy.text
    assert "diffusers>=0.29.0" in found.remedy.text


def test_an_upgrade_that_breaks_nothing_comes_first() -> None:
    found = one(f"from diffusers import DiffusionPipeline\n{FRAME}{HUB}")
    assert found.remedy.commands == ("python -m pip install 'diffusers>=0.29.0'",)
    assert "huggingface-hub<0.26.0" in found.remedy.text


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("TypeError: VisionTrainer._save_checkpoint() got an unexpected keyword argument 'metrics'", ">=4.47.0"),
        ("TypeError: MyTrainer.log() got an unexpected keyword argument 'start_time'", "<4.47.0"),
        ("TypeError: compute_loss() got an unexpected keyword argument 'num_items_in_batch'", "<4.46.0"),
    ],
)
def test_what_overrides_a_method_is_of_another_time(line: str, wanted: str) -> None:
    found = one(line + "\n")
    assert f"transformers{wanted}" in words(found)
    assert "of transformers does not know" not in found.message


def test_a_method_of_a_class_of_somebody_elses_is_not_said_to_be_the_librarys() -> None:
    found = one("TypeError: PhiTrainer.prediction_step() got an unexpected keyword argument 'no_such_thing'\n")
    assert "is not known to have" in found.message
    for each in told("TypeError: Metrics.log() got an unexpected keyword argument 'start_time'\n"):
        assert "transformers" not in words(each)


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("ModuleNotFoundError: No module named 'mmcv.runner'", "mmcv"),
        ("TypeError: Blocks.queue() got an unexpected keyword argument 'concurrency_count'", "gradio"),
        ("TypeError: Resize.__init__() got an unexpected keyword argument 'antialias'", "torchvision"),
        ("AttributeError: 'SentenceTransformer' object has no attribute 'encode_query'", "sentence-transformers"),
        ("ValueError: decay is deprecated in the new Keras optimizer, please check the docstring", "keras"),
        ("RuntimeError: CUDA error: invalid device ordinal", "processes"),
    ],
)
def test_one_line_is_answered_once(line: str, subject: str) -> None:
    assert one(line + "\n").subject == subject


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("AttributeError: 'FieldInfo' object has no attribute 'outer_type_'", "pydantic 1"),
        ("AttributeError: 'Item' object has no attribute 'model_dump'", "pydantic 2"),
        ("TypeError: Net.__init__() got an unexpected keyword argument 'pretrained_cfg'", "timm<0.6"),
        ("AttributeError: 'EfficientNet' object has no attribute 'act1'", "timm<0.6"),
        ("Exception encountered: Unrecognized keyword arguments: ['batch_shape']", "TensorFlow 2.16 or later"),
        ("Unrecognized keyword arguments passed to DepthwiseConv2D: {'groups': 1}", "TF_USE_LEGACY_KERAS"),
        ("TypeError: T5EncoderModel.__init__() got an unexpected keyword argument 'dtype'", "4.56"),
        ("    init = ROPE_INIT_FUNCTIONS[self.rope_type]\nKeyError: 'default'", "transformers<5"),
        ("TypeError: 'weights_only' is an invalid keyword argument for Unpickler()", "1.13"),
        ("TypeError: resnet18() got an unexpected keyword argument 'weights'", "0.13"),
        ("NotImplementedError: `interp2d` has been removed in SciPy 1.14.0.", "scipy<1.14.0"),
        ("AttributeError: module 'numpy' has no attribute 'bool8'", "numpy<2"),
        ("TypeError: Seq2SeqTrainingArguments.__init__() got an unexpected keyword argument 'no_cuda'", "use_cpu"),
    ],
)
def test_what_an_error_of_another_time_says(text: str, said: str) -> None:
    found = told(text + "\n")
    assert found
    assert said in words(found[0])


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'default'\n",
        "AttributeError: 'Net' object has no attribute 'act1'\n",
        "TypeError: Net.__init__() got an unexpected keyword argument 'weights'\n",
    ],
)
def test_other_libraries_are_not_meant(text: str) -> None:
    for found in told(text):
        assert found.subject not in ("transformers", "timm", "torchvision")


def test_a_module_is_named_by_what_it_was_imported_as() -> None:
    text = "import mxnet as mx\nmx.mod.Module\nAttributeError: 'module' object has no attribute 'mod'\n"
    found = one(text)
    assert found.subject == "mxnet"
    assert "hides mxnet" in found.message
    assert not told("AttributeError: 'module' object has no attribute 'mod'\n")
