from envdoctor.knowledge.questions import extensions, versions
from envdoctor.rules.rule import ERROR, NOTE, Facts, Finding, Findings, Pattern, Remedy, finding, need, rule

_NEW, _OLD = "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"
_RENAMED_IN = "2.10"  # flags table of the trainer; torch 2.15's docs call the old name an alias
_KEYS = (
    "backend",
    "expandable_segments",
    "garbage_collection_threshold",
    "graph_capture_record_stream_reuse",
    "large_segment_size_mb",
    "max_non_split_rounding_mb",
    "max_split_size_mb",
    "per_process_memory_fraction",
    "pinned_max_cached_size_mb",
    "pinned_max_round_threshold_mb",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_use_background_threads",
    "pinned_use_cuda_host_register",
    "release_lock_on_cudamalloc",
    "roundup_bypass_threshold_mb",
    "roundup_power2_divisions",
)
"""https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf and torch 2.13's
libc10.so. Other releases have others: only what looks like a misspelling of one of these is called an error."""


@rule(ERROR, expected="options that torch knows, under the name that it reads")
def allocator(facts: Facts) -> Findings:
    """The allocator's configuration is misspelt, contradictory, or under its old name.

    Why: torch reads it at the first CUDA call and stops at a word that it does not know ("Unrecognized
    CachingAllocator option"). The variable was renamed in torch 2.10; the old name still works.
    Fix: correct the value.
    Source: https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf
    https://docs.pytorch.org/docs/2.15/cuda_environment_variables.html
    """
    variables = need(facts.variables)
    version = extensions.labelled_torch(facts)
    for name in (_NEW, _OLD):
        value = variables.get(name)
        if value is None:
            continue
        for problem, fatal in _problems(value):
            yield _finding(name, value, problem, fatal=fatal)
    if _NEW in variables and version and versions.below(version, _RENAMED_IN) and _OLD not in variables:
        text = f"torch {version} does not read it yet; its name there is {_OLD}"
        yield _finding(_NEW, variables[_NEW], text, f'export {_OLD}="${_NEW}"')
    elif _OLD in variables and version and versions.at_least(version, _RENAMED_IN):
        text = f"torch {version} reads it as an alias of {_NEW}"
        yield _finding(_OLD, variables[_OLD], text, f'export {_NEW}="${_OLD}"; unset {_OLD}')


_BRACKETS = Pattern(r"\[[^\]]{0,200}\]")


def _problems(value: str) -> list[tuple[str, bool]]:
    """What torch would refuse, and whether it stops at it; values in brackets may hold commas of their own."""
    given, found = {}, []
    for pair in filter(None, (part.strip() for part in _BRACKETS.sub("[]", value).split(","))):
        key, colon, setting = (text.strip() for text in pair.partition(":"))
        if not colon or not setting:
            found.append((f"{pair!r} is not option:value", True))
        elif key not in _KEYS:
            import difflib  # for a mistake only: it takes a millisecond

            near = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.8)
            found.append((f"{key!r} is not a known option" + (f"; {near[0]!r} is" if near else ""), bool(near)))
        given[key] = setting
    if given.get("expandable_segments", "").lower() not in ("", "true", "false"):
        found.append(("expandable_segments is True or False", True))
    megabytes = given.get("max_split_size_mb", "")
    if megabytes and not (megabytes.isdigit() and int(megabytes) > 20):
        found.append(("max_split_size_mb must be a number above 20", True))
    if given.get("backend") == "cudaMallocAsync" and len(given) > 1:
        found.append(("backend:cudaMallocAsync leaves the other options without effect", False))
    return found


def _finding(name: str, value: str, problem: str, command: str = "", fatal: bool = False) -> Finding:
    return finding(
        subject=name,
        actual=value,
        kind="config-mismatch" if fatal else "no-effect",
        severity=ERROR if fatal else NOTE,
        message=f"{name}={value}: {problem}.",
        fix=Remedy(text="Correct it.", commands=(command or f"export {name}=expandable_segments:True",)),
    )
