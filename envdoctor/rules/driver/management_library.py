from envdoctor.knowledge.questions import is_board
from envdoctor.rules.rule import NOTE, Facts, Findings, Remedy, finding, known, need, rule


@rule(NOTE, kind="not-judged", subject="NVML", expected="libnvidia-ml.so.1", who="image")
def management_library(facts: Facts) -> Findings:
    """libnvidia-ml is missing, so the GPUs' health could not be read.

    Why: clocks, temperature, ECC, power limits and links come from NVML. A container gets it with the driver
    capability "utility"; CUDA works without. What was not read was not judged.
    A Jetson has no NVML before JetPack 6; its own tool is tegrastats.
    Fix: NVIDIA_DRIVER_CAPABILITIES=compute,utility.
    Source: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html#driver-capabilities
    https://github.com/ultralytics/ultralytics/pull/20680
    """
    driver = need(facts.driver)
    need(driver.management_library, "whether NVML is there is not known")
    gpus = known(facts.gpus)
    if driver.management_library or not (driver.kernel_module or driver.devices) or (gpus and gpus.devices):
        return
    message = "libnvidia-ml is missing: the GPUs' clocks, limits and errors could not be read."
    yield finding(actual="missing", message=message, fix=_ON_A_BOARD if is_board(facts) else _CAPABILITY)


_ON_A_BOARD = Remedy(
    text="Look at them with the board's own tool; NVML comes with JetPack 6.", commands=("tegrastats",)
)
_CAPABILITY = Remedy(
    text="Start the container with the driver capability utility.",
    commands=("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...",),
)
