"""Small experiments on claims about training, run by path in the environment's own Python. Prints one JSON object.

Each experiment makes its own small model on the CPU and answers with numbers; one that cannot run answers with its
error. What is counted (bytes, operations, FLOPs, equal gradients) is the same on a GPU; what is timed says so.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List


def _model(torch: Any, width: int = 128, layers: int = 3, dropout: float = 0.0) -> Any:
    """A plain transformer: embeddings, causal attention, a head. Only torch is needed."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
            self.first, self.second, self.dropout = nn.LayerNorm(width), nn.LayerNorm(width), nn.Dropout(dropout)

        def forward(self, x: Any) -> Any:
            y = self.first(x)
            parts = [part(y).unflatten(-1, (4, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)]
            y = nn.functional.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
            x = x + self.dropout(self.out(y))
            return x + self.dropout(self.down(nn.functional.gelu(self.up(self.second(x)))))

    class Model(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(512, width), nn.Linear(width, 512, bias=False)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.again: Any = None

        def forward(self, ids: Any) -> Any:
            x = self.embed(ids)
            for block in self.blocks:
                x = self.again(block, x) if self.again else block(x)
            return nn.functional.cross_entropy(self.head(x)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())

    torch.manual_seed(0)
    return Model()


def _ids(torch: Any, rows: int = 4, length: int = 64) -> Any:
    return torch.randint(0, 512, (rows, length), generator=torch.Generator().manual_seed(1))


def _gradient(torch: Any, model: Any, ids: Any) -> Any:
    model.zero_grad()
    torch.manual_seed(7)
    model(ids).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def random_state(torch: Any) -> Dict[str, Any]:
    """Claim 9: gradients through recomputation, relative to those without it."""
    from torch.utils.checkpoint import checkpoint

    found: Dict[str, Any] = {}
    for dropout in (0.1, 0.0):
        model, ids = _model(torch, dropout=dropout), _ids(torch)
        true = _gradient(torch, model, ids)
        for keep in (True, False):
            model.again = lambda block, x, keep=keep: checkpoint(block, x, use_reentrant=False, preserve_rng_state=keep)
            error = (_gradient(torch, model, ids) - true).norm() / true.norm()
            found["dropout %g, preserve_rng_state=%s" % (dropout, keep)] = float(error)
    return found


def recomputation(torch: Any) -> Dict[str, Any]:
    """Claim 10: FLOPs of a step with and without activation checkpointing, counted operator by operator."""
    from torch.utils.checkpoint import checkpoint

    model, ids = _model(torch), _ids(torch)
    plain = _flops(model, ids)
    model.again = lambda block, x: checkpoint(block, x, use_reentrant=False)
    return {"ratio": _flops(model, ids) / plain}


def adapters(torch: Any) -> Dict[str, Any]:
    """Claim 25: FLOPs per weight and token, all weights trained, and adapters of rank 4 beside frozen ones."""
    nn = torch.nn

    class Adapted(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, frozen: Any) -> None:
            super().__init__()
            self.frozen = frozen.requires_grad_(False)
            self.a, self.b = nn.Linear(frozen.in_features, 4, bias=False), nn.Linear(4, frozen.out_features, bias=False)

        def forward(self, x: Any) -> Any:
            return self.frozen(x) + self.b(self.a(x))

    model, ids = _model(torch, layers=6), _ids(torch)
    linear = sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear))
    full = _flops(model, ids) / linear / ids.numel()
    for p in model.parameters():
        p.requires_grad_(False)
    for block in model.blocks:
        for name, child in list(block.named_children()):
            if isinstance(child, nn.Linear):
                setattr(block, name, Adapted(child))
    return {"full": full, "adapters": _flops(model, ids) / linear / ids.numel()}


def _flops(model: Any, ids: Any) -> float:
    from torch.utils.flop_counter import FlopCounterMode

    model.zero_grad()
    with FlopCounterMode(display=False) as counter:
        model(ids).backward()
    return float(counter.get_total_flops())


def memory(torch: Any) -> Dict[str, Any]:
    """Claims 6 and 16: bytes per weight of weights, gradients and AdamW states; bytes kept for the backward pass."""
    found: Dict[str, Any] = {}
    for name, dtype, autocast in (
        ("float32", torch.float32, False),
        ("autocast", torch.float32, True),
        ("all bf16", torch.bfloat16, False),
    ):
        model, ids = _model(torch).to(dtype), _ids(torch, 8, 256)
        weights = {p.data_ptr() for p in model.parameters()}
        optimizer = torch.optim.AdamW(model.parameters())
        kept: Dict[int, int] = {}

        def pack(tensor: Any, kept: Dict[int, int] = kept, weights: Any = weights) -> Any:
            if tensor.data_ptr() not in weights:
                kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
            return tensor

        saved = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        with saved, torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = model(ids)
        loss.backward()
        optimizer.step()
        parameters = list(model.parameters())
        states = [s for state in optimizer.state.values() for s in state.values() if torch.is_tensor(s) and s.dim()]
        total = sum(t.numel() * t.element_size() for t in [*parameters, *(p.grad for p in parameters), *states])
        found[name] = {"per_weight": total / sum(p.numel() for p in parameters), "activations": sum(kept.values())}
    return found


