"""The text report as a picture of a terminal, for a README: made by rich, without the web font it would load."""

from __future__ import annotations

import re
from io import StringIO

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from envdoctor.render.text import text
from envdoctor.rules.checkup import Checkup

WIDTH = 100
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def svg(checkup: Checkup, *, title: str = "envdoctor check") -> str:
    """One self-contained SVG; equal examinations give equal bytes."""
    lines = list(text(checkup))
    longest = max((line.indent + sum(len(part) for part, _ in line.spans) for line in lines if line.whole), default=0)
    console = Console(
        file=StringIO(),
        record=True,
        width=max(WIDTH, longest),
        highlight=False,
        force_terminal=True,
        color_system="truecolor",
    )
    for line in lines:
        # A paragraph without words would vanish in its padding
        console.print(Padding(Text.assemble(*(line.spans or (" ",))), (0, 0, 0, line.indent), expand=False))
    return console.export_svg(title=title, code_format=FORMAT, unique_id="envdoctor")
