"""The page's style sheet. Colours are variables, so that dark mode is one block and charts follow it."""

import re

LIGHT = """--ink: #1a1c1f; --soft: #5d646e; --line: #dde1e6; --paper: #ffffff; --card: #f6f7f9;
--good: #15803d; --bad: #c02626; --warn: #a85b00; --note: #5d646e; --one: #2563eb; --two: #0d9488; --three: #d97706;
--four: #7c3aed; --five: #db2777; --six: #64748b; --seven: #84702b;"""

DARK = """--ink: #e8eaed; --soft: #9aa3ae; --line: #343a42; --paper: #14171a;
--card: #1d2125; --good: #4ade80; --bad: #f87171; --warn: #fbbf24; --note: #9aa3ae; --one: #60a5fa; --two: #2dd4bf;
--three: #fbbf24; --four: #a78bfa; --five: #f472b6; --six: #94a3b8; --seven: #d6c07a;"""

RULES = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.25rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: .4rem 0; }
.soft { color: var(--soft); font-size: .9rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); } .note { color: var(--note); }
.card { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--note); border-radius: 6px;
  padding: .7rem .9rem; margin: .7rem 0; overflow-wrap: anywhere; }
.card.error { border-left-color: var(--bad); } .card.warning { border-left-color: var(--warn); }
.tag { font-size: .75rem; border: 1px solid var(--line); border-radius: 99px; padding: .05rem .5rem;
  color: var(--soft); }
pre, code { font: .85rem/1.45 ui-monospace, monospace; }
pre { background: var(--paper); border: 1px solid var(--line); border-radius: 6px; padding: .5rem .7rem;
  margin: .5rem 0 0; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
figure { margin: 1rem 0; overflow-x: auto; } figcaption { color: var(--soft); font-size: .85rem; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
@media (max-width: 40rem) { svg text { font-size: 17px; } }
.legend { display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; font-size: .85rem; margin: .4rem 0; }
.legend i { display: inline-block; width: .75rem; height: .75rem; border-radius: 2px; margin-right: .4rem; }
ul { margin: .4rem 0; padding-left: 1.25rem; }
.figures { display: flex; flex-wrap: wrap; gap: .75rem; margin: .75rem 0; }
.figure { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .5rem .8rem;
  flex: 1 1 8rem; }
.figure b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
details { margin: .7rem 0; } summary { cursor: pointer; }
@media print { .card { break-inside: avoid; } details { display: block; } }
"""

CSS = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
{RULES.lstrip()}"""


def within(place: str, *, dark: tuple[str, ...] = (), light: tuple[str, ...] = ()) -> str:
    """The sheet for a part of somebody else's page: its rules hold inside the element ``place`` alone.

    ``dark`` and ``light`` are selectors of pages that have a theme of their own; without one, the reader's holds.
    """
    rules = re.sub(r"(?m)(^|\}\s*|\{\s+)(?=[.*a-z][^{}]*\{)([^{}@]+)\{", lambda found: _place(found, place), RULES)
    sheet = [f"{place} {{ color-scheme: light dark; {LIGHT} }}"]
    sheet.append(f"@media (prefers-color-scheme: dark) {{ {place} {{ {DARK} }} }}")
    sheet += [f"{theme} {place} {{ color-scheme: light; {LIGHT} }}" for theme in light]
    sheet += [f"{theme} {place} {{ color-scheme: dark; {DARK} }}" for theme in dark]
    return "\n".join([*sheet, rules.strip()])


def _place(found: re.Match[str], place: str) -> str:
    names = (name.strip() for name in found[2].split(","))
    return found[1] + ", ".join(place if name == "body" else f"{place} {name}" for name in names) + " {"
