from envdoctor.rules.network import _joined
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Remedy, finding, messages, need, rule

_SAYS = Pattern(r"(?i)Less than two GPU ids were configured|at least two are specified for .?--gpu_ids")
_NUMBER, _DIGITS, _IDENTIFIER = Pattern(r"\d{1,4}"), Pattern(r"[0-9]+"), Pattern(r"(?:GPU|MIG)-[\w/-]+")


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
        text = f"The launcher refuses its list of GPUs: {said.string.rstrip('.')}."
        yield finding(actual=said.string, expected="as many GPUs as processes", message=text, fix=_AS_MANY)
        return
    settings = need(facts.launcher).settings
    machines, processes = (_joined.whole(settings.get(name)) for name in ("num_machines", "num_processes"))
    if machines and processes and processes < machines:
        yield finding(
            subject="num_processes",
            actual=str(processes),
            expected=f"at least {machines}",
            message=f"num_processes: {processes} is the number for all {machines} machines, at least one each.",
            fix=_AS_MANY,
        )
    yield from _from_list(facts, settings.get("gpu_ids"))


def _from_list(facts: Facts, text: str | None) -> Findings:
    if text is None or text.strip("'\" ").lower() in ("all", "", "none", "null"):
        return
    plain = text.strip("'\"")
    entries = [entry.strip() for entry in plain.split(",")]
    numbers = [int(entry) for entry in entries if _NUMBER.fullmatch(entry)]
    count, processes = _joined.gpu_count(facts), _joined.ranks_here(facts)
    if len(numbers) < len(entries) and not all(map(_IDENTIFIER.fullmatch, entries)):
        bare = ",".join(digits[0] for digits in _DIGITS.finditer(plain)) or "all"
        yield finding(
            actual=text,
            expected=bare,
            kind="gpu-not-visible",
            message=f"gpu_ids: {text} is handed over as CUDA_VISIBLE_DEVICES, where it names no valid device.",
            fix=Remedy(
                text="Give bare numbers with commas.", commands=(f"accelerate launch --gpu_ids {bare} train.py",)
            ),
        )
    elif count is not None and numbers and max(numbers) >= count:
        beyond = f"gpu_ids: {text} names GPUs beyond the {count} of this machine."
        yield finding(actual=text, expected=f"GPUs 0 to {count - 1}", message=beyond, fix=_AS_MANY)
    elif processes is not None and numbers and processes[0] > len(numbers):
        fewer = f"gpu_ids: {text} lists fewer GPUs than {processes[1]} needs."
        yield finding(actual=text, expected=f"{processes[0]} GPUs", message=fewer, fix=_AS_MANY)


_AS_MANY = Remedy(text="List as many existing GPUs as there are processes.", commands=("accelerate config",))
