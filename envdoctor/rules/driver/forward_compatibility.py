from envdoctor.knowledge.questions import newest_cuda, numbers
from envdoctor.rules.rule import NOTE, Facts, Findings, Skip, finding, need, rule


@rule(NOTE, kind="no-effect", subject="libcuda", expected="data-centre GPUs only", who="image")
def forward_compatibility(facts: Facts) -> Findings:
    """CUDA runs through NVIDIA's forward-compatibility library.

    Why: a libcuda newer than the kernel module (from /usr/local/cuda/compat) lets an old data-centre driver run a new
    CUDA major. It works on data-centre GPUs only, and graphics interoperability is missing. Worth knowing when the
    same image fails elsewhere with error 803 or 804.
    Fix: nothing.
    Source: https://docs.nvidia.com/deploy/cuda-compatibility/#forward-compatibility
    """
    driver = need(facts.driver)
    if driver.cuinit != 0 or not numbers(driver.kernel_module):
        raise Skip("CUDA does not start, or the driver's version is not known")
    compat = "/compat" in (driver.library_path or "")
    library = numbers(driver.library)
    newer = len(library) > 1 and library > numbers(driver.kernel_module)
    own = newest_cuda(driver.kernel_module)
    claims_more = own is not None and driver.cuda is not None and numbers(driver.cuda)[:2] > numbers(own)[:2]
    # A driver newer than the tables may bring a CUDA version that they do not know: only a library proves it.
    if not compat and not (newer and claims_more):
        return
    module, loaded = driver.kernel_module, driver.library or driver.library_path
    message = f"Driver {module} runs CUDA {driver.cuda or ''} through a forward-compatibility libcuda ({loaded})."
    actual = f"{loaded} over kernel module {module}"
    yield finding(actual=actual, message=message, fix="Nothing to do while CUDA starts.")
