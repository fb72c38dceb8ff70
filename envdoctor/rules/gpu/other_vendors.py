from envdoctor.rules.rule import NOTE, Facts, Findings, finding, need, rule


@rule(NOTE, kind="not-judged", expected="an NVIDIA GPU or a CPU")
def other_vendors(facts: Facts) -> Findings:
    """There is an AMD or Intel GPU, which is not judged.

    Why: drivers, builds, flags and speeds of ROCm and XPU follow other rules; nothing here says that they are well.
    Fix: nothing.
    Source: https://rocm.docs.amd.com and https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html
    """
    driver = need(facts.driver)
    for name in driver.other_accelerators:
        message = f"{name} is not judged: envdoctor knows NVIDIA GPUs and CPUs."
        yield finding(subject=name, actual="present", message=message, fix="Nothing to do.")
