"""How image files are read: continued lines, here-documents, variables, stages; and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.facts.images import devcontainer, dockerfile, services
from envdoctor.facts.images.files import load
from envdoctor.rules.image._installs import installs


def parsed(*lines: str) -> dockerfile.Dockerfile:
    return dockerfile.read("\n".join(lines) + "\n", "Dockerfile")


def wanted(*lines: str) -> list[tuple[str, str, int]]:
    """Name, version and line of everything that the last stage installs."""
    file = parsed(*lines)
    return [(one.name, one.version, one.line) for install in installs(file.last) for one in install.wanted]


def test_a_continued_line_keeps_its_numbers_through_comments_and_blank_lines() -> None:
    file = ("FROM a", "RUN pip install \\", "  # why", "", "  torch==2.6.0 \\", "  numpy==2.0.0")
    assert wanted(*file) == [("torch", "2.6.0", 5), ("numpy", "2.0.0", 6)]


def test_another_escape_character() -> None:
    assert wanted("# escape=`", "FROM a", "RUN pip install `", "  torch==2.6.0") == [("torch", "2.6.0", 4)]


def test_a_here_document_is_a_script_only_where_a_shell_reads_it() -> None:
    script = ("FROM a", "RUN <<-EOT bash", "\tset -e", "\tpip install torch==2.6.0", "\tEOT", "USER x")
    assert wanted("FROM a", "RUN <<EOT", "pip install torch==2.6.0", "EOT") == [("torch", "2.6.0", 3)]
    assert wanted("FROM a", "RUN python3 <<EOT", "pip install torch==2.6.0", "EOT") == []
    assert wanted("FROM a", "COPY <<EOT /x", "RUN pip install torch==2.6.0", "EOT") == []
    assert parsed(*script).last.instructions[-1].name == "USER"


def test_arguments_and_variables_are_put_in() -> None:
    file = ("ARG V=12.4.1", "FROM nvidia/cuda:${V}-devel-ubuntu22.04", "ARG V", "ARG T", "ENV N=2.6.0 M=$V",
            "RUN pip install torch==${N} a==${T:-1.0} b==$UNKNOWN c==$M")  # fmt: skip
    assert parsed(*file).last.base.text == "nvidia/cuda:12.4.1-devel-ubuntu22.04"
    assert [(name, version) for name, version, _ in wanted(*file)] == [
        ("torch", "2.6.0"),
        ("a", "1.0"),
        ("c", "12.4.1"),
    ]


def test_a_variable_of_the_environment_outlasts_an_argument_of_its_name() -> None:
    assert wanted("FROM a", "ENV T=2.6.0", "ARG T=2.5.0", "RUN pip install torch==$T") == [("torch", "2.6.0", 4)]


def test_old_environment_form_keeps_its_spaces() -> None:
    assert parsed("FROM a", "ENV GREETING hello to  all").last.environment["GREETING"].text == "hello to  all"


def test_stages_are_followed_by_name_and_by_number() -> None:
    file = parsed("FROM a AS one", "FROM b AS two", "FROM c AS unused", "FROM ONE AS last", "COPY --from=1 /x /x")
    assert [stage.base.text for stage in file.shipped] == ["a", "ONE"]
    assert [stage.name for stage in file.used] == ["one", "two", "last"]


def test_a_later_stage_has_the_environment_of_its_parent_and_not_its_arguments() -> None:
    file = parsed("FROM a AS one", "ENV E=1", "ARG A=2", "FROM one", "RUN echo $E$A")
    assert file.last.instructions[0].commands[0].texts == ("echo", "1$A")


@pytest.mark.parametrize(
    "command",
    ["pip3 install torch==2.6.0", "python -m pip install torch==2.6.0", "uv pip install --system torch==2.6.0",
     "/opt/v/bin/pip install -q torch==2.6.0", "sudo pip install 'torch == 2.6.0'", "A=1 pip install torch[x]==2.6.0",
     "cd /x && pip install torch==2.6.0", "bash -c true; pip --no-input install torch==2.6.0",
     "pip install -i https://a/simple -r r.txt torch==2.6.0", "bash -lc 'cd /x && pip install torch==2.6.0'",
     '["/bin/sh", "-c", "pip install torch==2.6.0"]'],
)  # fmt: skip
def test_commands_that_install(command: str) -> None:
    assert wanted("FROM a", f"RUN {command}") == [("torch", "2.6.0", 2)]


@pytest.mark.parametrize(
    "command", ["pip download torch==2.6.0", "echo pip install torch", "pip list", "# pip install x"]
)
def test_commands_that_do_not(command: str) -> None:
    assert wanted("FROM a", f"RUN {command}\nUSER x") == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("Dockerfile", "RUN x\n", "before the first FROM"),
        ("Dockerfile", "# nothing\n", "no FROM"),
        ("Dockerfile", "FROM a\nINSTALL torch\n", "line 2"),
        ("Dockerfile", "FROM a b\n", "line 1"),
        ("compose.yaml", "services:\n  a: [\n", "line 3"),
        ("compose.yaml", "", "nothing in it"),
        ("compose.yaml", "a: &a [*a]\n", "nested too deeply"),
        ("devcontainer.json", '{"image": "a"\n "x": 1}', "line 2"),
        ("Dockerfile", "\x00\xff", "UTF-8"),
    ],
)
def test_what_cannot_be_read_is_refused_by_file_and_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(Trouble) as caught:
        load([path])
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_aliases_by_the_thousand_are_read_once_each() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    assert services.compose(bomb, "compose.yaml") == ()


def steps(text: str) -> list[tuple[str, int]]:
    """Each command that a devcontainer runs, in order, with its line."""
    parsed = devcontainer.commands_of(text, "devcontainer.json")
    return [(" ".join(one.texts), one.line) for step in parsed.last.instructions for one in step.commands]


def test_commands_of_a_devcontainer_run_in_the_order_of_its_life() -> None:
    text = """{ "image": "a",
      "postAttachCommand": "e",
      "postStartCommand": ["d", "x y"],
      "postCreateCommand": { "one": "c $N", "two": ["f"] },
      "onCreateCommand": "a && A=1 b\\nb2",
      "initializeCommand": "on the host",
      "containerEnv": { "N": "1" } }"""
    assert steps(text) == [("a", 5), ("b", 5), ("b2", 5), ("c 1", 4), ("f", 4), ("d x y", 3), ("e", 2)]


def test_commands_of_one_object_are_beside_each_other_and_no_others() -> None:
    text = '{"onCreateCommand": {"a": "a", "b": "b"}, "postCreateCommand": "c"}'
    parsed = devcontainer.commands_of(text, "devcontainer.json")
    assert [step.beside for step in parsed.last.instructions] == ["onCreateCommand", "onCreateCommand", ""]


@pytest.mark.parametrize("value", ["null", "3", "[]", "{}", '""', "[[1]]", '{"a": {"b": "c"}}', "[{}]", '{"a": null}'])
def test_commands_of_other_shapes_are_passed_over(value: str) -> None:
    assert all(
        line == 1 for _, line in steps(f'{{"postCreateCommand": {value}, "features": {value}, "runArgs": {value}}}')
    )


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="RUNFMpip install\\\n\"'$(){}<>#&|;=-EOT ", max_size=200))
def test_no_text_is_too_odd(text: str) -> None:
    """A Dockerfile or one clear error: nothing else comes out, and it ends."""
    try:
        file = dockerfile.read("FROM a\n" + text, "Dockerfile")
    except Trouble:
        return
    for stage in file.stages:
        list(installs(stage))
