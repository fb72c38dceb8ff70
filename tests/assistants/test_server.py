"""The server as an assistant meets it: by the SDK's own client, over standard input and output."""

from __future__ import annotations

import json
import os
import signal
import sys
import venv
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
anyio = pytest.importorskip("anyio")

from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client  # noqa: E402

from tests.change.conftest import make_world, write_target  # noqa: E402
from tests.models.test_architecture import PUBLISHED  # noqa: E402

PASTED = "PyTorch version: 2.4.0+cpu\nIs debug build: False\nCUDA used to build PyTorch: None\nOS: Ubuntu 22.04\n"


@asynccontextmanager
async def client(folder: Path, *words: str | Path) -> AsyncIterator[ClientSession]:
    program = Path(sys.executable).parent / "envdoctor"
    env = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    server = StdioServerParameters(command=str(program), args=["mcp", *map(str, words)], cwd=folder, env=env)
    async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        await session.initialize()
        yield session


def talk(conversation: Callable[[], Any]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(240):
            await conversation()

    anyio.run(bounded)


def text(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    path = tmp_path / "env"
    venv.create(path, with_pip=False)
    return path


def descendants(process: int) -> set[int]:
    """Processes below this one, from /proc."""
    parents: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            state, parent = stat.rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(entry.name)] = int(parent)
    found, waiting = set(), [process]
    while waiting:
        above = waiting.pop()
        below = [one for one, parent in parents.items() if parent == above]
        found.update(below)
        waiting += below
    return found


async def until(true: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not true():
            await anyio.sleep(0.05)


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_conversation(tmp_path: Path, empty: Path) -> None:
    async def conversation() -> None:
        async with client(tmp_path, "--env", empty) as session:
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert list(tools) == ["check", "diagnose", "explain", "plan", "fit", "verify"]
            assert all(tool.annotations.read_only_hint for tool in tools.values())
            # The client holds each document to the tool's schema itself, and raises where it does not keep to it.
            checked = await session.call_tool("check", {"target": "cpu"})
            assert checked.structured_content["outcome"] == "findings"
            assert "packages/missing" in text(checked)
            diagnosed = await session.call_tool("diagnose", {"text": PASTED})
            assert diagnosed.structured_content["environment"]["torch"] == "2.4.0+cpu"
            explained = await session.call_tool("explain", {"rule": "precision/float32-matmul"})
            assert text(explained).startswith("precision/float32-matmul")
            planned = await session.call_tool("plan", {"target": "cpu"})
            change = planned.structured_content["change"]
            assert (change["changed"], change["dry_run"], len(change["plan"])) == (False, True, 32)
            again = await session.call_tool("plan", {"target": "cpu", "env": str(empty)})
            assert again.structured_content["change"]["plan"] == change["plan"]

    talk(conversation)


def test_will_it_fit(tmp_path: Path, empty: Path) -> None:
    family, config, count = PUBLISHED["Qwen2.5 0.5B"]
    for folder in (empty, tmp_path / "elsewhere"):
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps({"model_type": family, **config}))

    async def conversation() -> None:
        async with client(tmp_path, "--env", empty) as session:
            told = await session.call_tool(
                "fit", {"model": str(empty), "target": "rtx4090", "steps": 1000, "price": "$0.35/h", "lora_rank": 16}
            )
            assert not told.is_error, text(told)
            assert told.structured_content["outcome"] == "fits"
            assert told.structured_content["model"]["parameters"] == count
            assert told.structured_content["cheapest"] == ["rtx4090"]
            assert "largest micro-batch" in text(told)
            big = await session.call_tool(
                "fit", {"model": str(empty / "config.json"), "target": "t4", "tokens": 1 << 24}
            )
            assert big.structured_content["outcome"] == "does-not-fit"  # an answer, not an error
            for given in (
                {"model": str(tmp_path / "elsewhere")},
                {"model": str(tmp_path / "elsewhere" / "config.json")},
                {"model": f"{empty}/../elsewhere"},
                {"model": "/etc/passwd"},
                {"model": "--help"},
                {"model": str(empty), "target": "h1000"},
                {"model": str(empty), "price": "$1/h"},
            ):
                refused = await session.call_tool("fit", given)
                assert refused.is_error, given
                assert refused.structured_content is None
                assert 0 < len(text(refused)) < 2000

    talk(conversation)


def test_hostile_calls_are_refused_and_the_server_goes_on(tmp_path: Path, empty: Path) -> None:
    (tmp_path / "envdoctor.py").write_text("raise SystemExit('the working directory was imported')")
    elsewhere = tmp_path / "elsewhere"
    venv.create(elsewhere, with_pip=False)

    async def conversation() -> None:
        async with client(tmp_path, "--env", empty) as session:
            for name, given in (
                ("check", {"env": str(elsewhere)}),
                ("check", {"env": f"{empty}/../elsewhere"}),
                ("check", {"env": "/"}),
                ("check", {"env": "a\x00b"}),
                ("check", {"target": "--help"}),
                ("check", {"target": "h1000"}),
                ("explain", {"rule": "no/such-rule"}),
                ("diagnose", {"text": "\x1b]0;title\x07 nothing known"}),
                ("fix", {"plan": "0" * 32}),
                ("verify", {"limit_seconds": 0}),
                ("no-such-tool", {}),
            ):
                refused = await session.call_tool(name, given)
                assert refused.is_error, name
                assert refused.structured_content is None
                assert 0 < len(text(refused)) < 2000
                assert "\x1b" not in text(refused)
                assert "Traceback" not in text(refused)
            assert not (await session.call_tool("explain", {"rule": "float32-matmul"})).is_error

    talk(conversation)


def test_two_calls_at_once(tmp_path: Path, empty: Path) -> None:
    async def conversation() -> None:
        answers: dict[str, Any] = {}

        async with client(tmp_path, "--env", empty) as session:

            async def ask(key: str, name: str, given: dict[str, Any]) -> None:
                answers[key] = await session.call_tool(name, given)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, "one", "diagnose", {"text": PASTED})
                tasks.start_soon(ask, "other", "diagnose", {"text": PASTED.replace("2.4.0", "2.5.1")})
                tasks.start_soon(ask, "third", "check", {"target": "cpu", "torch": False})
        assert answers["one"].structured_content["environment"]["torch"] == "2.4.0+cpu"
        assert answers["other"].structured_content["environment"]["torch"] == "2.5.1+cpu"
        assert answers["third"].structured_content["environment"]["origin"] == "probe"

    talk(conversation)


