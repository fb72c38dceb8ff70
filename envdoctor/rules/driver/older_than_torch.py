from envdoctor.knowledge.questions import driver_runs, driver_version, machine_of, newest_cuda, numbers, torch_cuda
from envdoctor.rules.rule import NOTE, Facts, Findings, Skip, finding, rule


@rule(NOTE, kind="no-effect", subject="driver")
def older_than_torch(facts: Facts) -> Findings:
    """The driver is older than torch's CUDA, and that is fine.

    Why: within one major version a driver runs later CUDA lines (minor-version compatibility), which nvidia-smi's
    "CUDA Version" makes people doubt. Two things need a driver of the line itself: PTX compiled at run time, and a
    few new driver features.
    Fix: nothing.
    Source: https://docs.nvidia.com/deploy/cuda-compatibility/#minor-version-compatibility
    """
    cuda, driver, offered = torch_cuda(facts), driver_version(facts), machine_of(facts).driver_cuda
    if not cuda or driver is None:
        raise Skip("the versions of torch's CUDA and of the driver are not both known")
    windows = machine_of(facts).windows
    own = offered or newest_cuda(driver, windows=windows)
    if own is None or numbers(own)[:2] >= numbers(cuda)[:2]:
        return
    if driver_runs(cuda, driver=driver, driver_cuda=offered, windows=windows) is not True:
        return
    message = f"Driver {driver} is of CUDA {own}, torch of {cuda}: that works, by minor-version compatibility."
    expected = f"any driver that runs CUDA {cuda.partition('.')[0]}.x"
    yield finding(actual=f"{driver} (CUDA {own})", expected=expected, message=message, fix="Nothing to do.")
