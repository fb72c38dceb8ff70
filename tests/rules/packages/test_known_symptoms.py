import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.packages.known_symptoms import known_symptoms
from tests.rules.judging import findings, installed, silent, skipped


@pytest.mark.parametrize(
    ("line", "packages", "subject"),
    [
        ("TypeError: Descriptors cannot be created directly.", {"protobuf": "4.21.0"}, "protobuf"),
        ("pydantic.errors.PydanticUserError: ...", {"pydantic": "2.5.0"}, "pydantic"),
        (
            "NotImplementedError: Loading a dataset cached in a LocalFileSystem is not supported",
            {"fsspec": "2023.12.0"},
            "fsspec",
        ),
        ("AttributeError: module 'numpy' has no attribute 'float'", {"numpy": "1.26.4"}, "numpy"),
        ("ModuleNotFoundError: No module named 'torch._six'", {"torch": "2.1.0"}, "torch"),
        ("ImportError: Using the Trainer with PyTorch requires accelerate>=0.20.1", {}, "accelerate"),
        ("TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'tokenizer'", {"trl": "0.12.0"}, "trl"),
        ("TypeError: __init__() in Trainer: Trainer got an unexpected keyword argument 'x'", {}, "Trainer"),
        ("TypeError: Trainer got an unexpected keyword argument 'x'", {"transformers": "4.56.0"}, "transformers"),
        (
            "AttributeError: 'DynamicCache' object has no attribute 'seen_tokens'",
            {"transformers": "4.56.0"},
            "transformers",
        ),
        ("'DynamicCacheOfMine' object has no attribute 'key_cache'", {"transformers": "4.57.1"}, "transformers"),
        ("KeyError: 'Cache only has 0 layers, attempted to access layer with index 0'", {}, "transformers"),
    ],
)
def test_packages_out_of_step(line: str, packages: dict[str, str], subject: str) -> None:
    (finding,) = findings(known_symptoms, Facts(messages=(line,), packages=installed(packages, complete=False)))
    assert (finding.kind, finding.subject) == ("package-conflict", subject)


@pytest.mark.parametrize(
    ("line", "packages"),
    [
        ("AttributeError: module 'numpy' has no attribute 'float'", {"numpy": "1.20.0"}),
        ("TypeError: my_function() got an unexpected keyword argument 'x'", {}),
        ("AttributeError: 'MyModel' object has no attribute 'foo'", {"transformers": "4.56.0"}),
        ("AttributeError: 'LlamaConfig' object has no attribute 'foo'", {}),
        ("'MyCache' object has no attribute 'key_cache'", {"transformers": "4.55.4"}),
        ("RuntimeError: CUDA out of memory", {}),
        ("PydanticUserError: `Plan` is not fully defined; define `Step`, then call `Plan.model_rebuild()`.", {}),
    ],
)
def test_another_cause(line: str, packages: dict[str, str]) -> None:
    assert silent(known_symptoms, Facts(messages=(line,), packages=installed(packages, complete=False)))


def test_one_finding_for_each_package() -> None:
    lines = ("TypeError: Descriptors cannot be created directly.", "Descriptors cannot not be created directly")
    assert len(findings(known_symptoms, Facts(messages=lines))) == 1


def test_without_error_lines() -> None:
    assert skipped(known_symptoms, Facts())


def test_what_a_file_begins_with_tells_a_pointer_from_pickles_of_another_time() -> None:
    """Operand 118 is the v of "version https://git-lfs"; 147 is a pickle's own."""
    said = "Weights only load failed. In PyTorch 2.6, we changed the default value of the weights_only argument"
    operand = "WeightsUnpickler error: Unsupported operand "
    assert findings(known_symptoms, Facts(messages=(said, operand + "147")))
    assert not findings(known_symptoms, Facts(messages=(said, operand + "118")))


EVAL_STRATEGY = "AttributeError: 'TrainingArguments' object has no attribute 'eval_strategy'"


@pytest.mark.parametrize(
    ("said", "packages", "subject", "expected"),
    [
        (EVAL_STRATEGY, {}, "transformers", "transformers>=4.41,<5"),
        (EVAL_STRATEGY, {"setfit": "1.0.3"}, "setfit", "transformers<4.41, or setfit>=1.1"),
        (
            "ImportError: Using low_cpu_mem_usage=True requires Accelerate: pip install 'accelerate>=0.26'",
            {},
            "accelerate",
            "accelerate in a later release",
        ),
    ],
)
def test_the_package_that_the_text_shows(said: str, packages: dict[str, str], subject: str, expected: str) -> None:
    (finding,) = findings(known_symptoms, Facts(messages=(said,), packages=installed(packages, complete=False)))
    assert (finding.subject, finding.expected) == (subject, expected)


def test_what_is_only_usual_is_said_as_usual() -> None:
    line = "ValueError: Invalid pattern: '**' can only be an entire path component"
    (finding,) = findings(known_symptoms, Facts(messages=(line,)))
    before, _, usual = finding.message.partition(" Usually ")
    assert "datasets" not in before
    assert "datasets before 2.14.6" in usual


@pytest.mark.parametrize(
    "line",
    [
        "ModuleNotFoundError: No module named 'pkg_resources.extern'",
        "AttributeError: partially initialized module 'numpy' has no attribute 'bool'",
        "TypeError: 'LRUCache' object is not subscriptable",
    ],
)
def test_lines_of_other_causes(line: str) -> None:
    assert silent(known_symptoms, Facts(messages=(line,)))


def test_a_setuptools_beside_an_isolated_build_does_not_reach_it() -> None:
    lines = ("The build backend returned an error", "ModuleNotFoundError: No module named 'pkg_resources'")
    (found,) = findings(known_symptoms, Facts(messages=lines))
    assert "build-constraint-dependencies" in found.remedy.text
    assert found.remedy.commands == ()
    (found,) = findings(known_symptoms, Facts(messages=lines[1:]))
    assert "setuptools<81" in found.remedy.commands[0]
