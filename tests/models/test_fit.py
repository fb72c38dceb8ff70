"""`envdoctor fit`, as it is asked: models by folder, file and name, targets, prices, formats and exit codes."""

from __future__ import annotations

import json
import socket
import struct
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from envdoctor import Trouble, fit
from envdoctor.models import headers
from envdoctor.models.formula import formula
from envdoctor.system.process import Outcome
from tests.commands.test_check import envdoctor
from tests.models.test_architecture import PUBLISHED

SCHEMA = Path(__file__).resolve().parents[2] / "envdoctor" / "schemas" / "fit.json"


def write_config(folder: Path, name: str, **change: Any) -> Path:
    family, config, _ = PUBLISHED[name]
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": family, **config, **change}))
    return folder


def write_tensors(path: Path, shapes: dict[str, list[int]], dtype: str = "BF16") -> Path:
    """The header of a safetensors file; nothing that reads headers reads what follows it."""
    entries = {name: {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]} for name, shape in shapes.items()}
    text = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_config(tmp_path / "small", "SmolLM2 135M")


def asked(*words: str | Path, **more: Any) -> tuple[Outcome, dict[str, Any]]:
    outcome = envdoctor("fit", *words, "--format", "json", **more)
    found = json.loads(outcome.out) if outcome.out else {}
    if found:
        schema = SCHEMA.with_name("error.json") if "error" in found else SCHEMA
        jsonschema.validate(found, json.loads(schema.read_text()))
    return outcome, found


def test_a_model_that_fits(small: Path) -> None:
    outcome, found = asked("--model", small, "--target", "h100", "--tokens", "8192")
    assert (outcome.code, found["outcome"], found["target"]) == (0, "fits", "h100")
    assert found["model"]["parameters"] == found["model"]["trained_parameters"] == 134_515_008
    (place,) = (place for place in found["places"] if place["target"] == "h100")
    none, alternate, full = place["rungs"]
    assert none["bytes"] > alternate["bytes"] > full["bytes"]
    assert none["largest_micro_batch"] < alternate["largest_micro_batch"] < full["largest_micro_batch"]
    for rung in place["rungs"]:
        assert sum(rung["parts"].values()) == pytest.approx(rung["bytes"])
    assert none["parts"]["weights"] == 4 * 134_515_008
    assert none["parts"]["optimizer"] == 8 * 134_515_008
    assert "cpu" not in {place["target"] for place in found["places"]}


def test_what_would_fit_instead_does(tmp_path: Path) -> None:
    model = write_config(tmp_path / "m", "Llama-3.2 1B")
    outcome, found = asked("--model", model, "--target", "rtx4090")
    assert outcome.code == 1
    options = ["--moments 8bit", "--moments adafactor", "--lora-rank 16"]
    assert [other["options"] for other in found["alternatives"]] == options
    assert "What would fit: --moments 8bit (" in envdoctor("fit", "--model", model, "--target", "rtx4090").out
    for other in found["alternatives"]:
        again, then = asked("--model", model, "--target", "rtx4090", *other["options"].split())
        assert (again.code, then["alternatives"]) == (0, [])
        (place,) = (place for place in then["places"] if place["target"] == "rtx4090")
        (rung,) = (rung for rung in place["rungs"] if rung["recompute"] == other["recompute"])
        assert rung["bytes"] == other["bytes"]
    outcome, found = asked("--model", model, "--target", "h100", "--tokens", "10000000")
    assert [other["options"].split()[0] for other in found["alternatives"]] == ["--tokens"]


def test_the_largest_micro_batch_fits_and_one_token_more_does_not(small: Path) -> None:
    _, found = asked("--model", small, "--target", "t4")
    (place,) = (place for place in found["places"] if place["target"] == "t4")
    for rung in place["rungs"]:
        most = rung["largest_micro_batch"]
        for tokens, fits in ((most, True), (most + 1, False)):
            _, again = asked("--model", small, "--target", "t4", "--tokens", str(tokens))
            (same,) = (one for one in again["places"] if one["target"] == "t4")
            (chosen,) = (one for one in same["rungs"] if one["recompute"] == rung["recompute"])
            assert chosen["fits"] is fits


