from envdoctor.knowledge.questions import numbers, reaches
from envdoctor.rules.network import _joined
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Pattern, finding, need, rule

_CARDS = Pattern(r"RTX\s?40\d0")
FIRST = (550, 40, 7)
"""accelerate/utils/environment.py check_cuda_p2p_ib_support: RTX 40 cards hang with an older driver."""


@rule(WARNING, kind="slow-interconnect", subject="driver", expected="550.40.07 or later", who="host")
def old_driver_peer(facts: Facts) -> Findings:
    """Several RTX 40 cards with a driver that offers peer access which does not work.

    Why: drivers before 550.40.07 announce peer access for these cards; NCCL uses it and hangs or computes wrong sums.
    accelerate refuses to start unless NCCL_P2P_DISABLE=1 and NCCL_IB_DISABLE=1 are set.
    Fix: driver 550.40.07 or later, then drop the variables.
    Source: https://github.com/huggingface/accelerate/blob/main/src/accelerate/utils/environment.py
    """
    driver, gpus = need(facts.driver), need(facts.gpus)
    cards = [gpu.name for gpu in gpus.devices if _CARDS.search(gpu.name)]
    version = numbers(driver.kernel_module)
    if not version or reaches(version, FIRST) or not cards or (_joined.gpu_count(facts) or 0) < 2:
        return
    worked_around = _joined.variables(facts).get("NCCL_P2P_DISABLE") == "1"
    meant = _joined.ranks_here(facts)
    avoided = " (NCCL_P2P_DISABLE=1 avoids it)" if worked_around else ""
    yield finding(
        actual=driver.kernel_module or "",
        severity=None if meant and meant[0] > 1 and not worked_around else NOTE,
        message=f"Driver {driver.kernel_module} offers {cards[0]} peer access that does not work: NCCL hangs{avoided}.",
        fix="Update the driver. Until then switch peer access off.",
        run="export NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1",
    )
