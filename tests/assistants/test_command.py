"""`envdoctor mcp` where the SDK is not installed, and what it costs those who do not call it."""

from __future__ import annotations

import sys

from envdoctor.system import process

WITHOUT = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("mcp", "mcp_types") else find(name, *rest)
from envdoctor.cli import main
main(["mcp"])
"""
HELP = "import sys; from envdoctor.cli import run; run(['--help']); print(sorted({'mcp', 'anyio'} & set(sys.modules)))"


def test_without_the_sdk_the_line_that_installs_it_is_told() -> None:
    outcome = process.run([sys.executable, "-c", WITHOUT], deadline=60)
    assert outcome.code == 2
    assert "pip install 'gpu-envdoctor[mcp]'" in outcome.err


def test_nobody_else_pays_for_the_sdk() -> None:
    outcome = process.run([sys.executable, "-c", HELP], deadline=60)
    assert outcome.out.splitlines()[-1] == "[]"
    assert "mcp" in outcome.out
