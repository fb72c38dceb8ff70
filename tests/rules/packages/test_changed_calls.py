import pytest

from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.packages.changed_calls import changed_calls
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped
from tests.rules.told import root

GONE = "AttributeError: type object 'Trainer' has no attribute 'from_argparse_args'"
LATER = "AttributeError: 'Trainer' object has no attribute 'num_devices'"
ARGUMENT = "TypeError: Trainer.__init__() got an unexpected keyword argument 'tpu_cores'"


@pytest.mark.parametrize(
    ("line", "version", "wanted"),
    [
        (GONE, "2.4.0", "pytorch-lightning<2.0.0"),
        (LATER, "1.5.10", "pytorch-lightning>=1.6.0,<2"),
        (ARGUMENT, "2.1.0", "pytorch-lightning<2.0.0"),
    ],
)
def test_the_installed_release_lacks_it(line: str, version: str, wanted: str) -> None:
    (found,) = findings(changed_calls, Facts(messages=(line,), packages=installed(pytorch_lightning=version)))
    assert (found.kind, found.subject, found.actual, found.expected) == (
        "package-conflict",
        "pytorch-lightning",
        version,
        wanted,
    )
    assert found.severity is Severity.ERROR
    assert found.remedy.commands == (f"python -m pip install '{wanted}'",)


def test_the_installed_release_has_it() -> None:
    assert silent(changed_calls, Facts(messages=(GONE,), packages=installed(pytorch_lightning="1.9.5")))


def test_a_library_that_the_report_does_not_show_is_a_guess() -> None:
    (found,) = findings(changed_calls, Facts(messages=(LATER,)))
    assert found.severity is Severity.WARNING
    assert "most often" in found.message.lower()


@pytest.mark.parametrize(
    "shown",
    [
        "import pytorch_lightning as pl",
        "----> 3 from lightning.pytorch import Trainer",
        '  File "/v/lib/python3.8/site-packages/pytorch_lightning/cli.py", line 4, in main',
    ],
)
def test_a_library_that_the_report_shows(shown: str) -> None:
    root = diagnose(read(f"{shown}\n{GONE}\n"), no_target(), load_rules()).root_cause
    assert root is not None
    assert (root.rule, root.subject, root.severity) == ("packages/changed-calls", "pytorch-lightning", Severity.ERROR)


def test_classes_of_nobody() -> None:
    assert silent(changed_calls, Facts(messages=("AttributeError: 'Gearbox' object has no attribute 'ratio'",)))
    assert silent(changed_calls, Facts(messages=("TypeError: forward() got an unexpected keyword argument 'scale'",)))
    assert skipped(changed_calls, Facts())


def test_an_argument_that_one_library_alone_dropped_tells_it_where_python_names_no_class() -> None:
    line = "TypeError: __init__() got an unexpected keyword argument '{}'"
    (found,) = findings(changed_calls, Facts(messages=(line.format("progress_bar_refresh_rate"),)))
    assert (found.subject, found.severity) == ("pytorch-lightning", Severity.WARNING)
    assert "most often" in found.message.lower()
    assert silent(changed_calls, Facts(messages=(line.format("use_auth_token"),)))  # many libraries have it


def test_a_class_whose_underlines_a_page_lost() -> None:
    line = "TypeError: init() got an unexpected keyword argument 'progress_bar_refresh_rate'"
    (found,) = findings(changed_calls, Facts(messages=(line,)))
    assert (found.subject, found.severity) == ("pytorch-lightning", Severity.WARNING)


def test_an_argument_that_two_libraries_dropped_names_both() -> None:
    line = "TypeError: __init__() got an unexpected keyword argument 'dispatch_batches'"
    (found,) = findings(changed_calls, Facts(messages=(line,)))
    assert (found.subject, found.severity) == ("accelerate or transformers", Severity.WARNING)
    assert "Accelerator of accelerate 1.0.0 or later or TrainingArguments of transformers 4.51.0" in found.message
    assert "accelerate>=0.5.0,<1.0.0" in found.remedy.text


def test_a_configuration_file_of_a_newer_accelerate() -> None:
    frame = '  File "/x/site-packages/accelerate/commands/launch.py", line 805, in _validate_launch_command'
    found = root(frame, "TypeError: __init__() got an unexpected keyword argument 'debug'")
    assert found.subject == "accelerate's configuration file"
