"""Settings that do not go together, told before anything is downloaded into memory."""

from __future__ import annotations

from dataclasses import fields

from trainer.errors import TrainerError
from trainer.options.settings import Settings

_OF_ADAMW = ("beta1", "beta2", "epsilon")


def check(settings: Settings, kind: str, frozen: bool) -> None:
    """TrainerError for what contradicts itself, or what sharding would have to cut.

    kind: of several processes (`trainer.compute.parallel.Group`); frozen: adapters alone are trained.
    """
    sharded = kind == "fsdp2"
    if settings.quantize != "none" and sharded:
        raise TrainerError(
            "bad-setting",
            f"quantize={settings.quantize} does not go with FSDP2: packed weights cannot be cut",
            "Set parallel=ddp (a narrow model fits more easily), or leave quantize out.",
        )
    narrow = settings.quantize != "none"
    others = {"adapters: the matrices are frozen": frozen, "FSDP2": sharded, "quantize": narrow}
    for other, given in others.items():
        if settings.float8 != "off" and given:
            raise TrainerError("bad-setting", f"float8={settings.float8} does not go with {other}", "Leave float8 out.")
    if settings.moments == "8bit":
        _check_narrow_moments(settings, sharded)
    elif settings.moments == "adafactor":
        _check_adafactor(settings, sharded, frozen)


def _check_narrow_moments(settings: Settings, sharded: bool) -> None:
    if settings.optimizer != "auto":
        raise TrainerError(
            "bad-setting",
            f"optimizer={settings.optimizer} is torch's, which has no moments in 8 bits",
            "Leave optimizer out, or moments.",
        )
    if sharded:
        raise TrainerError(
            "bad-setting",
            "moments=8bit does not go with FSDP2: blocks of weights cannot be cut",
            "Leave moments out (FSDP2 shares them among the processes), or set parallel=ddp.",
        )


def _check_adafactor(settings: Settings, sharded: bool, frozen: bool) -> None:
    defaults = {item.name: item.default for item in fields(settings)}
    if given := [name for name in _OF_ADAMW if getattr(settings, name) != defaults[name]]:
        raise TrainerError(
            "bad-setting", f"{given[0]} is an option of AdamW, which moments=adafactor is not", f"Leave {given[0]} out."
        )
    if settings.optimizer == "fused":
        raise TrainerError(
            "bad-setting", "optimizer=fused: torch has no fused Adafactor", "Leave optimizer out (or loop, foreach)."
        )
    if sharded:
        raise TrainerError(
            "bad-setting",
            "moments=adafactor does not go with FSDP2: the means of a column need the whole matrix",
            "Leave moments out (FSDP2 shares them among the processes), or set parallel=ddp.",
        )
    if frozen:
        raise TrainerError(
            "bad-setting",
            "moments=adafactor does not go with adapters: its steps are relative to a matrix's size, "
            "and half of theirs begin at zero",
            "Leave moments out: AdamW's of adapters are small.",
        )
