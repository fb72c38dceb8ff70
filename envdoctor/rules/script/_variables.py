"""Environment variables that a script or launch file sets, and those of them that slow every run."""

import ast
from collections.abc import Iterator

from envdoctor.facts.model import Script
from envdoctor.knowledge.variables import Variable, left_on
from envdoctor.rules.rule import Pattern
from envdoctor.rules.script._tree import assignments, constant, dict_items, parse

_SHELL = Pattern(
    r"^\s*(?:#SBATCH\s+--export=\S{0,400}?,?|(?:export|declare -x|ENV|set(?=\s))\s+|-\s+)?"
    r"(?P<rest>(?:[A-Z][A-Z0-9_]*=\S*\s+)*[A-Z][A-Z0-9_]*=\S*.*)$"
)
_ASSIGNMENT = Pattern(
    r"(?:^|\s|,|;)(?:-e\s+|--env[ =])?(?P<name>[A-Z][A-Z0-9_]+)=(?P<value>\"[^\"]*\"|'[^']*'|[^\s;,&|]*)"
)
_YAML = Pattern(r"^\s*(?:-\s+)?['\"]?(?P<name>[A-Z][A-Z0-9_]+)['\"]?\s*[:=]\s*['\"]?(?P<value>[^'\"#\s]*)")
_OPTION = Pattern(r"\s(?:-e|--env)[ =]")


def variables_left_on(script: Script) -> Iterator[tuple[str, Variable, str]]:
    """Place, what is known of the variable, and its value, of each that acts on the run."""
    for number, name, value in _settings(script):
        yield from ((f"{script.path}:{number}", row, value) for row in left_on(name, value))


def _settings(script: Script) -> Iterator[tuple[int, str, str]]:
    """Line, name and value of every variable that the file sets to a literal."""
    if script.language == "python":
        yield from _python(script)
        return
    for number, line in enumerate(script.source.splitlines(), 1):
        if line.lstrip().startswith("#") and not line.lstrip().startswith("#SBATCH"):
            continue
        if script.language == "shell":
            found = _SHELL.match(line)
            rest = found["rest"] if found else line if _OPTION.search(line) else ""
            for match in _ASSIGNMENT.finditer(rest):
                yield number, match["name"], match["value"].strip("\"'")
        elif pair := _YAML.match(line):
            yield number, pair["name"], pair["value"]


def _python(script: Script) -> Iterator[tuple[int, str, str]]:
    tree = parse(script)
    if tree is None:
        return
    for node in tree.nodes:
        for to, value in assignments(node):
            if isinstance(to, ast.Subscript) and tree.dotted(to.value) == "os.environ":
                yield from _pair(node, to.slice, value)
        if not isinstance(node, ast.Call):
            continue
        if tree.is_call(node, "os.environ.setdefault", "os.putenv") and len(node.args) == 2:
            yield from _pair(node, node.args[0], node.args[1])
        elif tree.is_call(node, "os.environ.update"):
            for word in node.keywords:
                if word.arg:
                    yield from _pair(word, ast.Constant(word.arg), word.value)
            for argument in node.args:
                for key, value in dict_items(argument):
                    yield from _pair(key, key, value)


def _pair(node: ast.AST, name: ast.expr, value: ast.expr) -> Iterator[tuple[int, str, str]]:
    key, setting = constant(name), constant(value)
    if isinstance(value, ast.Call) and len(value.args) == 1:  # str(1)
        setting = constant(value.args[0])
    if isinstance(key, str) and isinstance(setting, (str, int)):
        yield getattr(node, "lineno", getattr(value, "lineno", 1)), key, str(setting)
