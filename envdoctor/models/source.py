"""A model by the name a user gives it: a folder, a config.json, or a name on the Hub."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.models import headers
from envdoctor.models.architecture import Architecture, NotKnown, of_config
from envdoctor.models.headers import Headers
from envdoctor.values import shell
from envdoctor.values.document import read_json
from envdoctor.values.frozen import frozen

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
CONFIG = "config.json"
PATIENCE = 5.0  # seconds for the Hub to begin an answer
EXAMPLE = "Give a folder with a config.json, a config.json, or a Hub name such as Qwen/Qwen2.5-0.5B."


@frozen
class ModelSource:
    """What is known of a model. ``shape`` is None for a family without a rule, ``why`` says so."""

    name: str
    path: Path
    shape: Architecture | None
    headers: Headers | None
    why: NotKnown | None = None

    @property
    def parameters(self) -> int:
        """Weights, by the config where its family is known, else by the files' headers."""
        if self.shape is not None:
            return self.shape.parameters.total
        assert self.headers is not None
        return self.headers.parameters


def read(name: str) -> ModelSource:
    """The model called so. Raises `Trouble` (exit code 2) for a wrong name or a broken file, `NotKnown` (3) where
    neither a config nor headers tell enough."""
    path = Path(os.path.expanduser(name))
    if os.path.isdir(path):
        return _of(name, path / "config.json", headers.of_folder(path))
    if os.path.isfile(path):  # which answers no, too, for a name that no system can have
        if path.suffix != ".json":
            raise Trouble("is no config.json", file=path, remedy=EXAMPLE)
        return _of(name, path, None)
    if HUB_NAME.fullmatch(name) and not name.endswith(".json") and not os.path.isdir(path.parent):
        return _of(name, _download_config(name), None)
    raise Trouble("there is no such file or folder", file=name, remedy=EXAMPLE)


def _of(name: str, path: Path, found: Headers | None) -> ModelSource:
    if not path.is_file():
        if found is None:
            raise Trouble("has neither config.json nor safetensors files", file=path.parent, remedy=EXAMPLE)
        why = NotKnown("is not there", file=path, remedy="Put the model's config.json beside its files.")
        return ModelSource(name=name, path=path.parent, shape=None, headers=found, why=why)
    values = read_json(path)
    if not isinstance(values, Mapping):
        raise Trouble("is not a JSON object", file=path, remedy=EXAMPLE)
    if (found is not None and found.packed) or values.get("quantization_config"):
        raise NotKnown(
            "its weights are quantized: the bundled trainer trains weights in float32 and bfloat16",
            file=path,
            remedy="Name the model that it was made from.",
        )
    try:
        return ModelSource(name=name, path=path, shape=of_config(values, path), headers=found)
    except NotKnown as why:
        if found is None or isinstance(values.get("text_config"), Mapping):
            raise
        return ModelSource(name=name, path=path, shape=None, headers=found, why=why)


def _download_config(name: str) -> Path:
    """The config.json of a model on the Hub, through huggingface_hub's own cache and settings."""
    word = shell.word(name)
    by_hand = f"Download it yourself: hf download {word} config.json --local-dir model; then --model model"
    if importlib.util.find_spec("huggingface_hub") is None:
        raise NotKnown(
            "is a name on the Hub, and huggingface_hub is not installed here",
            file=name,
            remedy=f"pip install huggingface_hub; or, where it is, hf download {word} config.json --local-dir model",
        )
    hub: Any = importlib.import_module("huggingface_hub")
    try:
        if not isinstance(hub.try_to_load_from_cache(name, CONFIG), str):
            # One attempt that says at once what is wrong: the download's own six take half a minute.
            hub.get_hf_file_metadata(hub.hf_hub_url(name, CONFIG), timeout=PATIENCE)
        return Path(hub.hf_hub_download(name, CONFIG, etag_timeout=PATIENCE))
    except Exception as error:  # the Hub, the network and their libraries fail in many ways
        raise NotKnown(_why(error), file=name, remedy=by_hand) from error


def _why(error: Exception) -> str:
    """What the Hub's library raised, in one sentence."""
    known = {
        "GatedRepoError": "is gated: ask on its page, then sign in here (hf auth login)",
        "RepositoryNotFoundError": "is no folder here, and no model on the Hub has this name or you may not see it",
        "EntryNotFoundError": "has no config.json on the Hub",
        "OfflineModeIsEnabled": "is not here, and the Hub is off (HF_HUB_OFFLINE)",
    }
    kinds = [kind.__name__ for kind in type(error).__mro__]
    for name in kinds:
        if name in known:
            return known[name]
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), kinds[0])[:200]
    if any(kind in kinds for kind in ("ConnectionError", "ConnectError", "TimeoutError", "TimeoutException")):
        return f"is not here, and the Hub does not answer ({said})"
    return f"could not be had from the Hub: {kinds[0]}: {said}"