def test_no_more_layers_are_recomputed_than_have_to_be(small: Path) -> None:
    """Between what fits with none of them recomputed and what fits with all: as the trainer chooses by itself."""
    _, found = asked("--model", small, "--target", "t4")
    (place,) = (place for place in found["places"] if place["target"] == "t4")
    none, *_, full = place["rungs"]
    shares = []
    for part in (0.02, 0.5, 0.9):
        tokens = none["largest_micro_batch"] + part * (full["largest_micro_batch"] - none["largest_micro_batch"])
        outcome, found = asked("--model", small, "--target", "t4", "--tokens", str(int(tokens)))
        (place,) = (place for place in found["places"] if place["target"] == "t4")
        _, fewest, _, full = place["rungs"]
        assert (outcome.code, place["recompute"], fewest["fits"]) == (0, fewest["recompute"], True)
        assert place["step_seconds"] > 0
        shares.append(fewest["recompute"])
    rungs = formula().ladder(30, selective=True)
    assert [rungs.index(share) for share in shares] == sorted(rungs.index(share) for share in shares)
    assert shares[0].startswith("0+")  # partly, before any is as a whole
    whole, _, partly = shares[-1].partition("+")
    assert 15 < int(whole) < 30 == int(whole) + int(partly)
    told = envdoctor("fit", "--model", small, "--target", "t4", "--tokens", str(int(tokens))).out
    assert f"fits, recomputing {whole} layers and {partly} partly" in told


def test_a_model_that_does_not(tmp_path: Path) -> None:
    big = write_config(tmp_path / "big", "Llama-3 70B")
    outcome, found = asked("--model", big, "--target", "rtx4090")
    assert (outcome.code, found["outcome"]) == (1, "does-not-fit")
    assert all(place["fits"] is False and place["cost"] is None for place in found["places"])
    outcome, found = asked("--model", big)  # on none of them
    assert outcome.code == 1


def test_adapters_need_less_and_cost_less(tmp_path: Path) -> None:
    model = write_config(tmp_path / "m", "Llama-3 8B")
    whole, lora = fit(model, target="h100"), fit(model, target="h100", lora_rank=16)
    assert (whole.outcome, lora.outcome) == ("does-not-fit", "fits")
    assert lora.model.trained_parameters == 41_943_040
    seconds = {place.target: place.step_seconds for place in whole.places}
    for place in lora.places:
        assert place.step_seconds < seconds[place.target], place.target


def test_money_is_as_it_was_typed_and_currencies_are_not_mixed(small: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('h100 = "2.49 EUR/h"\na100 = "1.39 EUR/h"\nl4 = "$0.80/h"\n')
    _, found = asked("--model", small, "--steps", "1000", "--prices", prices)
    places = {place["target"]: place for place in found["places"]}
    assert (places["h100"]["price"], places["h100"]["currency"]) == (2.49, "EUR")
    assert places["l4"]["currency"] == "$"
    for name in ("h100", "a100", "l4"):
        row = places[name]
        assert row["seconds"] == pytest.approx(1000 * row["step_seconds"])
        assert row["cost"] == pytest.approx(row["seconds"] / 3600 * row["price"])
    best = min(("h100", "a100"), key=lambda name: places[name]["cost"])
    assert set(found["cheapest"]) == {best, "l4"}
    text = envdoctor("fit", "--model", small, "--steps", "1000", "--prices", prices).out
    assert "EUR at 2.49 EUR/h" in text
    assert "at $0.8/h" in text
    assert "not compared" in text
    alone = envdoctor("fit", "--model", small, "--target", "h100", "--steps", "1000", "--price", "2.49/h").out
    assert "at 2.49/h" in alone


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (("--target", "h10"), "Did you mean h100", 2),
        (("--price", "2.49/h"), "which target costs that?", 2),
        (("--target", "h100", "--price", "cheap"), "money per hour", 2),
        (("--tokens", "1"), "--tokens", 2),
        (("--task", "gritlm"), "gritlm", 2),
        (("--prices", "nowhere.toml"), "nowhere.toml", 2),
    ],
)
def test_wrong_usage(small: Path, words: tuple[str, ...], says: str, code: int) -> None:
    outcome = envdoctor("fit", "--model", small, *words)
    assert outcome.code == code
    assert says in outcome.err
    assert "Traceback" not in outcome.err
    assert not outcome.out


