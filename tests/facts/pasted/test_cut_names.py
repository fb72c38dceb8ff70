"""A report that ends within a name, releases that are joined to their names, and what was built when pip stopped."""

from envdoctor.facts.model import Packages
from envdoctor.facts.pasted import read


def test_a_name_that_is_cut_off_is_not_read() -> None:
    whole = "RuntimeError: Failed to import diffusers.models.vae because of the following error:"
    assert read(f"{whole}\nNo module named 'transformers.mo").messages == (whole,)
    assert "No module named 'transformers.moe'" in read(f"{whole}\nNo module named 'transformers.moe'").messages


def test_what_stands_before_a_cut_off_name_is_read() -> None:
    assert read("import it\nRuntimeError: it has moved: cannot import name 'is_to").messages == (
        "RuntimeError: it has moved",
    )


def test_an_error_between_quotes_is_no_string_of_code() -> None:
    line = "'DynamicCache' object has no attribute 'get_max_length'"
    assert read(f"# {line}").messages == (line,)
    assert read("'cannot open the file',\nKilled").messages == ("Killed",)


def test_a_release_behind_a_hyphen() -> None:
    facts = read("transformers-4.49.0\npython-3.10\nImportError: cannot import name 'x' from 'y'")
    assert isinstance(facts.packages, Packages)
    assert facts.packages.version("transformers") == "4.49.0"
    facts = read("ERROR: cannot unpack /src/transformers-4.49.0/setup.py, peft-0.1.0.tar.gz")
    assert not isinstance(facts.packages, Packages) or facts.packages.version("transformers") is None


def test_what_was_built_when_pip_stopped() -> None:
    log = """
Collecting detectron2 (from -r requirements.txt (line 5))
  Preparing metadata (setup.py) ... error
  error: subprocess-exited-with-error
"""
    assert any(line.startswith("Failed building wheel for detectron2 [in") for line in read(log).messages)


def test_a_name_that_the_code_line_has_whole_is_whole() -> None:
    text = 'Traceback (most recent call last):\n  File "/v/spam/a.py", line 3, in <module>\n    from ham import {}\n{}'
    last = "ImportError: cannot import name 'egg_tools"
    assert any("'egg_tools' from 'ham'" in one for one in read(text.format("egg, egg_tools", last)).messages)
    assert not any("egg_tools" in one for one in read(text.format("egg_tools, egg_tools_new", last)).messages)


def test_an_argument_that_tables_know_is_whole_though_its_quote_is_cut_off() -> None:
    frame = '  File "/v/site-packages/openai/_client.py", line 9, in __init__\n    http_client or httpx.Client(\n'
    (line,) = read(f"{frame}TypeError: __init__() got an unexpected keyword argument 'proxies").messages
    assert "unexpected keyword argument 'proxies'" in line
