from envdoctor.knowledge.questions import mebibytes, messages, topics_of
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Remedy, Skip, finding, known, rule

_SCARCE = 2 << 30  # less cannot hold torch, a tokenizer and a small model; our choice
_OF_GPU = 0.95  # Vast.ai's self-test asks hosts for this share of GPU memory
_SAYS = (
    Pattern(
        r"(?i)oom[-_]?kill|out of memory: kill(?:ed)? process"
        r"|\bsrun: error: .{1,80}: tasks? [\d,-]{1,20}: Out Of Memory|\bslurm out[- ]of[- ]memory|\bslurm OOM\b",
    ),
    Pattern(r"(?i)killed by signal:? (?:9|killed)"),
    Pattern(r"(?i)(?:exit(?:ed with)?(?: code)?|(?:error|return) code):? ?(?:-9|137)\b"),
    Pattern(
        r"^Loading checkpoint shards.{0,200}\]\s*Killed$|^Killed$"
        r"|^\[\d{1,3}\]\s{0,4}[+-]?\s{1,8}(?:\d{1,9} )?(?i:killed)\s"  # of a shell's list of its jobs
    ),
    Pattern(r"(?i)DefaultCPUAllocator: (?:can't|not enough)"),
)


@rule(WARNING, kind="host-limited", subject="memory", who="host")
def memory(facts: Facts) -> Findings:
    """There is little memory for what is to be trained.

    Why: weights, optimizer states and checkpoints pass through the machine's memory, and the cgroup's limit ends
    the process when it is reached, however much the machine shows. Hosts that rent out GPUs are asked for as much
    memory as their GPUs have.
    Fix: a larger limit or machine; safetensors and sharded checkpoints need the least.
    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files
    https://github.com/vast-ai/vast-cli https://github.com/rapidsai/rapids-cli
    """
    host, gpus = known(facts.host), known(facts.gpus)
    said = messages.in_report(facts, *_SAYS)
    if said is not None and not messages.is_log_line(said.string):
        asked = _BYTES.search(said.string)
        size = int(asked[1]) if asked else 0
        yield from _of_absurd_size(said.string, size) if size >= _ABSURD else _of_an_end(facts, said.string)
        return
    limits = [n for n in (host.memory, host.memory_limit) if n] if host else []
    if host is None or not limits:
        raise Skip("the size of the memory is not known")
    usable, free = min(limits), host.memory_available
    if free is not None and min(free, usable) < _SCARCE:
        left = mebibytes(min(free, usable))
        text = f"Only {left} of memory is free."
        yield finding(actual=f"{left} free", expected=mebibytes(_SCARCE), message=text, fix=_LOAD_LESS)
        return
    video = sum(gpu.memory or 0 for gpu in gpus.devices) if gpus else 0
    if video and usable < video * _OF_GPU:
        actual, expected = mebibytes(usable), mebibytes(video * _OF_GPU)
        text = f"The machine gives {actual} of memory to GPUs with {mebibytes(video)}."
        yield finding(actual=actual, expected=expected, severity=NOTE, message=text, fix=_LOAD_LESS)
    elif host.memory_limit and host.memory and host.memory_limit < host.memory * 0.5:
        actual = mebibytes(host.memory_limit)
        text = f"The container is killed beyond {actual} of {mebibytes(host.memory)}."
        yield finding(actual=actual, expected="known to you", severity=NOTE, message=text, fix=_LOAD_LESS)


_BUILDS = Pattern(
    r"(?i)\bninja: build|\bbin/nvcc\b|\bcc1plus\b|\bcicc\b|running build_ext"
    r"|\bmake(?:\[\d\])?: \*\*\*|building wheel for"
    r"|_run_ninja_build|Error compiling objects",
)
"""Of a compiler's log: what was killed is a compiler."""
_BYTES = Pattern(r"(?:you tried to allocate|allocate) (\d{5,24}) bytes")
_ABSURD = 4 << 40
"""More than any machine of this field has: a size that nobody meant."""
_LOOK = ("free -h", "sudo dmesg -T | grep -i -e oom -e 'killed process' | tail")
_LOAD_LESS = Remedy(
    text="End what else runs, ask for more memory (Slurm: --mem, a container: its limit), or load less at once "
    "(low_cpu_mem_usage, fewer workers). It is the machine's memory, not the GPU's.",
    commands=_LOOK,
)
_LOAD_LESS_IN_WSL = Remedy(
    text=f"{_LOAD_LESS.text} WSL has about half of Windows' memory unless told otherwise: write memory= and swap= "
    "under [wsl2] into .wslconfig in the user's folder of Windows, then wsl --shutdown.",
    commands=_LOOK,
)
_BUILD_LESS = Remedy(
    text="Compile fewer files at once (MAX_JOBS=2, or 1; NVCC_THREADS=1), only for this GPU (TORCH_CUDA_ARCH_LIST), or "
    "give the container, the job or WSL (memory= in .wslconfig) more memory; a ready wheel needs no compiler. It is "
    "the machine's memory, not the GPU's.",
    commands=("export MAX_JOBS=2 NVCC_THREADS=1", *_LOOK),
)
_ENDED_BY = (
    "the kernel did so for lack of memory (of the machine, or of the container's or job's limit), or somebody or "
    "something else: a scheduler at its time limit, docker stop, a parent that gave up"
)
_WHILE_BUILT = (
    "the compilers that ran at once took more memory than the machine, WSL or the container has, and the kernel killed "
    "one (dmesg tells of it)"
)
_WRONG_SHAPE = (
    "a shape is wrong: a dimension taken from the wrong place or not cut, two tensors that broadcast against each "
    "other, an index or a length read from a damaged file"
)


def _of_absurd_size(said: str, size: int) -> Findings:
    yield finding(
        title="More memory was asked for than any machine has",
        actual=said,
        expected="a size that was meant",
        kind="script-wrong",
        message=f"One tensor of {size / 2**40:,.0f} TiB was asked for, which no machine has: {said}",
        usually=_WRONG_SHAPE,
        fix=Remedy(text="See in the traceback which operator asks for it, and print the shapes that it is given."),
        severity=ERROR,
    )


def _of_an_end(facts: Facts, line: str) -> Findings:
    """A process was refused memory, or killed: for lack of it, or from outside, where others than the kernel may have
    done so."""
    refused, lacking = _SAYS[-1].search(line), messages.in_report(facts, _SAYS[0])  # the kernel's own log says why
    why = "refused memory" if refused else "killed for lack of memory" if lacking else "killed from outside (SIGKILL)"
    outside = not refused and not lacking
    built = outside and any(map(_BUILDS.search, facts.messages))
    told = messages.is_told(line)
    yield finding(
        title="A process was killed from outside" if outside else _SHORT,
        actual=line,
        expected="more memory",
        severity=WARNING if told else ERROR,
        message=f"A process was {why}: {line.rstrip('.')}.",
        usually=_WHILE_BUILT if built else _ENDED_BY if outside else "",
        fix=_BUILD_LESS if built else _LOAD_LESS_IN_WSL if "WSL" in topics_of(facts) else _LOAD_LESS,
        who="" if told else "you",  # less may be loaded, and more asked for
        explains=() if told else ("packages/known-errors memory",),
    )


_SHORT = "Memory was not enough, the machine's or the job's share of it"
