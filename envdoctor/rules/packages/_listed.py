"""A module that is not found although the text shows its package installed: what builds, or runs, is another Python."""

from envdoctor.knowledge.names import distribution_of
from envdoctor.knowledge.questions import circumstances, messages, normal
from envdoctor.rules.packages._open import torchrun_s_python
from envdoctor.rules.rule import Facts, Finding, Pattern, Target, finding, known, remedies

_MODULE = Pattern(r"\b[Nn]o module named ['\"]?(?P<module>\w{1,60})['\"]?(?![\w.])")


def elsewhere(facts: Facts, target: Target, said: str, built: str) -> Finding | None:
    """What is behind it where the text shows the package; None where it does not."""
    found, packages = _MODULE.search(said), known(facts.packages)
    if found is None or packages is None:
        return None
    name = distribution_of(found["module"]) or normal(found["module"])
    version = packages.version(name)
    if version is None:
        return None
    if circumstances.IN_A_BUILD.stands(facts) or circumstances.RUNS_A_STRING.stands(facts):
        return _at_its_build(facts, target, name, version, built, said)
    return _where_it_runs(facts, target, name, version, found["module"], said)


def _at_its_build(facts: Facts, target: Target, name: str, version: str, built: str, said: str) -> Finding:
    who = built or "a package that is built from source"
    listed = (found for text in messages.everything(facts) if (found := circumstances.FROM_A_FILE.said.search(text)))
    what = built or next((f"-r {found['file']}" for found in listed), "")
    return finding(
        subject="build isolation",
        actual=f"{name} {version} outside of it",
        expected=f"{name} in sight of the build",
        message=f"{who[0].upper()}{who[1:]} needs {name} while it is built, and does not find it there, though the "
        f"text names {name} {version}: {said}",
        usually=f"an installer builds it in an environment of its own, where {name} is not, whatever is installed; "
        "else another Python builds it than the one that the text tells of",
        fix=remedies.choose(
            target,
            (),
            f"{name} is there: install "
            + (built or "that package")
            + " without build isolation, with what its build needs installed before (setuptools, wheel, packaging, "
            "ninja)" + ("." if built else "; the log's lines before this one name it."),
            "python -m pip install setuptools wheel packaging ninja",
            *((f"python -m pip install --no-build-isolation {what}",) if what else ()),
        ),
        certain=False,
        source="https://pip.pypa.io/en/stable/reference/build-system/#controlling-setup_requires",
    )


def _where_it_runs(facts: Facts, target: Target, name: str, version: str, module: str, said: str) -> Finding:
    ran = torchrun_s_python(facts)
    launcher = (
        f"the ranks were started by {ran}: the torchrun that was found first on PATH is that Python's, and not the "
        f"environment's in which {name} is installed; else "
        if ran
        else ""
    )
    return finding(
        subject=name,
        actual=f"{version} is named, and not found",
        expected=f"{name} in the Python that runs this",
        kind="package-missing",
        message=f"The text names {name} {version}, and the Python that runs this does not find {module}: {said}",
        usually=f"{launcher}the list is another Python's than the one that runs this (another environment, another "
        "kernel than the notebook's, sudo, a launcher's own), or its installation is not whole",
        fix=remedies.choose(
            target,
            (),
            (
                "Put the environment's own folder bin first on PATH (which -a torchrun shows them all), or start with "
                "its Python: python -m torch.distributed.run in place of torchrun, accelerate launch. "
                if ran
                else ""
            )
            + f"See which Python runs this, and whether {name} is in that very one; where it is not, run this with the "
            f"Python that has it, or install it there (that Python's own -m pip install).",
            *(("which -a torchrun python",) if ran else ("python -c 'import sys; print(sys.executable)'",)),
            f"python -m pip show {name}",
        ),
        certain=False,
        source="https://packaging.python.org/en/latest/tutorials/installing-packages/",
    )
