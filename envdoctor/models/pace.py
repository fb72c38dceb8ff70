"""How long one step of a model takes on a target: the modelled speed (``speed/modelled.py``), with its spread."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.knowledge import gpus
from envdoctor.knowledge.work import Work
from envdoctor.locks.target import Target
from envdoctor.models.architecture import Architecture
from envdoctor.models.formula import formula
from envdoctor.models.memory import Job
from envdoctor.speed.dense import CASTS, UPDATE, Decoder, step_work
from envdoctor.speed.modelled import expected_step
from envdoctor.values.frozen import frozen

FROZEN = 4.0 / 6.0  # of a product's FLOPs, where its weight needs no gradient


@frozen
class Pace:
    """``seconds`` of one optimizer step; a sound card is within a factor of exp(``log_sd``) two times in three."""

    seconds: float
    log_sd: float


def pace(shape: Architecture, job: Job, target: Target, precision: str, rung: str) -> Pace | None:
    """None for a CPU, a model of experts, and a chip of which no speed is known."""
    chip = next(filter(None, map(gpus.board, target.gpu_names)), None)
    if chip is None or shape.experts:
        return None
    try:
        found = expected_step(work(shape, job, precision, rung), chip)
    except ValueError:
        return None
    return Pace(seconds=found.seconds, log_sd=found.log_sd)


def work(shape: Architecture, job: Job, precision: str, rung: str) -> Work:
    """What one optimizer step asks of a device. A row is taken for one document where nobody said how long they are."""
    decoder = Decoder(
        layers=shape.layers,
        width=shape.hidden,
        heads=shape.heads,
        kv_heads=shape.key_heads,
        inner=shape.inner,
        vocabulary=shape.vocabulary,
        gated=shape.gated,
        head_width=shape.head_width,
    )
    tokens = float(job.tokens * job.accumulate)
    found = step_work(
        decoder,
        tokens=tokens,
        squares=tokens * min(job.tokens, job.documents or job.tokens),
        trained=tokens * job.trained,
        precision=precision,
        recomputed=_share(shape, rung),
        partly=len(formula().between(rung, shape.layers)) / max(1, shape.layers),
    )
    found = replace(found, launches=found.launches * job.accumulate)
    return _of_adapters(found, shape, job, decoder, rung) if job.rank else found


def _share(shape: Architecture, rung: str) -> float:
    """Of the layers that are computed twice as a whole."""
    return len(formula().again(rung, shape.layers)) / max(1, shape.layers)


def _of_adapters(whole: Work, shape: Architecture, job: Job, decoder: Decoder, rung: str) -> Work:
    """The same with a frozen model: no weight's gradient but the adapters', no update and no casts but theirs."""
    adapters = float(shape.adapters(job.rank))
    again = 2.0 * _share(shape, rung)
    share = (6.0 * FROZEN + again) / (6.0 + again)
    products = {form: flops * share for form, flops in whole.products.items()}
    products[whole.precision] = products.get(whole.precision, 0.0) + (6.0 + again) * adapters * whole.tokens
    update = UPDATE * adapters
    spared = (UPDATE + CASTS) * decoder.weights
    return replace(whole, products=products, bytes=max(0.0, whole.bytes - spared) + update, optimizer_bytes=update)