def attention_switches(torch: Any) -> Dict[str, Any]:
    """Claim 13: the attention kernels that are switched on in a fresh process."""
    cuda = torch.backends.cuda
    return {
        "flash": bool(cuda.flash_sdp_enabled()),
        "efficient": bool(cuda.mem_efficient_sdp_enabled()),
        "math": bool(cuda.math_sdp_enabled()),
    }


def convolutions(torch: Any) -> Dict[str, Any]:
    """Claim 14: the operators of one training step of a language model, and how many of them are convolutions."""
    from torch.utils._python_dispatch import TorchDispatchMode

    names: List[str] = []

    class Names(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    model, ids = _model(torch), _ids(torch)
    with Names():
        model(ids).backward()
    return {"operators": len(names), "convolutions": sum("conv" in name for name in names)}


def vanishing(torch: Any) -> Dict[str, Any]:
    """Claim 15: share of a real gradient's non-zero values that become zero in each type, unscaled.

    The loss is divided by 1,000, as accumulation and long batches do.
    """
    gradient = _gradient(torch, _model(torch), _ids(torch)) / 1000
    gradient = gradient[gradient != 0]
    return {
        str(t).replace("torch.", ""): float((gradient.to(t) == 0).float().mean())
        for t in (torch.float16, torch.bfloat16)
    }


def compiled_names(torch: Any) -> Dict[str, Any]:
    """Claim 26: the names of weights of a model that was wrapped, and of one that was compiled in place."""
    wrapped, placed = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    first = next(iter(torch.compile(wrapped, backend="eager").state_dict()))
    placed.compile(backend="eager")
    return {"torch.compile(model)": first, "model.compile()": next(iter(placed.state_dict()))}


def one_example(torch: Any) -> Dict[str, Any]:
    """Claim 23: tokenising a text of about 1,000 tokens, and copying them in memory. Timed on this machine."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    text = " ".join("word%d the answer of question %d is %d" % (n, n * 7 % 97, n * n) for n in range(400))
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel()
    words.train_from_iterator([text], trainers.BpeTrainer(vocab_size=500, show_progress=False))
    ids = words.encode(text).ids
    piece = words.decode(ids[:1000]).replace("Ġ", "") if len(ids) > 1000 else text
    tensor = torch.tensor([ids[:1000]] * 3)
    count = len(words.encode(piece).ids)
    return {
        "tokens": count,
        "tokenise_seconds": _middle(lambda: words.encode(piece), 30),
        "copy_seconds": _middle(lambda: tensor.clone(), 100),
        "bytes": tensor.numel() * tensor.element_size(),
    }


class Kept:
    """Examples that are tokens in memory already."""

    def __init__(self, torch: Any) -> None:
        self.rows = torch.randint(0, 512, (512, 256))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]


def workers(torch: Any) -> Dict[str, Any]:
    """Claims 12 and 22: seconds per batch of 8 examples that are in memory already, by worker processes. Timed."""
    data, found = Kept(torch), {}
    for count in (0, 2, os.cpu_count() or 2):
        loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=count, persistent_workers=count > 0)
        list(loader)  # the workers start
        found[str(count)] = _middle(lambda loader=loader: [None for _ in loader], 5) / len(loader)  # type: ignore[misc]
    return found


def saving(torch: Any) -> Dict[str, Any]:
    """Claim 11: writing weights and AdamW states to the disk of the temporary folder. Timed, with fsync."""
    state = {"state": torch.randn(16 << 20)}  # 64 MiB
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "state.pt")

        def save() -> None:
            with open(path, "wb") as stream:
                torch.save(state, stream)
                stream.flush()
                os.fsync(stream.fileno())

        seconds = _middle(save, 3)
    return {"bytes_per_second": (64 << 20) / seconds}


def _middle(run: Callable[[], Any], times: int) -> float:
    run()
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


EXPERIMENTS = (
    attention_switches, random_state, recomputation, adapters, memory, convolutions, vanishing, compiled_names,
    one_example, workers, saving,
)  # fmt: skip


def main() -> None:
    import torch

    found: Dict[str, Any] = {"torch": str(torch.__version__), "threads": torch.get_num_threads(), "seconds": {}}
    for experiment in EXPERIMENTS:
        began = time.perf_counter()
        try:
            found[experiment.__name__] = experiment(torch)
        except Exception as error:  # noqa: BLE001 - the answer to a claim is then the error's own text
            found[experiment.__name__] = {"error": "%s: %s" % (type(error).__name__, str(error).split("\n")[0])}
        found["seconds"][experiment.__name__] = round(time.perf_counter() - began, 3)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
