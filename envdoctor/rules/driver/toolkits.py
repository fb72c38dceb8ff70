from envdoctor.rules.rule import NOTE, Facts, Findings, finding, need, rule


@rule(NOTE, kind="no-effect", subject="CUDA toolkits", expected="at most one is needed")
def toolkits(facts: Facts) -> Findings:
    """Several CUDA toolkits are installed.

    Why: torch brings its own CUDA libraries and needs none of them. They matter only for compiling extensions, where
    the first nvcc on PATH (or CUDA_HOME) is taken, and when their folders stand on LD_LIBRARY_PATH.
    Fix: set CUDA_HOME when compiling.
    Source: https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    host = need(facts.host)
    if len(host.toolkits) < 2:
        return
    installed = ", ".join(host.toolkits)
    compiling = f"nvcc {host.nvcc}" if host.nvcc else "the first on PATH"
    message = (
        f"{len(host.toolkits)} CUDA toolkits are installed ({installed}); compiling takes {compiling}, torch uses none "
        "of them."
    )
    yield finding(
        actual=installed, message=message, fix="Set CUDA_HOME to the one that extensions are to be built with."
    )
