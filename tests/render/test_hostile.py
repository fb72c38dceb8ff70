"""Names that want to be commands, links, mentions or markup, planted in every field of the facts that a rule looks at.

Every rule is asked about its own example, once for each text in it, with that text made hostile. What comes out as a
command is really run, in a shell that knows one program; what comes out as a report is really parsed.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from envdoctor.commands._show import plain
from envdoctor.facts.model import DamagedFile, Distribution, Facts, Origin, Packages
from envdoctor.locks.target import Target
from envdoctor.render.document import document
from envdoctor.render.formats import FORMATS, render_checkup
from envdoctor.render.html import page
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.plan import Plan
from envdoctor.rules.rule import Finding, Severity
from tests.rules.examples import EXAMPLES
from tests.rules.judging import NOTHING

RULES = {rule.name: rule for rule in load_rules()}

COMMANDS = (
    "x'; touch PWNED; '",
    'x"; touch PWNED; "',
    "$(touch PWNED)",
    "`touch PWNED`",
    "x; touch PWNED #",
    "x & touch PWNED &",
    "x | touch PWNED",
    "x\ntouch PWNED\n",
    "-x; touch PWNED",
    "x\x1b[2K\rtouch PWNED\r",
)
MARKUP = (
    "[PWNED](https://evil.example/x) @org/team #12",
    "![PWNED](http://evil.example/x.png) www.evil.example",
    "<script>PWNED()</script><img src=x onerror=PWNED()><a href='javascript:PWNED()'>x</a>",
    "PWNED]]>--><b>&lt;</b>\"'><svg onload=PWNED()> mailto:PWNED@evil.example",
    "PWNED | x |\n\n# PWNED\n```\n</pre>\n::error::PWNED\n",
    "PWNED\x1b]8;;https://evil.example\x07link\x1b]8;;\x07 \x9b31m \u202e \ufffe \ud800 {0} [x](0) \x00",
    "``PWNED` [x](https://evil.example) `` @org *PWNED* __PWNED__ https://evil.example/y",
)


def _more(texts: Sequence[str]) -> list[Any]:
    """Each asks all rules about all texts of their examples, which takes seconds: most of them when there is time."""
    return [pytest.param(text, marks=pytest.mark.slow) for text in texts]


def planted(value: Any, text: str) -> Iterator[Any]:
    """Copies of a nest of facts, each with one of its texts (or keys) made hostile: instead of it, and after it."""
    if isinstance(value, str):
        yield from (text, value + text)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            if field.name not in ("kind", "why", "path_type", "damage_checked", "language"):  # closed sets of our own
                for changed in planted(getattr(value, field.name), text):
                    yield replace(value, **{field.name: changed})
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield {**value, f"{key}{text}": member}
            for changed in planted(member, text):
                yield {**value, key: changed}
    elif isinstance(value, tuple):
        for index, member in enumerate(value):
            for changed in planted(member, text):
                yield (*value[:index], changed, *value[index + 1 :])


def hostile(text: str) -> Iterator[Finding]:
    """What the rules find in their own examples, once with each of the texts planted."""
    for name, (facts, target) in EXAMPLES.items():
        if name.startswith("script/"):
            continue  # the user's own script, quoted back: its lines are code for an editor, not for a shell
        for one in planted(replace(facts, origin=replace(facts.origin, environment="~/env")), text):
            yield from diagnose(one, target, [RULES[name]]).findings
        for aim in planted(target, text):
            if isinstance(aim, Target):
                yield from diagnose(facts, aim, [RULES[name]]).findings


@functools.cache
def findings(text: str) -> tuple[Finding, ...]:
    """Those that hold anything of it, each once."""
    return tuple(dict.fromkeys(f for f in hostile(text) if "PWNED" in repr(f)))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Any]:
    """Runs a command where nothing can be started but `touch`; answers what it left."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "touch").symlink_to(shutil.which("touch") or "/bin/touch")
    place = tmp_path / "place"
    place.mkdir()

    def run(command: str) -> list[str]:
        for name in ("sh", "bash"):
            subprocess.run(
                [shutil.which(name) or "/bin/sh", "-c", command],
                cwd=place,
                env={"PATH": str(programs), "HOME": str(place)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=20,
                check=False,
            )
        return os.listdir(place)

    return run


def test_the_shell_of_these_tests_would_tell(shell: Any) -> None:
    assert shell("python -m pip install 'x'; touch PWNED; '==1.0'") == ["PWNED"]


@pytest.mark.parametrize("text", [COMMANDS[0], COMMANDS[2], *_more((COMMANDS[1], *COMMANDS[3:]))])
def test_no_name_becomes_a_command(text: str, shell: Any) -> None:
    commands = {command for found in findings(text) for command in found.remedy.commands}
    assert all(command.isprintable() for command in commands)
    for command in sorted(command for command in commands if "PWNED" in command):
        assert shell(command) == [], command


def test_a_name_that_is_none_gets_no_command() -> None:
    """As it was attacked: a METADATA whose Name ends the quotation."""
    name = "x'; touch PWNED; '"
    packages = Packages(
        distributions=(Distribution(name=name, version="1.0"),),
        damaged=(DamagedFile(distribution=name, kind="missing-file", path="x/__init__.py"),),
        damage_checked="sizes",
    )
    (found,) = diagnose(Facts(packages=packages), NOTHING, [RULES["packages/damaged"]]).findings
    assert found.remedy.commands == ()
    good = dataclasses.replace(
        packages,
        distributions=(Distribution(name="good-name", version="1.0"),),
        damaged=(DamagedFile(distribution="good-name", kind="missing-file", path="x/__init__.py"),),
    )
    (found,) = diagnose(Facts(packages=good), NOTHING, [RULES["packages/damaged"]]).findings
    assert found.remedy.commands == ("python -m pip install 'good-name==1.0' --force-reinstall --no-deps",)


def examined(text: str) -> Checkup:
    found = findings(text)
    facts = Facts(origin=Origin(environment=f"~/{text}"))
    diagnosis = replace(diagnose(facts, NOTHING, ()), findings=found, root_cause=found[0], judged=1)
    target = Target(name=text, title=text, no_choice=text)
    return Checkup(
        facts=facts, target=target, target_reason=text, diagnosis=diagnosis, plan=Plan(), rules=tuple(RULES.values())
    )


@functools.cache
def made(format_: str, text: str) -> str:
    if format_ == "html":
        return page(document(examined(text)))
    if format_ == "text":
        return plain(examined(text), verbose=True)
    return render_checkup(format_, examined(text), Severity.NOTE)


everywhere = pytest.mark.parametrize(
    "text", [MARKUP[0], MARKUP[5], *_more(MARKUP[1:5]), *_more((*MARKUP[6:], *COMMANDS))]
)
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


@pytest.mark.parametrize("text", [MARKUP[0], *_more(MARKUP[1:])])
def test_much_of_it_gets_through_the_rules(text: str) -> None:
    assert len({found.rule for found in findings(text)}) > 40


@pytest.mark.parametrize("format_", [*FORMATS, "html"])
@everywhere
def test_a_terminal_is_told_nothing(format_: str, text: str) -> None:
    report = made(format_, text)
    assert not FORBIDDEN.search(report)
    report.encode("utf-8")


@everywhere
def test_annotations_are_ours_alone(text: str) -> None:
    lines = made("github", text).splitlines()
    assert lines
    assert all(re.match(r"::(?:error|warning) (?:file=[^,:]*,line=\d+,)?title=[\w/% -]+::", line) for line in lines)


@everywhere
def test_markdown_has_no_links_no_pictures_no_mentions_and_no_html(text: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(made("markdown", text))
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inline)}
    assert not kinds & {"link_open", "image", "html_inline", "html_block", "em_open", "hr"}
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h3"]
    assert {token.info for token in tokens if token.type == "fence"} <= {"sh"}
    rows = sum(token.type == "tr_open" for token in tokens)
    assert rows == len(findings(text)) + 1
    shown = "\n".join(child.content for child in inline if child.type == "text")
    assert not re.search(r"@\w|https?://|www\.\w|mailto:\w|#\d", shown)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


@everywhere
def test_html_has_no_tags_but_ours(text: str) -> None:
    parser = Tags()
    parser.feed(made("html", text))
    assert parser.tags <= set(
        "html head meta title style body main p h1 h2 h3 div span pre details summary table tr td th".split()
    )
    assert parser.attributes <= {"lang", "charset", "name", "content", "class"}


@everywhere
def test_svg_and_junit_have_no_elements_but_ours(text: str) -> None:
    svg = {element.tag.rpartition("}")[2] for element in ET.fromstring(made("svg", text)).iter()}
    assert svg <= set("svg style defs clipPath rect text g circle".split())
    junit = {element.tag for element in ET.fromstring(made("junit", text)).iter()}
    assert junit <= {"testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"}


@everywhere
def test_sarif_has_no_links_and_no_placeholders(text: str) -> None:
    (run,) = json.loads(made("sarif", text))["runs"]
    for result in run["results"]:
        message = result["message"]["text"]
        assert not re.search(r"(?<!\\)(?:\\\\)*[\[\]]", message), message
        assert not re.search(r"(?<!\{)(?:\{\{)*\{(?!\{)\d", message), message