@pytest.mark.parametrize(
    ("text", "says"),
    [('h10 = "2/h"\n', "Did you mean h100?"), ('h100 = "free"\n', "h100: 'free' is not money"), ("", "names no price"),
     ("h100 = [1]\n", "h100: is no price")],
)  # fmt: skip
def test_a_price_list_that_is_wrong(small: Path, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    outcome = envdoctor("fit", "--model", small, "--prices", tmp_path / "p.toml")
    assert outcome.code == 2
    assert says in outcome.err


def test_every_line_has_room_in_80_columns(tmp_path: Path, small: Path) -> None:
    for words in (
        ("--model", small, "--target", "h100", "--steps", "123456", "--tokens", "8192"),
        ("--model", write_config(tmp_path / ("long" * 30), "Llama-3 70B"), "--target", "v100", "--lora-rank", "16"),
        ("--model", write_config(tmp_path / "moe", "Mixtral 8x7B")),
        ("--help",),
    ):
        outcome = envdoctor("fit", *words, COLUMNS="80")
        assert outcome.out
        assert max(map(len, outcome.out.splitlines())) <= 80


def test_times_and_their_ranges_stand_apart_however_short(tmp_path: Path) -> None:
    small = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "vocab_size": 600}
    tiny = write_config(tmp_path / "tiny", "SmolLM2 135M", **small, num_attention_heads=4, num_key_value_heads=2)
    outcome = envdoctor("fit", "--model", tiny, "--target", "h100", "--lora-rank", "16", COLUMNS="80")
    _, _, table = outcome.out.partition("s a step")
    rows = [line.split() for line in table.splitlines() if line.startswith(("h100", "a100", "t4"))]
    assert len(rows) == 3
    for row in rows:
        low, _, high = row[-1].partition("-")
        assert float(low) < float(row[-2]) < float(high)


def test_a_family_that_is_not_known_is_counted_from_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "quite-new"}')
    outcome, found = asked("--model", folder)
    assert outcome.code == 3
    assert "quite-new" in outcome.err
    write_tensors(folder / "model.safetensors", {"model.layers.0.w": [4096, 1000], "model.layers.1.w": [4096, 1000]})
    outcome, found = asked("--model", folder, "--target", "h100")
    assert (outcome.code, found["outcome"], found["model"]["parameters"]) == (3, "unknown", 8_192_000)
    assert "no family" in found["places"][0]["why"]
    write_tensors(folder / "model.safetensors", {"model.layers.0.w": [1 << 20, 1 << 13]})
    outcome, found = asked("--model", folder, "--target", "h100")
    assert (outcome.code, found["outcome"]) == (1, "does-not-fit")  # the weights alone are too many


def test_experts_are_counted_and_their_memory_is_not_guessed(tmp_path: Path) -> None:
    outcome, found = asked("--model", write_config(tmp_path / "m", "OLMoE 1B-7B"), "--target", "b200")
    assert (outcome.code, found["outcome"]) == (3, "unknown")
    assert found["model"]["parameters"] == 6_919_161_856
    assert found["model"]["active_parameters"] == pytest.approx(1.28e9, rel=0.01)


def test_what_files_and_config_say_is_held_together(small: Path) -> None:
    write_tensors(small / "model.safetensors", {"model.embed_tokens.weight": [49152, 576]})
    assert "disagree" in envdoctor("fit", "--model", small).out


def test_headers_of_several_files(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a.safetensors", {"model.layers.0.q": [8, 4], "shared": [2]}, "F32")
    write_tensors(tmp_path / "b.safetensors", {"model.layers.1.q": [8, 4], "shared": [2]})
    index = {"weight_map": {"model.layers.0.q": "a.safetensors", "model.layers.1.q": "b.safetensors"}}
    (tmp_path / headers.INDEX).write_text(json.dumps(index))
    found = headers.of_folder(tmp_path)
    assert found is not None
    assert (found.files, found.tensors, found.parameters, found.layers) == (2, 3, 66, 2)
    assert found.dtypes == {"F32": 32, "BF16": 34}


def test_real_files_are_read_as_safetensors_itself_reads_them(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    save_file({"w": torch.ones(3, 5), "n": torch.ones(7, dtype=torch.bfloat16)}, tmp_path / "model.safetensors")
    found = headers.of_folder(tmp_path)
    assert found is not None
    assert found.dtypes == {"F32": 15, "BF16": 7}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git-lfs"),
        (b"", "git-lfs"),
        (struct.pack("<Q", 1 << 60), "git-lfs"),
        (struct.pack("<Q", 100) + b"{}", "cut off"),
        (struct.pack("<Q", 6) + b"[1, 2]", "no JSON"),
        (struct.pack("<Q", 16) + b'{"w": {"a": 1}} ', "'w'"),
    ],
)
def test_files_that_are_broken(small: Path, content: bytes, says: str) -> None:
    (small / "model.safetensors").write_bytes(content)
    outcome = envdoctor("fit", "--model", small)
    assert outcome.code == 2
    assert "model.safetensors" in outcome.err
    assert says in outcome.err


