"""One meaning per letter and per word in all commands, held in a table: a new option finds its neighbours here."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from envdoctor.cli import envdoctor

WORDS: dict[str, tuple[str, ...]] = {
    # where and what
    "--env": ("The environment: a venv, a conda prefix or a python. Default: the active one.",
              "Only environments at or below PATH; the first is the default. Repeatable. Default: the active one, and "
              "those below the working directory."),
    "--target": ("A GPU (h100, cpu, ...), a target file, or auto: the GPU found.",
                 "A GPU to hold it against too. Default: general knowledge.",
                 "A GPU (h100, ...) or a target file. Default: all."),
    "--stack": ("Take this stack instead of the first one that the machine can run.",),
    "--python": ("Interpreter for what does not exist yet. Default: one that the lock is for.",),
    "--workload": ("What to time. Default: the target's own.",),
    "--folder": ("Of lockfiles. Default: the bundled ones; your own: ./locks",
                 "Of lockfiles. Where the lock and its wheels go."),
    "--from": ("Make a stack and a target of your own from this.", "Show the JSON of an earlier check or preflight."),
    # what is printed
    "--format": ("Of what is printed.", "Of what is printed. Default: text, or annotations under GitHub Actions."),
    "--output": ("Write the answer into a file too: text, json, junit, sarif, github, markdown, svg. Repeatable.",
                 "Write the answer into a file too: text, json, html. Repeatable.",
                 "Write the answer into this file (json).",
                 "Write the answer into this file (html).",
                 "Write the answer into this file (toml)."),
    "--verbose": ("Everything: notes, skipped rules, each figure.",),
    "--list": ("Show the states that are kept; change nothing.", "List the variants."),
    # what counts
    "--select": ("Only this rule or family. Repeatable.",),
    "--ignore": ("Leave out a rule or family. Repeatable.",),
    "--fail-on": ("Exit 1 from this severity on.",),
    "--strict": ("Fail on unstable and not-comparable too, instead of warning.",),
    "--steps": ("Steps of your run: shows its time.",),
    "--price": ("What the machine costs: shows the run's cost.",),
    "--processes": ("Fresh processes.", "Fresh processes at most; a clear case ends after the first."),
    "--rounds": ("Runs of each variant.", "Of --why."),
    # how far one goes
    "--yes": ("Do not ask before changing anything.",),
    "--force": ("Do it although processes are running from the environment.", "Do it although the environment is "
                "broken."),
    "--precision": ("Default: each target's own.", "Of the matrix products."),
    "--tokens": ("Tokens of a micro-batch.",
                 "Of one optimizer step: examples x length x accumulation, of one GPU."),
    "--with": ("Add extensions of the releases that fit this torch: flash-attn,liger-kernel ... Repeatable.",
               "Lock the stack with these extensions as its extras, as a stack and target of your own. Repeatable."),
    "--dry-run": ("Say what would be changed and how; change nothing.",),
    "--exact": ("Remove packages that are not in the lock.",),
    "--no-torch": ("Do not import torch (faster; precision and attention are not judged).",),
    "--deep": ("Hash every installed file against its RECORD.",),
}  # fmt: skip
"""What an option says of itself in the commands that have it. One that two commands have must stand here."""

LETTERS = {"-t": "--target", "-o": "--output", "-v": "--verbose", "-y": "--yes", "-n": "--dry-run", "-h": "--help"}


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


COMMANDS = dict(commands(envdoctor))
OPTIONS = [(name, p) for name, c in COMMANDS.items() for p in c.params if isinstance(p, click.Option)]


def test_all_commands_are_seen() -> None:
    assert {"init", "check", "fix", "undo", "preflight", "run", "train", "lock", "baseline limit"} <= set(COMMANDS)


def test_every_word_means_one_thing() -> None:
    seen: dict[str, list[tuple[str, str]]] = {}
    for command, option in OPTIONS:
        for word in option.opts:
            if word.startswith("--"):
                seen.setdefault(word, []).append((command, option.help or ""))
    for word, uses in seen.items():
        if word in WORDS:
            strange = [(command, said) for command, said in uses if said not in WORDS[word]]
            assert not strange, f"{word} means something else here; another word, or a line in WORDS"
        else:
            assert len({command.split()[0] for command, _ in uses}) == 1, f"{word} stands in no table: {uses}"
    assert set(WORDS) <= set(seen), "what no command has any more"


def test_every_letter_is_short_for_one_word() -> None:
    for command, option in OPTIONS:
        words = [word for word in option.opts if word.startswith("--")]
        for letter in (word for word in option.opts if not word.startswith("--")):
            assert LETTERS.get(letter) in words, f"{command}: {letter}"
        for letter, word in LETTERS.items():
            assert word not in words or letter in option.opts, f"{command}: {word} is {letter} elsewhere"


@pytest.mark.parametrize("word", ["--env", "--target", "--stack", "--yes", "--verbose", "--price", "--steps"])
def test_the_same_word_takes_the_same_things(word: str) -> None:
    kinds = {(type(o.type), o.metavar, o.is_flag) for _, o in OPTIONS if word in o.opts}
    assert len(kinds) == 1, kinds


def test_every_option_says_what_it_is() -> None:
    assert not [(command, option.name) for command, option in OPTIONS if not option.help]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example(name: str) -> None:
    said = COMMANDS[name].help or ""
    assert "Example" in said, "--help of a command begins with what one types"
    assert f"envdoctor {name}" in said or "envdoctor" in said
