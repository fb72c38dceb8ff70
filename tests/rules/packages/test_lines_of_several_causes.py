"""Lines with several causes: what they prove is told as certain, the causes as usual ones, and other lines get none."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding
from tests.rules.packages.test_known_errors import judged

REFUSED = "requests.exceptions.HTTPError: {} for url: https://{}/x/resolve/main/config.json"


def said_by(text: str, subject: str) -> list[Finding]:
    return [one for one in judged(f"{text}\n").findings if one.subject == subject]


@pytest.mark.parametrize(
    ("text", "subject", "proved", "usual"),
    [
        (
            "RuntimeError: makeDeviceForHostname(): unsupported gloo device",
            "gloo",
            "no transport",
            "torch 2.8 on Windows",
        ),
        (
            "RuntimeError: [enforce fail at gloo/x.cc] Unable to find address for: me",
            "gloo",
            "no address",
            "/etc/hosts",
        ),
        ("AssertionError: No inf checks were recorded for this optimizer.", "GradScaler", "has a gradient", "frozen"),
        (
            "RuntimeError: unscale_() has already been called on this optimizer since the last update().",
            "GradScaler",
            "twice within a step",
            "clipped twice",
        ),
        (
            "OSError: Cannot find empty port in range: 7860-7860",
            "port",
            "none of the ports",
            "no address of this machine",
        ),
        (
            "make[2]: *** [x.o] Error 137",
            "memory",
            "from outside",
            "the kernel did it",
        ),
        (
            "pygit2.GitError: repository path 'C:/apps/ui/' is not owned by current user",
            "git",
            "The folder C:/apps/ui belongs",
            "by an administrator",
        ),
    ],
)
def test_what_the_line_proves_comes_before_what_is_usual(text: str, subject: str, proved: str, usual: str) -> None:
    (found,) = said_by(text, subject)
    certain, likely = found.message.rsplit(" Usually ", 1)
    assert proved in certain
    assert usual in likely
    assert found.severity.word == "error"


@pytest.mark.parametrize(
    ("status", "subject"),
    [("403 Client Error: Forbidden", "access to the Hub"), ("404 Client Error", "the model's name")],
)
def test_what_another_server_refuses_is_no_matter_of_the_hub(status: str, subject: str) -> None:
    assert said_by(REFUSED.format(status, "huggingface.co"), subject)
    assert said_by(REFUSED.format(status, "cdn-lfs.hf.co"), subject)
    assert not said_by(REFUSED.format(status, "packages.example.org"), subject)


def test_a_line_of_code_is_not_the_error_that_advises_it() -> None:
    entry = "the script's entry"
    assert said_by('    The "freeze_support()" line can be omitted if the program is not going to be frozen', entry)
    assert not said_by("RuntimeError: x\n    multiprocessing.freeze_support()", entry)
