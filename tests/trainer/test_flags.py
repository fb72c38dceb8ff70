from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from trainer import flags

HERE = Path(flags.__file__)
LOAD = (
    "import importlib.util, json, torch\n"
    f"spec = importlib.util.spec_from_file_location('flags', {str(HERE)!r})\n"
    "flags = importlib.util.module_from_spec(spec); spec.loader.exec_module(flags)\n"
)


def child(code: str, **environment: str) -> dict:
    """Run `code` after loading the file by path, in a fresh isolated interpreter, and read the JSON it prints."""
    import os

    done = subprocess.run(
        [sys.executable, "-I", "-c", LOAD + code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_flag_is_set_and_read_back() -> None:
    values = {
        "float32-matmul-precision": "high", "sdp": ["cudnn", "math"], "cudnn-benchmark": True,
        "cudnn-deterministic": True, "deterministic-algorithms": True, "bf16-reduced-precision-reduction": False,
        "threads": 1,
        "allocator-conf": "expandable_segments:True",
    }  # fmt: skip
    read = child(f"flags.apply(torch, {values!r}); print(json.dumps(flags.read_all(torch)))")
    assert read == values
    assert set(values) == {flag.name for flag in flags.FLAGS}


def test_torch_may_not_replace_an_order_that_was_set() -> None:
    """On Hopper torch >= 2.10 would, at the first attention; it reads the C library's environment, not os.environ."""
    read = child(
        "import ctypes\n"
        "flags.apply(torch, {'sdp': ['flash', 'cudnn', 'efficient', 'math']})\n"
        "getenv = ctypes.CDLL(None).getenv; getenv.restype = ctypes.c_char_p\n"
        "print(json.dumps([getenv(b'TORCH_CUDNN_SDPA_DEPRIORITIZED').decode(), flags.read_all(torch)['sdp']]))"
    )
    assert read == ["1", ["flash", "cudnn", "efficient", "math"]]


def test_mixed_tf32_state_is_reported_and_the_other_flags_are_still_read() -> None:
    """Once both the old and the new interface were used, torch >= 2.9 refuses to answer; that answer is the finding."""
    read = child("torch.backends.cuda.matmul.fp32_precision = 'tf32'; print(json.dumps(flags.read_all(torch)))")
    assert "mix of the legacy and new APIs" in read["float32-matmul-precision"]["error"]
    assert read["threads"] >= 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"tf33": True}, "unknown flag tf33; the flags are float32-matmul-precision"),
        ({"float32-matmul-precision": "fast"}, "'fast' is not one of"),
        ({"cudnn-benchmark": 1}, "1 is not one of True, False"),
        ({"sdp": []}, "not a list of different backends"),
        ({"sdp": ["flash", "flash"]}, "not a list of different backends"),
        ({"sdp": ["xformers"]}, "'xformers' is not one of"),
        ({"threads": 0}, "0 is not a whole number"),
    ],
)
def test_what_a_flag_does_not_take_is_refused(values: dict, said: str) -> None:
    torch = pytest.importorskip("torch")
    before = flags.read_all(torch)
    with pytest.raises(ValueError, match="flag") as caught:
        flags.apply(torch, values)
    assert said in str(caught.value)
    assert flags.read_all(torch) == before
