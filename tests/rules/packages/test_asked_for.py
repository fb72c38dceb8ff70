import pytest

from envdoctor.facts.model import Facts
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.packages.asked_for import asked_for
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped

MISSING = "ImportError: the mixer requires `einops` to be installed [raised in mixing]"
OLDER = "ValueError: parallel plans need transformers >= 5.1 [raised in mixing]"


def test_a_package_that_is_missing() -> None:
    (found,) = findings(asked_for, Facts(messages=(MISSING,)))
    assert (found.kind, found.subject, found.severity) == ("package-missing", "einops", Severity.ERROR)
    assert found.remedy.commands == ("python -m pip install --upgrade einops",)
    assert "raised in" not in found.message


def test_another_release() -> None:
    (found,) = findings(asked_for, Facts(messages=(OLDER,), packages=installed(transformers="4.57.1")))
    assert (found.kind, found.actual, found.expected) == ("package-conflict", "4.57.1", "transformers>=5.1")
    assert found.remedy.commands == ("python -m pip install 'transformers>=5.1'",)


def test_torch_comes_with_its_family() -> None:
    (found,) = findings(asked_for, Facts(messages=("RuntimeError: this requires PyTorch 2.11+.",)))
    assert found.remedy.commands == ("python -m pip install --upgrade torch torchvision torchaudio",)
    (found,) = findings(asked_for, Facts(messages=("ImportError: PyTorch is not installed.",)))
    assert found.remedy.commands == ("uv pip install --torch-backend=auto torch",)


def test_a_name_that_no_index_has_becomes_no_command() -> None:
    (found,) = findings(asked_for, Facts(messages=("ImportError: NVIDIA DALI is not installed",)))
    assert found.remedy.commands == ()


def test_what_has_been_installed_since_is_not_asked_for() -> None:
    assert silent(asked_for, Facts(messages=(OLDER,), packages=installed(transformers="5.2.0")))
    assert silent(asked_for, Facts(messages=(MISSING,), packages=installed(einops="0.8.1")))


def test_the_library_that_raises_is_not_the_one_that_is_blamed() -> None:
    line = "RuntimeError: books need Calibre and pypandoc; pip install pypandoc [raised in unsloth]"
    diagnosis = diagnose(Facts(messages=(line,)), no_target(), load_rules())
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.subject == "pypandoc"


def test_a_word_that_nobody_knows_becomes_no_command() -> None:
    diagnosis = diagnose(Facts(messages=("RuntimeError: wsl is not installed.",)), no_target(), load_rules())
    assert all("wsl" not in command for found in diagnosis.findings for command in found.remedy.commands)


def test_a_row_that_knows_more_speaks_instead() -> None:
    assert silent(asked_for, Facts(messages=("ValueError: --tf32 requires Ampere, cuda>=11 and torch>=1.7",)))


def test_without_errors() -> None:
    assert skipped(asked_for, Facts())


PROSE = [
    "At first I come across _TypeError: run() got an unexpected keyword argument 'cores'_, when install peft from pip",
    "I get `AttributeError: module 'a' has no attribute 'b'` after I install peft with its newest release",
    "We always see RuntimeError: the shapes differ when installing accelerate for it by conda",
    'My script says "ValueError: a bad value", I have to install datasets first I think',
]


@pytest.mark.parametrize("line", PROSE)
def test_a_persons_sentence_around_an_error_asks_for_nothing(line: str) -> None:
    assert silent(asked_for, Facts(messages=(line,)))


@pytest.mark.parametrize(
    "line",
    [
        "I get ImportError: This file requires the following packages: please install einops when I load the model",
        "It ends in `ImportError: einops is not installed`, what now",
        "RuntimeError: when using this path please install einops first",
    ],
)
def test_the_programs_own_words_within_it_do(line: str) -> None:
    (found,) = findings(asked_for, Facts(messages=(line,)))
    assert found.subject == "einops"


def test_two_that_one_sentence_asks_for_are_installed_together() -> None:
    said = "RuntimeError: Please install flash-attn==1.0.3.post0 and triton==2.0.0.dev20221202."
    (found,) = findings(asked_for, Facts(messages=(said,)))
    assert found.remedy.commands == ("python -m pip install 'flash-attn==1.0.3.post0' 'triton==2.0.0.dev20221202'",)
