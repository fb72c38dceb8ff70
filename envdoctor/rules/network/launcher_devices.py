import re
from dataclasses import replace

from envdoctor.knowledge.questions import messages
from envdoctor.rules.network import _joined
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, finding, need, rule

_SAYS = Pattern(r"(?i)Less than two GPU ids were configured|at least two are specified for .?--gpu_ids")


@rule(ERROR, kind="config-mismatch", subject="gpu_ids")
def launcher_devices(facts: Facts) -> Findings:
    """The launcher's list of GPUs names none that exist.

    Why: accelerate hands gpu_ids over as CUDA_VISIBLE_DEVICES as it stands. Brackets, quotes or blanks make the first
    entry invalid, and CUDA then shows no device at all; a number beyond the last GPU cuts the list there.
    num_processes counts all machines together: fewer than machines cannot be.
    Fix: bare numbers with commas, or all; as many processes as GPUs on all machines.
    Source: https://github.com/huggingface/accelerate/issues/3225
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#env-vars
    """
    said = messages.in_report(facts, _SAYS)
    if said is not None:
        yield _mismatch(
            said.string,
            "as many GPUs as processes",
            f"The launcher refuses its list of GPUs: {said.string.rstrip('.')}.",
        )
        return
    settings = need(facts.launcher).settings
    machines, processes = (_joined.whole(settings.get(name)) for name in ("num_machines", "num_processes"))
    if machines and processes and processes < machines:
        message = f"num_processes: {processes} is the number for all {machines} machines, at least one each."
        yield replace(_mismatch(str(processes), f"at least {machines}", message), subject="num_processes")
    yield from _from_list(facts, settings.get("gpu_ids"))


def _from_list(facts: Facts, text: str | None) -> Findings:
    if text is None or text.strip("'\" ").lower() in ("all", "", "none", "null"):
        return
    plain = text.strip("'\"")
    entries = [entry.strip() for entry in plain.split(",")]
    numbers = [int(entry) for entry in entries if re.fullmatch(r"\d{1,4}", entry)]
    count = _joined.gpu_count(facts)
    processes = _joined.ranks_here(facts)
    if len(numbers) < len(entries) and not all(re.fullmatch(r"(?:GPU|MIG)-[\w/-]+", entry) for entry in entries):
        yield finding(
            actual=text,
            expected=",".join(re.findall(r"\d+", plain)) or "all",
            kind="gpu-not-visible",
            message=f"gpu_ids: {text} is handed over as CUDA_VISIBLE_DEVICES, where it names no valid device.",
            fix="Give bare numbers with commas.",
            run=f"accelerate launch --gpu_ids {','.join(re.findall(r'[0-9]+', plain)) or 'all'} train.py",
        )
    elif count is not None and numbers and max(numbers) >= count:
        yield _mismatch(
            text, f"GPUs 0 to {count - 1}", f"gpu_ids: {text} names GPUs beyond the {count} of this machine."
        )
    elif processes is not None and numbers and processes[0] > len(numbers):
        yield _mismatch(text, f"{processes[0]} GPUs", f"gpu_ids: {text} lists fewer GPUs than {processes[1]} needs.")


def _mismatch(text: str, expected: str, message: str) -> Finding:
    return finding(
        actual=text,
        expected=expected,
        message=message,
        fix="List as many existing GPUs as there are processes.",
        run="accelerate config",
    )
