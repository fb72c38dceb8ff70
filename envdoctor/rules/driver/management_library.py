from envdoctor.knowledge.questions import is_board
from envdoctor.rules.rule import NOTE, Facts, Findings, finding, known, need, rule


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
    board = is_board(facts)
    yield finding(
        actual="missing",
        message="libnvidia-ml is missing: the GPUs' clocks, limits and errors could not be read.",
        fix="Look at them with the board's own tool; NVML comes with JetPack 6."
        if board
        else "Start the container with the driver capability utility.",
        run="tegrastats" if board else "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...",
    )
