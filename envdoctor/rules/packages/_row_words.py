"""A row of errors in the words of this report: its names filled in, and what helps on this system and Python."""

from envdoctor.knowledge.errors import KnownError
from envdoctor.knowledge.names import distribution_of
from envdoctor.knowledge.questions import headers_package, installed, newest_python, normal, platform_of
from envdoctor.knowledge.refuted import without_refuted
from envdoctor.rules.packages import _callers, _open
from envdoctor.rules.packages._heard import Heard
from envdoctor.rules.rule import Facts, Pattern, known, remedies
from envdoctor.values.frozen import frozen

_BUILT = Pattern(
    r"(?:Failed building wheel for|Failed to build|not a problem with poetry but with) ['`\"]?"
    r"(?P<name>(?!installable\b|https?:)[A-Za-z][\w.-]{1,60}\w)"
    r"|Building wheel for (?P<wheel>[A-Za-z][\w.-]{1,60}\w) \(\S{3,20}\)(?::| \.\.\.).{0,20}\berror\b"
)
"""Of installers: what was built when they stopped; the reader of logs says it where they show only its folder."""


_COMMON = frozenset(
    "torch torchvision transformers accelerate datasets numpy pandas pytorch-lightning lightning".split()
)
"""Libraries that fall over whatever they are given wrongly."""


@frozen
class Filled:
    """``package``: the distribution that the line names, "" where it names none; ``version``: what is listed of it."""

    package: str
    version: str | None
    subject: str
    meaning: str
    usually: str
    remedy: str
    commands: tuple[str, ...]
    instead: tuple[str, ...]


def what_was_built(facts: Facts) -> str:
    """The package at whose build an installer stopped."""
    return normal(
        next((found["name"] or found["wheel"] for text in facts.messages if (found := _BUILT.search(text))), "")
    )


def fill(facts: Facts, heard: Heard) -> Filled:
    row, found, windows = heard.row, heard.found, platform_of(facts).startswith("win")
    names = {key: text.strip("'\"`.,") for key, text in found.groupdict().items() if text}
    asked = next((names[key] for key in ("name", "other", "third", "windows") if key in names), "")
    plain = normal(asked) if _NAME.fullmatch(asked) else ""
    missing = row.kind == "package-missing" and "No module named" in found[0]
    module = missing and distribution_of(asked) is None
    if missing:
        plain = distribution_of(asked) or plain
    words = _words(facts, row, plain, names)
    words["name"] = (plain if _names_a_package(row) and not module else asked) or words["name"]
    words["distribution"] = distribution_of(asked) or words["name"]

    def filled(text: str) -> str:
        return _HOLE.sub(lambda hole: words.get(hole[1], ""), text)

    def usable(command: str) -> bool:
        """Is all known that it names?"""
        return ("{built}" not in command or words["built"] != _SOME) and (
            "{gxx}" not in command or bool(words.get("gxx"))
        )

    program = (_open.project(facts, asked) or _open.program(facts, asked)) if module and row.last else None
    said_by = program or row
    commands = said_by.windows if windows and said_by.windows else said_by.commands
    instead = row.instead if said_by is row and commands is row.commands else ()
    if not plain and any("{name}" in command for command in (*commands, *instead)):
        commands, instead = (), ()
    version = installed.version(facts, plain)
    usually = "" if program else remedies.on_windows(row.usually) if windows else row.usually
    usually = without_refuted(filled(usually), facts, version or installed.version(facts, row.subject))
    commands = tuple(filled(one) for one in commands if usable(one))
    if _USER_SITE.search(found.string) and (interpreter := known(facts.interpreter)) and interpreter.user_site:
        usually = ", ".join(filter(None, (_OF_THE_USER, usually)))
    caller = _callers.caller_of(found.string) if row.alone else None
    if caller and caller not in _COMMON:
        usually = ", ".join(filter(None, (_OUT_OF_STEP.format(name=caller), usually)))
        commands = (*commands, remedies.upgrade(caller))
    remedy = row.windows_remedy if windows and row.windows_remedy and not program else said_by.remedy
    meaning = filled(f"Python does not find the module {{name}} for {program.what}" if program else row.meaning)
    return Filled(
        package=plain,
        version=version,
        subject=filled(row.subject),
        meaning=f"The{meaning[3:]}" if meaning.startswith("the ") else meaning,
        usually=usually,
        remedy=filled(remedy),
        commands=commands,
        instead=tuple(filled(one) for one in instead if usable(one)),
    )


def _names_a_package(row: KnownError) -> bool:
    """Is the row's {name} a distribution's, which is written in one way, and no constant, class or file?"""
    typed = any("{name}" in command for command in (*row.commands, *row.instead, *row.windows))
    return typed or row.kind.startswith(("package-", "python-", "extension-", "torch-", "no-kernels", "known-broken"))


_NAME, _HOLE = Pattern(r"[\w.-]+"), Pattern(r"\{(\w+)\}")
_SOME = "the package"
_USER_SITE = Pattern(r"/\.local/lib/python3\.\d{1,2}/")
_OF_THE_USER = (
    "an earlier pip install --user put it into your own folder (~/.local), which this Python searches before the "
    "environment's (PYTHONNOUSERSITE=1 leaves it out)"
)
_OUT_OF_STEP = "{name}, in whose code it ends, is older or newer than what it meets here"


def _words(facts: Facts, row: KnownError, plain: str, names: dict[str, str]) -> dict[str, str]:
    """What the holes of a row's texts stand for."""
    words = {"name": plain or _SOME, "cuda": _open.cuda_line(facts), **names}
    words["built"] = what_was_built(facts) or _SOME
    words["headers"] = headers_package(facts)
    if "{g" in row.remedy:
        words |= _open.compiler(facts)
    if any("{toolkit}" in command for command in row.commands):
        words["toolkit"] = _open.toolkit_home(facts, names.get("path") or names.get("other", ""))
    if "{dgl" in row.remedy:
        words |= _open.dgl(facts)
    words["with_wheels"] = _open.release_with_wheels(facts, plain, names.get("version", ""))
    words["older"] = _open.other_python(facts)
    words["python"] = newest_python(plain, names.get("version") or names.get("wanted", "")) or words["older"]
    return words
