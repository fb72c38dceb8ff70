from envdoctor.knowledge.questions import headers_package, messages, platform_of
from envdoctor.rules.rule import ERROR, NOTE, Facts, Findings, Pattern, Remedy, Skip, finding, known, rule

_SAYS = (
    Pattern(r"(?i)Python\.h: No such file"),
    Pattern(r"(?i)InvalidCxxCompiler|No working C\+\+ compiler found"),
    Pattern(r"(?i)Failed to find C compiler"),
    Pattern(r"(?i)Failed to find MSVC"),
    Pattern(r"(?i)can'?t find Python\.h"),
)

_BUILDS = Pattern(
    r"[/\\](?:torch[/\\](?:lib[/\\])?include|csrc|pybind11)[/\\]|Building wheel|building '|pip install"
    r"|setup\.py|(?:Failed|failed) (?:building|to build)"
)
"""Where a package is built from source, the same header is missed: packages/known-errors tells of it."""

_WINDOWS = (
    "winget install Microsoft.VisualStudio.2022.BuildTools",
    "python -m pip install --upgrade triton-windows",  # which brings a small C compiler from 3.2 on
)


@rule(NOTE, kind="interpreter", subject="torch.compile")
def compile_tools(facts: Facts) -> Findings:
    """What compiles while it runs (torch.compile, Triton) has no C compiler, or no Python.h.

    Why: Inductor compiles C++ for the CPU, and Triton compiles a small C launcher for each kernel on the GPU.
    Slim images lack the compiler or Python's headers; torch.compile then stops at its first call. Training
    without it does not need them.
    Fix: install them; Pythons that uv manages carry their headers.
    Source: https://github.com/pytorch/pytorch/issues/129351 https://github.com/sgl-project/sglang/pull/18644
    https://github.com/pytorch/pytorch/blob/main/torch/_inductor/cpp_builder.py
    """
    interpreter, host = known(facts.interpreter), known(facts.host)
    said = messages.in_report(facts, *_SAYS)
    if said is not None and "Python.h" in said[0] and messages.in_report(facts, _BUILDS):
        said = None
    lacking = ["a C compiler"] if host and host.compiler == "" else []
    lacking += ["Python.h"] if interpreter and interpreter.headers == "" else []
    if said is None and not lacking:
        if (host is None or host.compiler is None) and (interpreter is None or interpreter.headers is None):
            raise Skip("neither the compiler nor Python's headers were looked for")
        return
    if said is not None and not lacking:  # who misses a header is a compiler
        lacking = ["Python.h"] if "Python.h" in said[0] else ["a C compiler"]
    missing = " and ".join(lacking)
    if lacking == ["Python.h"]:
        effect = "not found by what compiles" if said else "missing: nothing can be compiled"
        message = f"Python's headers (Python.h) are {effect} against this Python, as Triton and torch.compile do."
    else:
        effect = "not found: what Triton or torch.compile compile cannot be built"
        effect = effect if said else "missing: torch.compile cannot build its kernels"
        message = f"{missing[0].upper()}{missing[1:]} is {effect}."
    yield finding(
        expected=missing,
        actual=said.string if said else f"no {' and no '.join(name.removeprefix('a ') for name in lacking)}",
        kind="triton-mismatch" if said else "",
        severity=ERROR if said else None,
        who="you" if host and host.uid == 0 else "image",
        message=message,
        fix=_install(facts, headers=lacking == ["Python.h"], failed=said is not None),
    )


def _install(facts: Facts, headers: bool, failed: bool) -> Remedy:
    package = headers_package(facts)
    text = (
        f"Install the headers of this very Python (Debian's and Ubuntu's: {package}; in the image, if you may not). "
        "The Pythons of conda and uv bring theirs: there another Python's folder is looked into."
        if headers
        else "Install them (in the image, if you may not)."
    )
    packages = package if headers and failed else f"build-essential {package}"
    windows = platform_of(facts).startswith("win")
    return Remedy(text=text, commands=_WINDOWS if windows else (f"apt-get install -y {packages}",))
