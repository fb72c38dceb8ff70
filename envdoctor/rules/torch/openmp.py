from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Skip, Target, anywhere, finding, rule
from envdoctor.rules.torch._libraries import mapped_libraries, short

_SAYS = (Pattern(r"OMP: Error #15.*"), Pattern(r"Initializing libiomp5\S* but found \S+ already initialized"))
_RUNTIMES = {"libgomp": "GNU", "libiomp5": "Intel", "libomp": "LLVM"}


@rule(WARNING, kind="thread-count", subject="OpenMP", expected="one runtime")
def openmp(facts: Facts, target: Target) -> Findings:
    """Several OpenMP runtimes are loaded into one process.

    Why: each keeps its own pool of threads, so that more threads run than CPUs are allowed, and settings reach only
    one of them. Intel's runtime stops the process when it meets another of its kind ("OMP: Error #15").
    Fix: take torch, NumPy and scikit-learn from one source (all pip, or all conda); do not set KMP_DUPLICATE_LIB_OK.
    Source: https://github.com/joblib/threadpoolctl/blob/master/multiple_openmp.md
    """
    said = anywhere(facts, *_SAYS)
    libraries = [library for library in mapped_libraries(facts) if library.stem in _RUNTIMES]
    if said is None and not libraries:
        raise Skip("which libraries are loaded is not known")
    kinds = sorted({_RUNTIMES[library.stem] for library in libraries})
    copies = sorted({library.path for library in libraries})
    # Two copies of GNU's runtime are common (torch's and scikit-learn's) and share nothing but cost little.
    if said is None and len(kinds) < 2:
        return
    which = ", ".join(map(short, copies)) if len(kinds) > 1 else f'"{said[0]}"' if said else ""
    yield finding(
        actual=", ".join(kinds) or "two runtimes",
        severity=ERROR if said else WARNING if target.is_cpu and target.name != "none" else NOTE,
        message=f"Several OpenMP runtimes are loaded: {which}.",
        fix=_FROM_ONE_SOURCE,
    )


_FROM_ONE_SOURCE = (
    "Install torch, NumPy, scikit-learn and faiss from one source: all from conda-forge, whose packages share one "
    "runtime, or all by pip, where what brings a runtime of its own (faiss-cpu on a Mac, an old scikit-learn) is taken "
    "in another release, or imported before torch. KMP_DUPLICATE_LIB_OK=TRUE only silences it: results may be wrong."
)
