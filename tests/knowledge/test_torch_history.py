"""When torch's names came and went, beside what its release notes, documentation and users' errors say."""

from __future__ import annotations

import pytest

from envdoctor.knowledge import history, names, versions


@pytest.mark.parametrize(
    ("module", "added", "removed"),
    [
        ("torch._six", "", "2.0.0"),
        ("torch.func", "2.0.0", ""),
        ("torch._dynamo", "2.0.0", ""),
        ("torch.distributed.checkpoint", "2.0.0", ""),
        ("torch.compiler", "2.1.0", ""),
        ("torch.export", "2.1.0", ""),
        ("torch.distributed.device_mesh", "2.2.0", ""),
        ("torch.distributed.checkpoint.state_dict", "2.2.0", ""),
        ("torch.nn.attention", "2.3.0", ""),
        ("torch.distributed.pipelining", "2.4.0", ""),
        ("torch.distributed.pipeline", "", "2.4.0"),
        ("torch.nn.attention.flex_attention", "2.5.0", ""),
        ("torch.accelerator", "2.6.0", ""),
        ("torch.nn.attention.varlen", "2.10.0", ""),
    ],
)
def test_modules(module: str, added: str, removed: str) -> None:
    span = history.of_module(module)
    assert span is not None
    assert (span.name, span.added, span.removed) == (module, added, removed)


@pytest.mark.parametrize(
    ("module", "name", "added", "removed"),
    [
        ("torch._six", "container_abcs", "", "1.9.0"),
        ("torch.optim.lr_scheduler", "LRScheduler", "2.0.0", ""),
        ("torch.nn.functional", "scaled_dot_product_attention", "2.0.0", ""),
        ("torch.onnx", "ExportOutput", "2.1.0", "2.2.0"),
        ("torch.utils._pytree", "register_pytree_node", "2.2.0", ""),
        ("torch.distributed.tensor.parallel", "PrepareModuleOutput", "2.2.0", ""),
        ("torch.utils.checkpoint", "_ignored_ops", "2.2.0", "2.5.0"),
        ("torch.amp", "GradScaler", "2.3.0", ""),
        ("torch.cuda.amp.grad_scaler", "_refresh_per_optimizer_state", "", "2.3.0"),
        ("torch.library", "custom_op", "2.4.0", ""),
        ("torch.nn", "RMSNorm", "2.4.0", ""),
        ("torch.serialization", "add_safe_globals", "2.4.0", ""),
        ("torch.distributed.tensor", "DTensor", "2.5.0", ""),
        ("torch.optim", "Adafactor", "2.5.0", ""),
        ("torch.distributed.fsdp", "fully_shard", "2.6.0", ""),
        ("torch.compiler", "set_stance", "2.6.0", ""),
        ("torch.optim", "Muon", "2.9.0", ""),
    ],
)
def test_names(module: str, name: str, added: str, removed: str) -> None:
    span = history.of_name(module, name)
    assert span is not None
    assert (span.added, span.removed) == (added, removed)


@pytest.mark.parametrize(
    ("callee", "argument", "added", "removed"),
    [
        ("AdamW.__init__", "fused", "2.0.0", ""),
        ("Module.load_state_dict", "assign", "2.1.0", ""),
        ("GradScaler.__init__", "device", "2.3.0", ""),
        ("scaled_dot_product_attention", "enable_gqa", "2.5.0", ""),
        ("CosineAnnealingLR.__init__", "verbose", "", "2.7.0"),
    ],
)
def test_arguments(callee: str, argument: str, added: str, removed: str) -> None:
    (span,) = history.of_argument(callee, argument)
    assert (span.package, span.added, span.removed) == ("torch", added, removed)


def test_where_it_went() -> None:
    span = history.of_name("torch.cuda.amp.grad_scaler", "_refresh_per_optimizer_state")
    assert span is not None
    assert span.moved_to == "torch.amp.grad_scaler"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("torch", "float16"),  # of torch itself much is defined in C
        ("torch", "tensor"),  # was a module too, and is a function still
        ("torch", "return_types"),  # was made in C before it was a file
        ("torch.utils.data.datapipes.utils.common", "DILL_AVAILABLE"),  # went in 2.3.0 and came back in 2.3.1
        ("torch.cuda.amp.grad_scaler", "OptState"),  # defined elsewhere from 2.3 on, and here still
        ("torch.distributed.nn", "Anything"),
    ],
)
def test_what_is_not_told(module: str, name: str) -> None:
    assert history.of_name(module, name) is None
    assert history.reads(module) == ()


def test_a_module_that_is_told_in_part_says_nothing_of_other_names() -> None:
    assert history.of_name("torch.library", "custom_op") is not None
    assert history.reads("torch.library") == ()
    assert history.reads("torch.optim")


def test_the_inner_module_has_the_narrower_bounds() -> None:
    outer, inner = history.of_module("torch.nn.attention"), history.of_module("torch.nn.attention.varlen")
    assert outer is not None
    assert inner is not None
    assert versions.below(outer.added, inner.added)
    assert history.of_module("torch.nn.attention.no_such_part") == outer


def _by_hand() -> tuple[names.Name, ...]:
    found = {(row.module, row.name, row.argument): row for rows in (names.NAMES, names._MODULES) for row in rows}
    return tuple(row for row in found.values() if row.package == "torch" and not row.argument)


def _span(row: names.Name) -> history.Span | None:
    """What the sources say of a row; a name that went with its module has no line of its own."""
    span = history.of_name(row.module, row.name) if row.name else None
    whole = history.of_module(row.module) if span is None else None
    if whole is not None and row.name and not (row.direction == "removed" and whole.removed):
        return None
    return span or whole


TOLD_TWICE = {f"{row.module} {row.name}".strip(): row for row in _by_hand() if _span(row)}


@pytest.mark.parametrize("row", TOLD_TWICE.values(), ids=TOLD_TWICE)
def test_the_rows_by_hand_say_the_same(row: names.Name) -> None:
    span = _span(row)
    assert span is not None
    assert versions.same(span.removed if row.direction == "removed" else span.added, row.release)


def test_there_are_rows_by_hand_to_compare() -> None:
    wanted = {"torch._six container_abcs", "torch.onnx ExportOptions", "torch.library custom_op"}
    assert wanted | {"torch.testing._asserts", "torch.distributed.pipeline.sync Pipe"} <= set(TOLD_TWICE)


@pytest.mark.parametrize("row", [row for row in _by_hand() if row.pin], ids=lambda row: f"{row.module} {row.name}")
def test_a_pin_is_of_the_last_that_has_it(row: names.Name) -> None:
    assert versions.same(row.pin.removeprefix("torch<"), row.release)


def test_only_one_release_lacked_it() -> None:
    (row,) = names.of_name("torch.utils.data.datapipes.utils.common", "DILL_AVAILABLE")
    assert row.fits("2.3.0")
    assert not row.fits("2.3.1")
