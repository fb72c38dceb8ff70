from envdoctor.knowledge.questions import messages
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, Skip, finding, known, rule

_SAYS = (
    Pattern(r"partially initialized module '(?!torchvision\b)([\w.]+)'"),
    Pattern(r"since it has the same name as the standard library module named '([\w.]+)'"),
    Pattern(r"since it has the same name as the library you intended to import"),
)


@rule(ERROR, kind="interpreter", expected="no file of this name")
def shadowed_modules(facts: Facts) -> Findings:
    """A file of yours hides a module of Python or of an installed package.

    Why: the working directory and PYTHONPATH come before everything else. A timeit.py, random.py or datasets/
    there is imported in place of the real one, by torch too: the import then fails in strange ways, or quietly
    runs the wrong code.
    Fix: rename the file (and remove its __pycache__), or start from another directory.
    Source: https://docs.python.org/3/library/sys_path_init.html
    https://docs.python.org/3/whatsnew/3.13.html#improved-error-messages
    """
    interpreter = known(facts.interpreter)
    said = messages.in_report(facts, *_SAYS)
    if interpreter is None and said is None:
        raise Skip("the interpreter is not known")
    for path in interpreter.shadowed if interpreter else ():
        name = path.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".py")
        yield _finding(name, path, f"{path} hides the module {name}.")
    if said is not None and not (interpreter and interpreter.shadowed):
        name = said[1] if said.re.groups and said[1] else "a module"
        yield _finding(name, said.string, f"A file hides {name}: {said.string}.")


def _finding(name: str, path: str, message: str) -> Finding:
    return finding(
        subject=name,
        actual=path,
        message=message,
        fix="Rename the file, or start from another directory (python -P leaves the directory out).",
        explains=("torch/", "packages/import-mismatch"),
    )
