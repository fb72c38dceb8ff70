"""A crash without a word: a release that is known for it comes first, then the libraries that the text calls."""

from __future__ import annotations

import pytest

from tests.rules.host.test_slow_run import judged

OLD = "- `datasets` version: 1.12.0\n- Python version: 3.8.10\n- PyArrow version: {}\n"


@pytest.mark.parametrize(
    "text",
    [
        "# Segfault with my JSON lines\n" + OLD.format("5.0.0"),
        "# The process ends with Segmentation fault (core dumped)\nds = load_dataset('json', data_files='x.jsonl')\n"
        + OLD.format("3.0.0"),
        "# Reading a corpus: exit by SIGSEGV\nSIGSEGV\n" + OLD.format("5.0.0"),
    ],
)
def test_a_release_that_is_known_to_crash(text: str) -> None:
    found = judged(text).root_cause
    assert found is not None
    assert (found.rule, found.subject, found.expected) == ("packages/known-broken", "pyarrow", "pyarrow>=6")


@pytest.mark.parametrize("version", ["6.0.1", "14.0.2"])
def test_a_later_release_is_not_blamed(version: str) -> None:
    text = "# Segmentation fault (core dumped)\nimport datasets\n" + OLD.format(version)
    assert "packages/known-broken" not in {one.rule for one in judged(text).findings}


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("import datasets\nds = datasets.load_from_disk('x')", "pyarrow"),
        ("import decord\nreader = decord.VideoReader('a.mp4')", "decord"),
        ("import cv2\nimage = cv2.imread('a.png')", "opencv-python"),
    ],
)
def test_the_library_that_is_called(code: str, part: str) -> None:
    found = judged(
        f"# The script crashes with a segmentation fault\n```\n{code}\n```\nSegmentation fault (core dumped)\n"
    )
    (crash,) = [one for one in found.findings if one.rule == "host/complained-of"]
    assert f"({part}) comes first" in crash.remedy.text


def test_a_text_without_any_is_told_the_rest() -> None:
    found = judged("# The script crashes with a segmentation fault\nNo more is printed.\n")
    (crash,) = [one for one in found.findings if one.rule == "host/complained-of"]
    assert crash.remedy.text.startswith("Run it under faulthandler")
