"""What rows of errors leave open: torch's CUDA line, another Python, the program that lacks a module."""

from envdoctor.knowledge.circumstances import NVCC_SHOWN
from envdoctor.knowledge.dgl_wheels import dgl_for
from envdoctor.knowledge.installed_torch import line_is_guessed, torch_version
from envdoctor.knowledge.messages import everything
from envdoctor.knowledge.programs import Program, program_of
from envdoctor.knowledge.questions import ask_of, first_release, names, toolkits, torch_cuda, versions
from envdoctor.knowledge.symptoms import names_the_called
from envdoctor.rules.rule import Facts, Pattern, known


def is_told_apart(line: str) -> bool:
    """Does a line say by itself which package it is about?"""
    called, asked = _CALLED.search(line), _ASKED.search(line)
    rows = names.of_call(called["callee"], called["what"]) if called else iter(())
    if called and names.overridden_method(called["callee"], called["what"]) is not None:
        return True
    rows = names.of_member(asked["owner"], asked["what"]) if asked else rows
    return len({row.package for row in rows}) == 1 or names_the_called(line) or ask_of(line) is not None


_CALLED = Pattern(
    r"(?<![\w.])(?P<callee>[A-Za-z_][\w.]{1,120})\(\) got an unexpected keyword argument '(?P<what>\w{2,80})'"
)
_ASKED = Pattern(r"'(?P<owner>[A-Z]\w{1,80})' object has no attribute '(?P<what>\w{2,80})'")


def cuda_line(facts: Facts) -> str:
    """torch's CUDA line; where only its version is known, which other indexes have for other lines, that is said."""
    line = torch_cuda(facts)
    if not line:
        return "the line that torch is built for"
    return f"the line that torch is built for ({line}, if the wheel is PyPI's)" if line_is_guessed(facts) else line


def toolkit_home(facts: Facts, missing: str) -> str:
    """Where the text shows an nvcc that is not the one missing, else where NVIDIA's installer puts the toolkit."""
    shown = (found for text in everything(facts) if (found := NVCC_SHOWN.said.search(text)))
    return next((home for one in shown if (home := one["home"] or one["path"]) != missing), "/usr/local/cuda")


def dgl(facts: Facts) -> dict[str, str]:
    """The DGL with CUDA for the torch that is here."""
    text, wanted = dgl_for(torch_version(facts), torch_cuda(facts))
    return {"dgl_for": text, "dgl": wanted}


def compiler(facts: Facts) -> dict[str, str]:
    """The gcc to install, and what bounds it above: nvcc of the CUDA that compiles. conda-forge's begin with 7."""
    cuda = toolkits.toolkit_of(facts) or torch_cuda(facts)
    newest = toolkits.newest_gcc(cuda)
    if newest is None:
        return {"gxx": "12", "gcc_bound": ""}
    bound = f" (no newer than {newest} where nvcc takes part, which that of CUDA {cuda} takes at most)"
    return {"gxx": str(min(newest, 12)) if newest >= _FIRST_OF_CONDA else "", "gcc_bound": bound}


_FIRST_OF_CONDA = 7


def other_python(facts: Facts) -> str:
    """A Python for which more releases have wheels than for the one that is here."""
    own = known(facts.interpreter)
    if own is None or not versions.below(own.version, "3.12"):
        return "3.11"
    return "3.10" if versions.at_least(own.version, "3.11") else "3.12"


def release_with_wheels(facts: Facts, name: str, version: str) -> str:
    """What names the first release with wheels for this Python, where the one that failed is older."""
    own = known(facts.interpreter)
    first = first_release(name, own.version) if own else None
    if own is None or first is None or not versions.below(version or first, first):
        return ""
    python = ".".join(own.version.split(".")[:2])
    return f"; {name} {first} is the first with wheels for Python {python} on Linux and Windows"


_RAN = Pattern(r"\bof binary: (?P<python>\S{1,200})")


def torchrun_s_python(facts: Facts) -> str:
    """The Python with which torchrun says that it started the ranks, that of the environment it is installed in; ""
    where it says nothing."""
    return next((found["python"] for text in everything(facts) if (found := _RAN.search(text))), "")


def project(facts: Facts, module: str) -> Program | None:
    """The project that the module is part of, where a file of it ran by its path."""
    root = facts.remarks.get(f"project of {module}")
    if root is None or not root.strip("./\\ \u2026"):
        return None  # a path that somebody shortened
    ran = torchrun_s_python(facts)
    launcher = (
        f"torchrun started the ranks with {ran}, as the first torchrun on PATH is that Python's: where the project is "
        "installed in another environment, put that one's folder bin first on PATH, or start with python -m "
        "torch.distributed.run there. Else: "
        if ran
        else ""
    )
    return Program(
        path="",
        what="a file that lies in its own folder" + (", under the Python that torchrun took" if ran else ""),
        remedy=f"{launcher}It is the project's own package, which a file of it needs installed: install the project "
        f"({root}) into the Python that runs it, or put its folder src (or its root) on PYTHONPATH.",
        source="",
        commands=(f"python -m pip install -e {root}",),
    )


def program(facts: Facts, module: str) -> Program | None:
    """The end user's program whose file asked for the module."""
    path = facts.remarks.get(f"program that lacks {module}") or facts.remarks.get("program")
    return program_of(path, module) if path else None
