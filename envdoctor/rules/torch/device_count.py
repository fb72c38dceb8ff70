from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Skip, finding, known, need, rule


@rule(WARNING, kind="gpu-not-visible", subject="GPUs")
def device_count(facts: Facts) -> Findings:
    """torch sees fewer GPUs than the driver.

    Why: what is paid for stands idle. CUDA_VISIBLE_DEVICES hides GPUs on purpose (then this is a note); it also cuts
    the list at its first invalid entry, and on a MIG GPU torch sees one slice.
    Fix: correct CUDA_VISIBLE_DEVICES.
    Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#env-vars
    """
    torch, gpus = need(facts.torch), need(facts.gpus)
    there = gpus.count if gpus.count is not None else len(gpus.devices)
    if torch.device_count is None or not there:
        raise Skip("the number of GPUs is not known")
    if facts.origin.kind == "pasted" or not torch.cuda_available or torch.device_count >= there:
        return
    variables = known(facts.variables) or {}
    value = variables.get("CUDA_VISIBLE_DEVICES")
    entries = [entry for entry in (value or "").split(",") if entry.strip()]
    meant = value is not None and len(entries) == torch.device_count
    mig = any(gpu.mig for gpu in gpus.devices)
    because = (
        f" because of CUDA_VISIBLE_DEVICES={value}" if value is not None else " (MIG shows one slice)" if mig else ""
    )
    yield finding(
        actual=f"{torch.device_count} of {there}",
        expected=str(there),
        severity=NOTE if meant or mig else None,
        message=f"torch sees {torch.device_count} of {there} GPUs{because}.",
        fix="Name every GPU that is to be used, by index or UUID, without spaces and brackets.",
        run="unset CUDA_VISIBLE_DEVICES",
    )
