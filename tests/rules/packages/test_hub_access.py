"""Why the Hub gives no file: what is told of a login, a gated repository or a mirror decides what comes first."""

from __future__ import annotations

import pytest

from tests.rules.told import root, whole

REFUSED = "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: {}"
FILE = "https://huggingface.co/google/gemma-2-2b/resolve/main/config.json"
TOKEN = "fine-grained one without the permission"


@pytest.mark.parametrize(
    "told",
    [
        "I was granted access to the model yesterday.",
        "$ hf auth whoami\nsomebody",
        "The request was approved and I am logged in.",
        "huggingface-cli login",
        "我已经获得了访问权限",
    ],
)
@pytest.mark.parametrize("url", [FILE, "https://huggingface", "**https://huggingface.co/goo**"])
def test_a_refusal_after_a_login_is_the_tokens(told: str, url: str) -> None:
    found = root(told, REFUSED.format(url))
    assert found.subject == "access to the Hub"
    assert TOKEN in found.message


@pytest.mark.parametrize(
    "lines",
    [
        (REFUSED.format(FILE),),
        (REFUSED.format(FILE), "You must be logged in to see it. Please log in."),
        ("My request has not been approved yet.", REFUSED.format(FILE)),
        ("I am logged in.", f"GatedRepoError: 401 Client Error: Unauthorized for url: {FILE}"),
    ],
)
def test_without_a_login_or_without_a_token_it_is_not(lines: tuple[str, ...]) -> None:
    found = root(*lines)
    assert found.subject == "access to the Hub"
    assert TOKEN not in found.message


@pytest.mark.parametrize(
    "line",
    [
        "OSError: Can't load tokenizer for 'meta-llama/Llama-3.2-1B'. If you were trying to load it from 'https://x'",
        "OSError: google/gemma-2-2b is not a local folder and is not a valid model identifier listed on 'https://x'",
        "OSError: Can't load the configuration of 'mistralai/Mixtral-8x7B-v0.1'. If you were trying to load it",
        "OSError: Can't load the model for 'black-forest-labs/FLUX.1-dev'. If you were trying to load it from",
    ],
)
def test_gated_families_are_gated_first_and_never_said_to_be_absent(line: str) -> None:
    found = root(line)
    assert "is not found" not in found.message
    assert "Usually the repository is a gated one" in found.message
    assert "Accept the terms" in whole(found)


def test_another_name_keeps_its_candidates() -> None:
    found = root("OSError: Can't load tokenizer for 'my-own/model'. If you were trying to load it from 'https://x'")
    assert found.subject == "the model's name"
    assert "does not reach the Hub" in found.message
    assert "a local folder's path is wrong" in found.message


@pytest.mark.parametrize(
    "line",
    [
        "huggingface_hub.errors.FileMetadataError: Distant resource does not have a Content-Length.",
        "镜像报错：OSError: Distant resource does not have an ETag, we won't be able to ensure reproducibility.",
        "FileMetadataError: Distant resource does not seem to be on huggingface.co.",
    ],
)
def test_a_header_that_is_not_there_is_the_servers(line: str) -> None:
    found = root(line)
    assert (found.subject, found.who) == ("a mirror or proxy", "host")
    assert "HF_ENDPOINT" in whole(found)
