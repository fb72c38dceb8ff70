"""What every verdict's JSON has, and what several tables of cases are about."""

import json
from typing import Any

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.speed.cost import Price
from envdoctor.speed.outcome import Verdict, as_json
from tests.speed.making import baseline, cpu_report


def scaled(probes: dict[str, float], **factors: float) -> dict[str, float]:
    """Probes with those whose name starts with a keyword multiplied."""
    return {
        name: speed * next((factor for start, factor in factors.items() if name.startswith(start)), 1.0)
        for name, speed in probes.items()
    }


def gpu(**changes: Any) -> Facts:
    return Facts(gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA H100 80GB HBM3", power_default=700.0, **changes),)))


DOLLARS = Price(per_hour=2.5, currency="$")
QUIET_CPU = baseline(1.5, like=cpu_report())


KEYS = (
    "schema verdict workload ratio interval alpha detectable cause steps_per_second tokens_per_second mfu "
    "of_achievable breakdown gpu_idle windows reference_probes conditions baseline cost"
).split()


def check_json(verdict: Verdict) -> dict[str, Any]:
    """What must hold of every verdict's JSON."""
    found = as_json(verdict)
    assert list(found) == KEYS
    again: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    assert (found["interval"] is None) == (found["ratio"] is None) == (found["detectable"] is None)
    if found["verdict"] in ("as-expected", "faster", "slower"):
        low, high = found["interval"]
        assert low <= found["ratio"] <= high
        assert found["alpha"] == 0.01
    else:
        assert again["conditions"]["reasons"], "an undecided verdict says why"
    return again
