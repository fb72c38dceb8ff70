import pytest

from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import read
from envdoctor.rules.packages.reported_conflicts import reported_conflicts
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent
from tests.rules.told import root


@pytest.mark.parametrize(
    ("line", "subject", "expected"),
    [
        (
            "vllm 0.10.0 requires torch==2.7.1, but you have torch 2.8.0 which is incompatible.",
            "vllm torch",
            "torch==2.7.1",
        ),
        ("a 1.0 has requirement b>=2.0, but you have b 1.0.", "a b", "b>=2.0"),
        (
            "llamafactory 0.9.4 requires pydantic<=2.10.6, installed is 2.11.7",
            "llamafactory pydantic",
            "pydantic<=2.10.6",
        ),
        (
            "ImportError: tokenizers>=0.11.1,!=0.11.3,<0.14 is required for a normal functioning of this module, but",
            "a package tokenizers",
            "tokenizers>=0.11.1,!=0.11.3,<0.14",
        ),
        ("The package `a` requires `b<2`, but `2.1` is installed", "a b", "b<2"),
    ],
)
def test_what_installers_and_libraries_print(line: str, subject: str, expected: str) -> None:
    (finding,) = findings(reported_conflicts, Facts(messages=(line,)))
    assert (finding.kind, finding.subject, finding.expected) == ("package-conflict", subject, expected)
    assert finding.severity is Severity.ERROR
    assert finding.remedy.commands == (f"python -m pip install '{expected}'",)


def test_what_is_met_by_now_is_not_repeated() -> None:
    line = "a 1.0 requires b>=2.0, but you have b 1.0."
    assert silent(reported_conflicts, Facts(messages=(line,), packages=installed(b="2.1")))
    (finding,) = findings(reported_conflicts, Facts(messages=(line,), packages=installed(b="1.0")), locked(b="2.1"))
    assert finding.repair == (Pin(name="b", version="2.1"),)


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("[WARNING] sparse_attn: torch >= 1.5 and < 2.0 required, 2.1 detected",),
        ("trl needs another Python: 3.8.17 does not satisfy >=3.9",),
        ("everything is fine",),
    ],
)
def test_other_lines(lines: tuple[str, ...]) -> None:
    assert silent(reported_conflicts, Facts(messages=lines))


def test_pips_list_names_the_pin_that_cannot_stay() -> None:
    lines = (
        "The user requested torch==2.2.1+cu118",
        "torchvision 0.16.1+cu118 depends on torch==2.1.1+cu118",
        "kornia 0.6.0 depends on torch>=1.8.1",
    )
    (found,) = findings(reported_conflicts, Facts(messages=lines))
    assert (found.kind, found.subject) == ("torch-pair-mismatch", "torchvision torch")
    assert found.remedy.commands == ("uv pip install --torch-backend=cu118 'torch==2.2.1+cu118' 'torchvision==0.17.*'",)


def test_a_mate_follows_the_torch_that_is_there() -> None:
    line = "torchvision 0.19.1 requires torch==2.4.1, but you have torch 2.5.1 which is incompatible."
    (found,) = findings(reported_conflicts, Facts(messages=(line,)))
    assert found.remedy.commands[0] == "python -m pip install 'torch==2.5.1' 'torchvision==0.20.*'"


NOTICE = (
    "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed. This "
    "behaviour is the source of the following dependency conflicts.\n"
    "tool 5.4 requires glue>=2.1, which is not installed.\n"
    "reader 2.1 requires fsspec<=2023.6.0, but you have fsspec 2024.2.0 which is incompatible.\n"
    "trainer 0.9 requires hydra-core<1.1, but you have hydra-core 1.3.0 which is incompatible.\n"
)


def severities(text: str) -> dict[str, Severity | None]:
    return {one.subject: one.severity for one in findings(reported_conflicts, read(text))}


def test_below_an_installation_that_went_through_pip_only_notes() -> None:
    found = {one.subject: one for one in findings(reported_conflicts, read(NOTICE))}
    assert Severity.ERROR not in {one.severity for one in found.values()}
    missing = found["tool glue"]
    assert missing.actual == "not installed"
    assert missing.message.startswith("pip installed what it was asked for")
    assert missing.remedy.commands == ("python -m pip install 'glue>=2.1'",)


def test_what_was_just_installed_comes_before_what_was_at_odds_already() -> None:
    done = "Successfully installed fsspec-2024.2.0 mine-0.1\n"
    assert severities(NOTICE + done) == {
        "tool glue": Severity.NOTE,
        "reader fsspec": Severity.WARNING,
        "trainer hydra-core": Severity.NOTE,
    }


def test_what_the_heading_asks_about_comes_first() -> None:
    done = "Successfully installed fsspec-2024.2.0 hydra-core-1.3.0 mine-0.1\n"
    told = severities(f"Is something wrong with hydra here\n\n{NOTICE}{done}")
    assert [subject for subject, severity in told.items() if severity is Severity.WARNING] == ["trainer hydra-core"]
    told = severities(f"What do these lines mean\n\n{NOTICE}{done}")
    assert told["reader fsspec"] is told["trainer hydra-core"] is Severity.WARNING


def test_what_is_missing_is_not_called_another_version() -> None:
    (found,) = findings(reported_conflicts, read("tool 5.4 requires glue>=2.1, which is not installed.\n"))
    assert found.actual == "not installed"


def test_a_triton_that_is_pinned_has_a_torch_of_its_own() -> None:
    told = "torch 2.0.1 requires triton==2.0.0, but you have triton 2.1.0 which is incompatible."
    assert "take torch 2.1" in root(told).remedy.text


def test_who_ask_for_the_same_do_not_conflict() -> None:
    lines = (
        "The conflict is caused by:",
        "fairseq 0.12.2 depends on omegaconf<2.1",
        "hydra-core 1.0.7 depends on omegaconf<2.1 and >=2.0.5",
    )
    assert silent(reported_conflicts, Facts(messages=lines))


def test_a_release_without_a_wheel_is_no_conflict() -> None:
    """uv's resolver tells what could not be had: nothing is installed yet."""
    line = (
        "And because torch>=2.6.0 has no wheels with a matching platform tag and some-tool>=1.4 depends on "
        "torch>=2.0.1, we can conclude that some-tool>=1.4 cannot be used."
    )
    assert silent(reported_conflicts, Facts(messages=(line,)))