def test_an_index_does_not_lead_out_of_its_folder(small: Path) -> None:
    (small / headers.INDEX).write_text(json.dumps({"weight_map": {"w": "../../secret"}}))
    outcome = envdoctor("fit", "--model", small)
    assert (outcome.code, "outside its folder" in outcome.err) == (2, True)


def test_quantized_weights_are_not_taken_for_what_is_trained(small: Path) -> None:
    config = json.loads((small / "config.json").read_text())
    (small / "config.json").write_text(json.dumps({**config, "quantization_config": {"bits": 4}}))
    write_tensors(small / "model.safetensors", {"w": [8, 8]}, "U8")
    outcome = envdoctor("fit", "--model", small)
    assert (outcome.code, "quantized" in outcome.err) == (3, True)


@pytest.mark.parametrize("name", ["nowhere", "./nowhere", "nowhere/config.json", "a b/c", "x" * 300])
def test_no_such_model(tmp_path: Path, name: str) -> None:
    outcome = envdoctor("fit", "--model", name, cwd=tmp_path)
    assert outcome.code == 2
    assert "no such file" in outcome.err


def test_a_name_on_the_hub(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    from tests.trainer.loopbackhub import serving

    write_config(tmp_path / "hub", "SmolLM2 135M")
    place = tmp_path / "root" / "models" / "owner" / "tiny"
    place.parent.mkdir(parents=True)
    (tmp_path / "hub").rename(place)
    with serving(tmp_path / "root") as hub:
        said = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
        outcome, found = asked("--model", "owner/tiny", "--target", "h100", cwd=tmp_path, **said)
        assert (outcome.code, found["model"]["parameters"]) == (0, 134_515_008), outcome.err
        for name, why in (("owner/absent", "no model on the Hub has this name"), ("gated/model", "is gated")):
            outcome, _ = asked("--model", name, cwd=tmp_path, **said)
            assert outcome.code == 3
            assert why in outcome.err
            assert f"hf download {name} config.json" in outcome.err


def test_no_way_to_the_hub_is_said_after_one_attempt(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens: a connection is refused
        said = {"HF_ENDPOINT": f"http://127.0.0.1:{taken.getsockname()[1]}", "HF_HOME": str(tmp_path / "home")}
        outcome = envdoctor("fit", "--model", "owner/tiny", cwd=tmp_path, NO_PROXY="127.0.0.1", **said)
    assert outcome.code == 3
    assert len(outcome.err.splitlines()) == 2, outcome.err
    assert outcome.err.startswith("envdoctor: owner/tiny: is not here, and the Hub does not answer (")


def test_without_the_hubs_library_the_command_is_told(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'huggingface_hub' else find(name, *more)\n"
    )
    path = f"{tmp_path}:{Path(__file__).resolve().parents[2]}"
    outcome = envdoctor("fit", "--model", "owner/tiny", cwd=tmp_path, PYTHONPATH=path)
    assert outcome.code == 3
    assert "pip install huggingface_hub" in outcome.err


def test_for_programs(small: Path) -> None:
    found = fit(small, target="h100", tokens=4096, steps=10, price="2 EUR/h")
    assert (found.outcome, found.target, found.cheapest) == ("fits", "h100", ("h100",))
    assert found.places[0].rungs[0].parts["weights"] > 0
    with pytest.raises(Trouble):
        fit("nowhere")


def test_nothing_heavy_is_imported(small: Path) -> None:
    from envdoctor.system import process

    code = (
        f"import sys; from envdoctor import fit; fit({str(small)!r}, target='h100'); "
        "print(sorted({'torch', 'transformers', 'numpy', 'trainer', 'huggingface_hub'} & set(sys.modules)))"
    )
    assert process.run([sys.executable, "-c", code], deadline=60).out.strip() == "[]"
