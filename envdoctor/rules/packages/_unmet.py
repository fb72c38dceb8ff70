from envdoctor.rules.rule import Pattern

_ONE = r"(?P<one>[A-Za-z][\w.-]{0,80}) \d[\w.+!-]{0,80}:? (?:requires|needs|has requirement) "
_WANTED = r"(?P<wanted>[A-Za-z][\w.-]{0,80}(?:\[[\w,-]{1,80}\])? ?\(?[<>=!~]=?[^ ]{1,200})"
LINES = (
    # pip: "a 1.0 requires b<2, but you have b 2.1 which is incompatible."; reports shorten it in many ways
    Pattern(_ONE + _WANTED),
    # transformers: "tokenizers>=0.11,<0.14 is required for a normal functioning of this module, but found ..."
    Pattern(_WANTED + r" is required for a normal functioning of this module"),
    # libraries that check others by themselves: "Using X requires y>=1.2"
    Pattern(r"\b(?:requires?|needs|depends on) (?P<wanted>[A-Za-z][\w.-]*(?:>=|==|<=|<|>|~=|!=) ?\d[\w.,<>=!]*)"),
    # uv: "The package `a` requires `b<2`, but `2.1` is installed"
    Pattern(r"package `(?P<one>[^`]+)` requires `(?P<wanted>[^`]+)`"),
)
"""Which requirement an installer, or a library that checks for itself, found not to be met: ``one`` asks, ``wanted`` is
the requirement."""
