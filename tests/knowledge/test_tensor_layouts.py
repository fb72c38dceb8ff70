"""What sizes alone tell of weights that do not fit: a side of 1, groups, one layer, the width, the depth."""

import pytest

from envdoctor.knowledge.state_dicts import misfit_of, read_misfit
from envdoctor.knowledge.tensor_layouts import Size
from envdoctor.knowledge.tensor_sizes import read_sizes


def _line(name: str, stored: str, wanted: str) -> str:
    return (
        f"size mismatch for {name}: copying a param with shape torch.Size([{stored}]) from checkpoint, the shape in "
        f"current model is torch.Size([{wanted}])."
    )


def _old(name: str, stored: str, wanted: str) -> str:
    return (
        f"size mismatch for {name}: copying a param of torch.Size([{stored}]) from checkpoint, where the shape is "
        f"torch.Size([{wanted}]) in current model."
    )


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([_line("dec.0.conv.weight", "8, 15", "8, 1, 15"), _line("dur.conv.weight", "2, 3", "2, 1, 3")], "one of 1"),
        ([_line("up.1.attn.proj.weight", "512, 512, 1, 1", "512, 512")], "kernel of 1"),
        ([_line("pe", "1, 77, 64", "77, 64")], "one of 1"),
        ([_old("layer1.0.conv2.weight", "64, 2, 3, 3", "64, 64, 3, 3")], "32 groups in the file"),
        ([_line("features.3.conv.weight", "96, 96, 3, 3", "96, 1, 3, 3")], "96 groups in the model"),
        ([_line("emb_g.weight", "109, 256", "4, 256")], "speakers"),
        ([_line("net.out.weight", "10, 64", "7, 64"), _line("net.out.bias", "10", "7")], "10 in the file, 7 in"),
        (
            [_line(f"blocks.{n}.norm.weight", "768", "1024") for n in range(4)]
            + [_line("blocks.0.attn.proj.weight", "768, 768", "1024, 1024")],
            "768 where the model has 1024",
        ),
    ],
)
def test_sizes_are_read(lines: list[str], says: str) -> None:
    reading = read_misfit(misfit_of(lines))
    assert reading is not None
    assert says in f"{reading.meaning} {reading.usually}"


def test_more_blocks_on_one_side_are_depth() -> None:
    names = ", ".join(f'"bert.encoder.layer.{n}.{part}"' for n in (6, 7) for part in ("norm.weight", "norm.bias"))
    reading = read_misfit(misfit_of([f"Missing key(s) in state_dict: {names}."]))
    assert reading is not None
    assert "bert.encoder.layer.6" in reading.meaning


@pytest.mark.parametrize(
    "lines",
    [
        [_line("conv1.weight", "64, 1, 7, 7", "64, 4, 7, 7"), _line("x.weight", "3, 4", "5, 6")],
        [_line("a.weight", "64, 64, 3, 3", "64, 128, 3, 3"), _line("b.weight", "7, 9", "8, 11")],
        [_line("a.weight", "12, 5", "5, 12"), _line("b.bias", "3", "9")],
        ['Missing key(s) in state_dict: "enc.layers.0.w", "enc.layers.0.b", "enc.layers.1.w", "enc.layers.1.b".'],
        ['Missing key(s) in state_dict: "enc.layers.4.w", "enc.layers.9.b", "head.w", "enc.layers.1.b".'],
    ],
)
def test_sizes_that_leave_it_open_are_not_read(lines: list[str]) -> None:
    assert read_misfit(misfit_of(lines)) is None


def test_a_model_whose_tensors_are_empty_is_in_pieces() -> None:
    found = read_sizes(
        [Size(name="weight", stored=(4096, 1024), wanted=(0,)), Size(name="bias", stored=(4096,), wanted=(0,))]
    )
    assert found is not None
    assert "ZeRO-3" in found.usually
    one = read_sizes(
        [Size(name="weight", stored=(4096, 1024), wanted=(0,)), Size(name="bias", stored=(4096,), wanted=(512,))]
    )
    assert one is None or "ZeRO-3" not in one.usually
