from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Pattern, Remedy, finding, need, rule

_ALLOCATORS = Pattern(r"jemalloc|tcmalloc|mimalloc|libiomp5|libgomp")
_CHECKERS = Pattern(r"asan|tsan|ubsan|valgrind|vgpreload|memcheck|libefence|libduma|heaptrack|libprofiler")
_CUDA = Pattern(r"libcu|libnccl|libcudnn|libnv")


@rule(WARNING, subject="LD_PRELOAD", expected="not set")
def preload(facts: Facts) -> Findings:
    """LD_PRELOAD forces libraries into every program.

    Why: a checker (address sanitizer, heap profiler) slows each allocation; a CUDA library there replaces torch's
    own. Allocators (jemalloc, tcmalloc) and OpenMP runtimes are preloaded for speed, and only noted.
    Fix: unset it for the run.
    Source: https://man7.org/linux/man-pages/man8/ld.so.8.html
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    value = need(facts.variables).get("LD_PRELOAD")
    if not value:
        return
    checker, cuda = _CHECKERS.search(value), _CUDA.search(value)
    if checker:
        effect = "it checks or records memory, which slows everything"
    elif cuda:
        effect = "it replaces one of torch's own CUDA libraries"
    elif _ALLOCATORS.search(value):
        effect = "an allocator or OpenMP runtime, which is usually meant"
    else:
        effect = "it is loaded into every program"
    yield finding(
        actual=value,
        kind="cuda-libraries-mixed" if cuda and not checker else "debug-variable" if checker else "no-effect",
        severity=None if checker or cuda else NOTE,
        message=f"LD_PRELOAD={value}: {effect}.",
        fix=Remedy(text="Unset it for the run.", commands=("env -u LD_PRELOAD python train.py",)),
    )
