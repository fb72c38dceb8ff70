"""What a report says in its own way is quoted so, what follows from a CUDA that does not start says so, and calls with
too many arguments are explained without a verdict on a library."""

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.finding import Severity

RULES = load_rules(("image", "script"))
START = (
    "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility "
    "was attempted on non supported HW\n"
)


def _judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


@pytest.mark.parametrize(
    ("text", "line", "never"),
    [
        ("Triton not found, its backend is left out.\nRuntimeError: our own stop", "Triton not found", "torch.compile"),
        ("RuntimeError: there is no working triton here", "no working triton here", "Cannot find a working"),
        ("RuntimeError: the driver is too old for us", "too old for us", "NVIDIA driver on your system"),
        ("Inside it libcuda.so.1 is missing\nRuntimeError: stopped", "libcuda.so.1 is missing", "Found no NVIDIA"),
        ("RuntimeError: bus error in loader worker 3", "bus error in loader worker 3", "killed by signal"),
    ],
)
def test_a_line_is_quoted_as_it_stands(text: str, line: str, never: str) -> None:
    said = " ".join(found.message + found.actual for found in _judged(text).findings)
    assert line in said
    assert never not in said
    assert "in other words" not in said


def test_words_that_a_program_said_are_quoted_as_ever() -> None:
    text = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"
    assert "Found no NVIDIA driver on your system" in " ".join(found.message for found in _judged(text).findings)


@pytest.mark.parametrize(
    "line",
    [
        "bin /opt/venv/lib/python3.10/site-packages/bitsandbytes/libbitsandbytes_cpu.so",
        "UserWarning: The installed version of bitsandbytes was compiled without GPU support.",
    ],
)
def test_the_library_for_the_cpu_follows_from_a_cuda_that_does_not_start(line: str) -> None:
    found = [one for one in _judged(START + line).findings if one.subject == "bitsandbytes"]
    assert found
    assert all(one.symptom_of == "driver/cuda-init CUDA" for one in found)
    alone = [one for one in _judged(line).findings if one.subject == "bitsandbytes"]
    assert all(one.symptom_of is None for one in alone)


def test_a_program_that_passes_over_triton_is_given_no_other_torch() -> None:
    (found,) = (one for one in _judged("Triton not found, its backend is left out.").findings if one.severity)
    assert found.severity is Severity.WARNING
    assert not any("install" in command for command in found.remedy.commands)


@pytest.mark.parametrize(
    "line",
    [
        "TypeError: make_net() takes 2 positional arguments but 3 were given",
        "TypeError: Trainer.__init__() takes from 1 to 4 positional arguments but 6 were given",
        "TypeError: Loader() takes no arguments",
    ],
)
def test_too_many_arguments_are_a_matter_of_two_states_of_the_code(line: str) -> None:
    judged = _judged(f"  File 'run.py', line 7, in main\n{line}\n")
    assert judged.unexplained is None
    assert judged.root_cause is not None
    assert judged.root_cause.severity is Severity.WARNING
    assert "two states of the same code" in judged.root_cause.message
    assert not judged.root_cause.remedy.commands


def test_a_method_of_a_known_trainer_keeps_its_own_answer() -> None:
    root = _judged("TypeError: OurTrainer.training_step() takes 3 positional arguments but 4 were given").root_cause
    assert root is not None
    assert root.subject == "training_step"


@pytest.mark.parametrize(
    "line",
    [
        "`np.bool` was a deprecated alias; the aliases was originally deprecated in NumPy 1.20; see its notes",
        "This alias was removed in NumPy 1.24, before that it warned",
        "That the alias goes is old: NumPy 1.20 deprecated it and warned ever since",
    ],
)
def test_a_release_in_a_sentence_of_the_error_is_not_what_is_installed(line: str) -> None:
    text = f"AttributeError: module 'numpy' has no attribute 'object'.\n{line}\n"
    root = _judged(text).root_cause
    assert root is not None
    assert root.severity is Severity.ERROR
    assert "numpy<1.24" in " ".join((root.expected, *root.remedy.commands))


def test_a_release_that_is_told_of_is_still_read() -> None:
    (found, *_) = _judged("I use numpy 1.26.4 here.\nAttributeError: module 'numpy' has no attribute 'bool'").findings
    assert found.actual == "1.26.4"


def test_memory_that_lasted_for_epochs_is_not_another_process_first() -> None:
    text = "RuntimeError: CUDA out of memory. It runs for 90 epochs, then stops."
    (found,) = (one for one in _judged(text).findings if one.rule == "torch/cuda-error")
    assert "grows from step to step" in found.remedy.text
    assert "Look first for other processes" not in found.remedy.text
