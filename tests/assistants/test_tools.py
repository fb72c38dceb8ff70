"""The tools of an assistant: their words, bounds and answers, without the SDK."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from envdoctor.assistants.answers import answer
from envdoctor.assistants.bounds import LIMIT, fit_to_size, fitted_text, places, require_place
from envdoctor.assistants.tools import TOOLS, tools_by_name
from envdoctor.errors import Trouble
from envdoctor.render.document import document
from envdoctor.system.process import Outcome
from tests.render.checkups import checkup

TOOL = {tool.name: tool for tool in TOOLS}


def ended(out: str = "", err: str = "", code: int = 0) -> Outcome:
    return Outcome(argv=("envdoctor",), code=code, out=out, err=err, seconds=0.1)


def test_changes_are_not_offered_unless_allowed() -> None:
    assert "fix" not in tools_by_name(changes=False)
    assert [name for name, tool in tools_by_name(changes=True).items() if tool.changes] == ["fix"]
    assert TOOL["fix"].required == ("plan",)
    assert TOOL["verify"].required == ("limit_seconds",)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_are_schemas_of_objects(tool: object) -> None:
    for schema in (tool.input_schema, tool.output_schema):  # type: ignore[attr-defined]
        if schema is not None:
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("check", {"env": "a\x00b"}),
        ("check", {"env": ""}),
        ("check", {"env": "x" * 5000}),
        ("check", {"env": ["/"]}),
        ("check", {"target": "--yes"}),
        ("check", {"target": "../../secret.toml"}),
        ("check", {"target": "h100\n"}),
        ("check", {"force": True}),
        ("diagnose", {}),
        ("diagnose", {"text": 5}),
        ("explain", {"rule": "--help"}),
        ("explain", {"rule": "../x"}),
        ("fit", {}),
        ("fit", {"model": "a\x00b"}),
        ("fit", {"model": "m", "lora_rank": -1}),
        ("fit", {"model": "m", "price": "--yes"}),
        ("fit", {"model": "m", "task": "gritlm"}),
        ("verify", {}),
        ("verify", {"limit_seconds": 10**9}),
        ("verify", {"limit_seconds": "60"}),
        ("fix", {}),
        ("fix", {"plan": "yes"}),
        ("fix", {"plan": True}),
    ],
)
def test_hostile_arguments_do_not_keep_to_the_schema(name: str, given: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(given, TOOL[name].input_schema)


def test_no_value_is_taken_for_an_option() -> None:
    words = TOOL["plan"].words({"env": "--yes", "exact": True})
    assert words == ("fix", "--format=json", "--dry-run", "--exact", "--env=--yes")
    assert "--yes" in TOOL["fix"].words({"plan": "0" * 32})
    assert "--yes" not in TOOL["plan"].words({"plan": "0" * 32})


def test_only_environments_of_the_server_are_examined(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    (mine / "env" / "bin").mkdir(parents=True)
    other.mkdir()
    (mine / "link").symlink_to(other)
    (mine / "env" / "bin" / "python").symlink_to("/bin/sh")
    allowed = places((mine,), {}, tmp_path)
    for path in ("env", "env/bin/python", "new"):
        require_place(str(mine / path), allowed)
    for path in (other, mine / "link", mine / ".." / "other", Path("/"), Path("/etc")):
        with pytest.raises(Trouble, match="lies in none of the folders"):
            require_place(str(path), allowed)


def test_a_server_started_in_the_root_folder_does_not_allow_everything() -> None:
    with pytest.raises(Trouble):
        require_place("/etc", places((), {}, Path("/")))


def test_findings_are_an_answer_whatever_the_exit_code() -> None:
    found = document(checkup())
    told = answer(TOOL["check"], ended(json.dumps(found), code=1), changes=False)
    assert not told.error
    assert told.document is not None
    assert [one["rule"] for one in told.document["findings"]] == [one["rule"] for one in found["findings"]]
    assert told.document["target"] == found["target"]
    assert found["findings"][0]["rule"] in told.text


def test_a_refusal_is_an_error_in_the_commands_words() -> None:
    told = answer(
        TOOL["check"], ended(err="... examining\nenvdoctor: /x: there is no environment\n", code=3), changes=False
    )
    assert told.error
    assert told.document is None
    assert told.text == "envdoctor: /x: there is no environment"


def test_answers_are_bounded_and_keep_to_their_schema() -> None:
    found = document(checkup())
    (one, *_) = found["findings"]
    found["findings"] = [{**one, "message": "x" * 400} for _ in range(3000)]
    told = answer(TOOL["check"], ended(json.dumps(found), code=1), changes=False)
    assert len(json.dumps(told.document)) <= LIMIT
    assert len(told.text) < LIMIT + 200
    assert "cut to fit" in told.text
    jsonschema.validate(told.document, TOOL["check"].output_schema)


def test_no_secret_is_told() -> None:
    secret = "hf_" + "a1B2" * 8
    found, _ = fit_to_size({"message": f"token {secret}", "more": [f"https://me:{secret}@host.example/x"]})
    assert secret not in json.dumps(found)
    assert secret not in fitted_text(f"password={secret} \x1b[31m")
    assert "\x1b" not in fitted_text("\x1b[31mred")


def test_a_plan_is_named_to_whoever_may_agree_to_it() -> None:
    change = {"changed": False, "dry_run": True, "strategy": "exchange", "plan": "ab" * 16, "packages": [
        {"name": "torch", "before": "2.4.0", "after": "2.13.0"}]}  # fmt: skip
    out = json.dumps({"schema": 1, "change": change})
    assert f"call fix with plan={'ab' * 16}" in answer(TOOL["plan"], ended(out), changes=True).text
    assert f"envdoctor fix --plan {'ab' * 16}" in answer(TOOL["plan"], ended(out), changes=False).text