@pytest.mark.slow
def test_a_call_that_is_cancelled_ends_its_processes(tmp_path: Path) -> None:
    async def conversation() -> None:
        told: list[str] = []

        async with client(tmp_path) as session:
            (server,) = descendants(os.getpid())

            async def progress(count: float, total: float | None, message: str | None) -> None:
                told.append(message or "")

            async with anyio.create_task_group() as tasks:

                async def train() -> None:
                    await session.call_tool(
                        "verify", {"target": "cpu", "limit_seconds": 200}, progress_callback=progress
                    )

                tasks.start_soon(train)
                await until(lambda: any("timing" in text for text in told) and len(descendants(server)) >= 2)
                tasks.cancel_scope.cancel()
            await until(lambda: not descendants(server))
            assert not (await session.call_tool("explain", {"rule": "float32-matmul"})).is_error

    talk(conversation)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["closed", "SIGTERM", "SIGKILL"])
def test_nothing_is_left_of_a_server_that_ends_in_the_middle_of_a_call(tmp_path: Path, ending: str) -> None:
    async def conversation() -> None:
        seen: set[int] = set()
        told: list[str] = []

        async def progress(count: float, total: float | None, message: str | None) -> None:
            told.append(message or "")

        with anyio.CancelScope() as scope:
            async with client(tmp_path) as session, anyio.create_task_group() as tasks:
                (server,) = descendants(os.getpid())

                async def train() -> None:
                    with suppress(MCPError):  # the connection is closed
                        await session.call_tool(
                            "verify", {"target": "cpu", "limit_seconds": 200}, progress_callback=progress
                        )

                tasks.start_soon(train)
                await until(lambda: any("timing" in text for text in told) and len(descendants(server)) >= 2)
                seen = {server, *descendants(server)}
                if ending != "closed":
                    os.kill(server, signal.Signals[ending])
                    await until(lambda: not any(map(alive, seen)))
                scope.cancel()
        await until(lambda: not any(map(alive, seen)))

    talk(conversation)


@pytest.mark.slow
def test_a_limit_ends_a_training(tmp_path: Path) -> None:
    async def conversation() -> None:
        async with client(tmp_path) as session:
            (server,) = descendants(os.getpid())
            late = await session.call_tool("verify", {"target": "cpu", "limit_seconds": 3})
            assert late.is_error
            assert "no answer within 3 s" in text(late)
            assert not descendants(server)

    talk(conversation)


def test_a_change_needs_the_name_of_its_plan(tmp_path: Path) -> None:
    """Of an environment that does not exist: refused before anything is made."""
    new = tmp_path / "new"

    async def conversation() -> None:
        async with client(tmp_path, "--env", new, "--allow-changes") as session:
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert tools["fix"].annotations.destructive_hint
            refused = await session.call_tool("fix", {"target": "cpu", "plan": "0" * 32})
            assert refused.is_error
            assert "the plan is now" in text(refused)
            assert not new.exists()
            plan = (await session.call_tool("plan", {"target": "cpu"})).structured_content["change"]["plan"]
            assert plan in text(refused)
            assert not new.exists()

    talk(conversation)


def test_a_change_that_was_agreed_to_is_made_and_another_is_not(tmp_path: Path) -> None:
    """With real wheels: the plan's name is good for this plan alone, and not once more after it was carried out."""
    world = make_world(tmp_path)
    target = write_target(world, tmp_path / "locks")
    defaults = 'select = ["packages", "variables"]\nignore = ["packages/no-pip"]\n'
    (tmp_path / "envdoctor.toml").write_text(f'target = "{target}"\n{defaults}')

    async def conversation() -> None:
        async with client(tmp_path, "--env", world.environment, "--allow-changes") as session:
            planned = await session.call_tool("plan", {})
            assert not planned.is_error, text(planned)
            plan = planned.structured_content["change"]["plan"]
            assert f"call fix with plan={plan}" in text(planned)
            exact = await session.call_tool("fix", {"plan": plan, "exact": True})
            assert exact.is_error
            assert world.version("alpha") == "1.0"
            made = await session.call_tool("fix", {"plan": plan})
            assert made.structured_content["change"]["changed"], text(made)
            assert world.version("alpha") == "2.0"
            again = await session.call_tool("fix", {"plan": plan})
            assert again.structured_content["change"]["changed"] is False

    talk(conversation)
