import ast
import re
from collections.abc import Iterator
from itertools import chain

from envdoctor.facts.model import Script
from envdoctor.knowledge.questions import CACHES_OFF, COMPILE_OFF, DEBUG, NCCL, PROFILERS
from envdoctor.knowledge.variables import Variable
from envdoctor.rules.hardware import trains_on_gpu
from envdoctor.rules.rule import NOTE, WARNING, Facts, Finding, Findings, Pattern, Severity, Skip, Target, finding, rule
from envdoctor.rules.script._reading import assignments, constant, parse

_TABLES = (DEBUG, COMPILE_OFF, CACHES_OFF, PROFILERS, NCCL)
_SHELL = Pattern(
    r"^\s*(?:#SBATCH\s+--export=\S{0,400}?,?|(?:export|declare -x|ENV|set(?=\s))\s+|-\s+)?"
    r"(?P<rest>(?:[A-Z][A-Z0-9_]*=\S*\s+)*[A-Z][A-Z0-9_]*=\S*.*)$"
)
_ASSIGNMENT = Pattern(
    r"(?:^|\s|,|;)(?:-e\s+|--env[ =])?(?P<name>[A-Z][A-Z0-9_]+)=(?P<value>\"[^\"]*\"|'[^']*'|[^\s;,&|]*)"
)
_YAML = Pattern(r"^\s*(?:-\s+)?['\"]?(?P<name>[A-Z][A-Z0-9_]+)['\"]?\s*[:=]\s*['\"]?(?P<value>[^'\"#\s]*)")


@rule(WARNING, kind="debug-variable", expected="not set")
def debug_variables(facts: Facts, target: Target) -> Findings:
    """The script or launch file itself sets a debugging variable.

    Why: a variable that is set in code does not show in the shell, comes back after every ``unset``, and slows every
    run: CUDA_LAUNCH_BLOCKING=1 makes each kernel launch wait for its kernel.
    Fix: remove the line.
    Source: https://github.com/jishengpeng/WavTokenizer/issues/17
    https://github.com/horenbergerb/BernoulliDiffusion/issues/23
    """
    if not facts.scripts:
        raise Skip("no script was given")
    idle = trains_on_gpu(facts, target) is False
    for script in facts.scripts:
        for number, name, value in _settings(script):
            for row in chain.from_iterable(rows.among((name,)) for rows in _TABLES):
                if row.active(value):
                    yield _finding(script, number, row, value, idle and row.cuda)


def _finding(script: Script, number: int, row: Variable, value: str, idle: bool) -> Finding:
    place = f"{script.path}:{number}"
    return finding(
        subject=f"{place} {row.name}",
        actual=f"{row.name}={value}",
        severity=NOTE if idle else Severity[row.severity.upper()],
        message=f"{place} sets {row.name}={value}: {row.effect}" + (" (no effect on a CPU)." if idle else "."),
        fix=f"Remove {row.name} from {place}, or set it only while looking for a fault.",
        source=row.source,
    )


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
            rest = found["rest"] if found else line if re.search(r"\s(?:-e|--env)[ =]", line) else ""
            for match in _ASSIGNMENT.finditer(rest):
                yield number, match["name"], match["value"].strip("\"'")
        elif pair := _YAML.match(line):
            yield number, pair["name"], pair["value"]


def _python(script: Script) -> Iterator[tuple[int, str, str]]:
    tree = parse(script)
    for node in tree.nodes if tree else ():
        if tree is None:
            return
        for to, value in assignments(node):
            if isinstance(to, ast.Subscript) and tree.dotted(to.value) == "os.environ":
                yield from _pair(node, to.slice, value)
        if (
            isinstance(node, ast.Call)
            and tree.is_call(node, "os.environ.setdefault", "os.putenv")
            and len(node.args) == 2
        ):
            yield from _pair(node, node.args[0], node.args[1])
        elif isinstance(node, ast.Call) and tree.is_call(node, "os.environ.update"):
            for word in node.keywords:
                if word.arg:
                    yield from _pair(word, ast.Constant(word.arg), word.value)
            for argument in node.args:
                if isinstance(argument, ast.Dict):
                    for key, value in zip(argument.keys, argument.values, strict=True):
                        if key is not None:
                            yield from _pair(key, key, value)


def _pair(node: ast.AST, name: ast.expr, value: ast.expr) -> Iterator[tuple[int, str, str]]:
    key, setting = constant(name), constant(value)
    if isinstance(value, ast.Call) and len(value.args) == 1:  # str(1)
        setting = constant(value.args[0])
    if isinstance(key, str) and isinstance(setting, (str, int)):
        yield getattr(node, "lineno", getattr(value, "lineno", 1)), key, str(setting)
