"""What single settings are worth on this machine, taking turns within one process: ratios to the defaults.

Settings of the trainer by training speed (order turned round in every other round); then, below the trainer, what
TF32 does to bfloat16 products, data loaders, the bytes that full tuning and adapters take, and what the driver's
utilisation figure says of a starved GPU.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from trainer.model import losses

from tests.benchmarks.gpu import machine, runs, trainer_speed
from tests.benchmarks.gpu.session import Session, why
from tests.benchmarks.gpu.timing import distance, seconds_of

# name -> (settings, flags, seconds it takes); in order of value
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any], float]] = {
    "default": ({}, {}, 12),
    "float32": ({"precision": "float32", "attention": "documents"}, {}, 25),
    "float32 with TF32": (
        {"precision": "float32", "attention": "documents"}, {"float32-matmul-precision": "high"}, 20,
    ),
    "bfloat16 with TF32": ({}, {"float32-matmul-precision": "high"}, 12),
    "no packing": ({"packing": False}, {}, 15),
    "batch of 1": ({"packing": False, "examples_per_batch": 1}, {}, 15),
    "own attention, padded": ({"packing": False, "attention": "model"}, {}, 15),
    "all logits": ({"head": "all"}, {}, 15),
    "compile": ({"compile": True}, {}, 60),
    "recompute": ({"recompute": True}, {}, 15),
    "recompute without random states": ({"recompute": True, "recompute_rng": False}, {}, 15),
    "loss read every step": ({"sync_every_step": True}, {}, 12),
    "optimizer foreach": ({"optimizer": "foreach"}, {}, 12),
    "optimizer loop": ({"optimizer": "loop"}, {}, 15),
    "no clipping": ({"clip_norm": 0.0}, {}, 12),
    "no prefetch": ({"prefetch": 0}, {}, 12),
    "tokenised in the loop": ({"packing": False, "pretokenize": False, "tokens_per_row": 8192}, {}, 20),
    "cudnn.benchmark": ({}, {"cudnn-benchmark": True}, 12),
    "all attention kernels on": ({}, {"sdp": ["flash", "efficient", "math", "cudnn"]}, 12),
    "lora": ({"lora_rank": 16}, {}, 15),
    "rows of 2048": ({"tokens_per_row": 2048}, {}, 12),
    "rows of 2048 x 8": ({"tokens_per_row": 2048, "accumulate": 8}, {}, 15),
    "flex attention": ({"attention": "flex"}, {}, 30),
    "documents one by one": ({"attention": "documents"}, {}, 20),
}  # fmt: skip
CHUNKS = {"loss in chunks of 64 MiB": 64 << 20, "loss in chunks of 1 GiB": 1 << 30, "loss in chunks of 4 GiB": 4 << 30}


def measure(session: Session) -> None:
    """Small facts first, then rounds over the settings."""
    session.attempt("products: TF32 and bfloat16", lambda: products(session), 6)
    session.attempt("loader: workers and pinning", lambda: loaders(session), 20)
    session.attempt("one example: tokenise and copy", lambda: one_example(session), 5)
    session.attempt("bytes: full tuning", lambda: memory(session, {}), 20)
    session.attempt("bytes: full tuning in float32", lambda: memory(session, {"precision": "float32"}), 20)
    session.attempt("bytes: adapters", lambda: memory(session, {"lora_rank": 16}), 20)
    session.attempt("utilisation of a batch of 1", lambda: utilisation(session), 15)
    names = [name for name in (*SETTINGS, *CHUNKS) if session.full or name != "compile"]
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(session.pick(1, 2)):
            for name in names if turn % 2 == 0 else names[::-1]:
                seconds = SETTINGS[name][2] if name in SETTINGS else 12.0
                row = "%s, round %d" % (name, turn)
                session.attempt(row, lambda n=name: speed(session, n, Path(folder)), seconds)  # type: ignore[misc]
    session.table(shown(session, names))


def speed(session: Session, name: str, folder: Path) -> dict[str, Any]:
    """One turn of one setting."""
    values, flags, _ = SETTINGS.get(name, ({}, {}, 0.0))
    shape = session.pick("toy", "0.15b")
    given = {
        "tokens_per_row": session.pick(1024, 16384), "output": str(folder / "run"), "cache": str(folder / "cache"),
        "threads": session.pick(1, 0), "learning_rate": 1e-5, "over_long": "skip", "examples_per_batch": 8,
        **runs.data_for("sft", folder, shape, 0, session.pick(40, None)), **values,
    }  # fmt: skip
    if not given.get("packing", True) and "attention" not in given:
        given["attention"] = "model"
    before = losses.CHUNK_BYTES
    losses.CHUNK_BYTES = CHUNKS.get(name, before)
    try:
        with runs.run_of("sft", given, shape, session.device, flags) as run:
            runs.warm(run, session.pick(1, 3))
            return runs.timed(run, trainer_speed.protocol(session))
    finally:
        losses.CHUNK_BYTES = before


def products(session: Session) -> dict[str, Any]:
    """Does TF32 change a bfloat16 product (its bits, its time), and how much faster are float32 ones with it?"""
    device, size = session.device, session.pick(64, 8192)
    before = torch.get_float32_matmul_precision()
    wide = [torch.randn(size, size, device=device) for _ in range(2)]
    narrow = [tensor.bfloat16() for tensor in wide]
    found: dict[str, Any] = {}
    try:
        for word in ("highest", "high"):
            torch.set_float32_matmul_precision(word)
            found["bfloat16 " + word] = (narrow[0] @ narrow[1]).clone()
            found["float32 " + word] = (wide[0] @ wide[1]).clone()
            budget = session.pick(0.01, 0.5)
            for kind, (left, right) in (("bfloat16", narrow), ("float32", wide)):
                took = seconds_of(lambda a=left, b=right: a @ b, device, budget=budget)  # type: ignore[misc]
                found["%s %s ms" % (kind, word)] = 1e3 * took.median
    finally:
        torch.set_float32_matmul_precision(before)
    bits = torch.equal(found.pop("bfloat16 highest"), found.pop("bfloat16 high"))
    error = distance(found.pop("float32 high"), found.pop("float32 highest"))
    return {
        "bfloat16_bits_equal": bits, "tf32_error": error,
        "bfloat16_ratio": found["bfloat16 highest ms"] / found["bfloat16 high ms"],
        "float32_ratio": found["float32 highest ms"] / found["float32 high ms"], **found,
    }  # fmt: skip


class Texts(torch.utils.data.Dataset):  # type: ignore[misc,type-arg,unused-ignore]
    """Chats tokenised when they are asked for, as seed scripts do."""

    def __init__(self, texts: list[str], tokenizer: Any) -> None:
        self.texts, self.tokenizer = texts, tokenizer

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> torch.Tensor:
        ids = self.tokenizer(self.texts[index], truncation=True, max_length=512, padding="max_length")["input_ids"]
        return torch.tensor(ids)


def _texts(session: Session) -> Texts:
    from trainer.data.tokenizer import load_tokenizer
    from trainer.data.workloads import DATA
    from trainer.options.settings import Settings

    tokenizer = load_tokenizer(Settings(tokenizer=str(DATA / "tokenizer")), None)
    lines = (DATA / "chat.jsonl").read_text("utf-8").splitlines()
    return Texts([line * 2 for line in lines[: session.pick(40, 998)]], tokenizer)


def loaders(session: Session) -> dict[str, Any]:
    """Examples per second of a DataLoader that tokenises, by workers and pinning, to the device and nothing else."""
    data = _texts(session)
    found: dict[str, float] = {}
    for workers in session.pick((0, 1), (0, 1, 2, 4, 8, 16)):
        for pinned in (False, True) if session.device.type == "cuda" else (False,):
            loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=workers, pin_memory=pinned)
            begun = time.perf_counter()
            for batch in loader:
                batch.to(session.device, non_blocking=pinned)
            key = "%d workers%s" % (workers, ", pinned" if pinned else "")
            found[key] = round(len(data) / (time.perf_counter() - begun), 1)
    return {"examples_per_second": found}


def one_example(session: Session) -> dict[str, Any]:
    """Milliseconds to tokenise one example of 512 tokens on the host, and to copy it to the device and wait."""
    data, device = _texts(session), session.device
    cpu = torch.device("cpu")
    tokenise = seconds_of(lambda: data[3], cpu, budget=session.pick(0.05, 0.5))
    row = data[3]

    def copied() -> None:
        row.to(device)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return {"tokenise_ms": 1e3 * tokenise.median, "copy_ms": 1e3 * seconds_of(copied, cpu, budget=0.1).median}


def memory(session: Session, values: dict[str, Any]) -> dict[str, Any]:
    """Bytes per parameter of weights, gradients and optimizer states, measured on one step of a short row, and the
    largest full tuning that fits this device by them.
    """
    shape = session.pick("toy", "1b")
    with tempfile.TemporaryDirectory() as folder:
        given = {
            "tokens_per_row": 1024, "output": folder + "/run", "cache": folder + "/cache", "over_long": "skip",
            "threads": session.pick(1, 0), "max_steps": 2, "learning_rate": 1e-5,
            **runs.data_for("sft", Path(folder), shape, 0, 40), **values,
        }  # fmt: skip
        if values.get("precision") == "float32":
            given["attention"] = "documents"
        with runs.run_of("sft", given, shape, session.device, {}) as run:
            runs.losses(run)
            tensors = {p.data_ptr(): p.numel() * p.element_size() for p in run.trainee.model.parameters()}
            held = sum(v.numel() * v.element_size() for s in run.stepper.optimizer.state.values() for v in s.values())
            count = sum(p.numel() for p in run.trainee.model.parameters())
            peak = torch.cuda.max_memory_allocated(session.device) if session.device.type == "cuda" else None
    return {
        "parameters": count, "weights_per_parameter": sum(tensors.values()) / count,
        "states_per_parameter": held / count, "peak": peak, "peak_per_parameter": peak / count if peak else None,
    }  # fmt: skip


def utilisation(session: Session) -> dict[str, Any]:
    """Small work that keeps a kernel on the device at all times: the driver calls it busy, arithmetic says how much
    of the chip it uses.
    """
    with machine.Sampler(session.device) as sampler, tempfile.TemporaryDirectory() as folder:
        row = speed(session, "batch of 1", Path(folder))
    means = sampler.means()
    return {"utilisation": means.get("utilisation"), "mfu": row["mfu"], "breakdown": row["breakdown"]}


def shown(session: Session, names: list[str]) -> list[str]:
    """The table."""
    rates: dict[str, list[tuple[float, float]]] = {}
    for name in names:
        rows = [session.rows.get("%s, round %d" % (name, turn), {}) for turn in range(2)]
        rates[name] = [
            (row["tokens_per_second"]["trained"], (row["memory"] or 0) / 2**30)
            for row in rows
            if "tokens_per_second" in row
        ]
    base = statistics.median([rate for rate, _ in rates["default"]] or [float("nan")])
    lines = ["%-34s %12s %10s %8s  %s" % ("", "trained/s", "of default", "GiB", "ratio by round")]
    for name in names:
        if not rates[name]:
            row = session.rows.get(name + ", round 0", {})
            lines.append("%-34s %s" % (name, why(row, 80)))
            continue
        middle = statistics.median(rate for rate, _ in rates[name])
        ratios = " ".join("%.3f" % (one / two) for (one, _), (two, _) in zip(rates[name], rates["default"]))
        memory = max(size for _, size in rates[name])
        lines.append("%-34s %12.0f %9.2fx %8.1f  %s" % (name, middle, middle / base, memory, ratios))
    for name, row in session.rows.items():
        if ", round" not in name:
            figures = {key: value for key, value in row.items() if key != "took"}
            lines.append("%s: %s" % (name, ", ".join("%s %s" % (k, _short(v)) for k, v in figures.items())))
    return lines


def _short(value: Any) -> str:
    return "%.4g" % value if isinstance(value, float) else str(value)
