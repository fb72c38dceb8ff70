import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.rule import Severity
from envdoctor.rules.variables.allocator import allocator
from tests.rules.judging import findings, installed, silent, skipped, torch

NEW, OLD = "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"


@pytest.mark.parametrize(
    ("value", "words", "severity"),
    [
        ("expandable_segment:True", "'expandable_segments' is", Severity.ERROR),
        ("max_split_size_mb=128", "is not option:value", Severity.ERROR),
        ("expandable_segments:yes", "True or False", Severity.ERROR),
        ("max_split_size_mb:10", "above 20", Severity.ERROR),
        ("a_new_option:1", "not a known option", Severity.NOTE),
        ("backend:cudaMallocAsync,max_split_size_mb:128", "without effect", Severity.NOTE),
    ],
)
def test_what_torch_would_refuse(value: str, words: str, severity: Severity) -> None:
    (finding,) = findings(allocator, Facts(variables={NEW: value}))
    assert words in finding.message
    assert finding.severity is severity
    assert finding.kind == ("config-mismatch" if severity is Severity.ERROR else "no-effect")


@pytest.mark.parametrize(
    ("name", "version", "words"), [(NEW, "2.9.1", "does not read it yet"), (OLD, "2.13.0", "an alias of")]
)
def test_the_name_of_another_release_is_noted(name: str, version: str, words: str) -> None:
    facts = Facts(variables={name: "expandable_segments:True"}, packages=installed(torch=version))
    (finding,) = findings(allocator, facts)
    assert finding.severity is Severity.NOTE
    assert words in finding.message


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {NEW: "expandable_segments:True,max_split_size_mb:128,garbage_collection_threshold:0.8"},
        {NEW: "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]"},
        {NEW: "backend:cudaMallocAsync"},
        {NEW: ""},
    ],
)
def test_healthy(variables: dict[str, str]) -> None:
    assert silent(allocator, Facts(variables=variables, torch=torch()))


def test_unknown_is_skipped() -> None:
    assert skipped(allocator, Facts())
