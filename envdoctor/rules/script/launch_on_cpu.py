from envdoctor.rules.rule import ERROR, Facts, Findings, Remedy, Skip, Target, finding, rule, trains_on_gpu
from envdoctor.rules.script._launching import settings


@rule(ERROR, kind="config-mismatch", expected="the GPU is used")
def launch_on_cpu(facts: Facts, target: Target) -> Findings:
    """The launch file keeps what is started on the CPU of a machine with a GPU.

    Why: use_cpu: true (or --cpu) wins over every GPU; training then runs tens of times slower and says nothing.
    Fix: use_cpu: false.
    Source: https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-config
    """
    found = list(settings(facts))
    if trains_on_gpu(facts, target) is not True:
        raise Skip("there is no GPU to be used")
    for _, file in found:
        for setting in file:
            hidden = setting.name == "CUDA_VISIBLE_DEVICES" and setting.value in ("", "-1", "NoDevFiles")
            if hidden or (setting.name == "use_cpu" and setting.value.lower() in ("true", "yes", "1")):
                yield finding(
                    subject=setting.place,
                    actual=setting.line[:160],
                    message=f"{setting.place} keeps what is started on the CPU although there is a GPU.",
                    fix=_USE_GPU,
                )


_USE_GPU = Remedy(text="Let it use the GPU.", commands=("use_cpu: false",))
