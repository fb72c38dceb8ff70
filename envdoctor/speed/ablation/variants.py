"""The variants that `ablate` knows by name: each turns one default of the trainer to what plain trainers do."""

from __future__ import annotations

from envdoctor.speed.ablation.interleaving import Variant

DEFAULT = Variant(name="default", why="the trainer as it is")

# Padded batches come with transformers' own attention: the one for packed rows takes no padding.
# Each is read as: what is the default worth, or what would switching it on bring?
VARIANTS = (
    Variant(
        name="no-packing",
        settings={"packing": False, "attention": "model"},
        why="one document per row, padded to the longest",
    ),
    Variant(
        name="batch-1",
        settings={"packing": False, "attention": "model", "examples_per_batch": 1},
        why="one example per step, as small-memory recipes do",
    ),
    Variant(name="all-logits", settings={"head": "all"}, why="logits at every position, not only at trained ones"),
    Variant(name="float32", settings={"precision": "float32"}, why="float32 matrix products"),
    Variant(name="bfloat16", settings={"precision": "bfloat16"}, why="bfloat16 matrix products"),
    Variant(
        name="float32-tf32",
        settings={"precision": "float32"},
        flags={"float32-matmul-precision": "high"},
        why="float32 matrix products allowed to use TF32",
    ),
    Variant(
        name="bfloat16-tf32",
        settings={"precision": "bfloat16"},
        flags={"float32-matmul-precision": "high"},
        why="TF32 allowed where the matrix products are bfloat16 already",
    ),
    Variant(name="optimizer-loop", settings={"optimizer": "loop"}, why="AdamW one tensor at a time"),
    Variant(name="optimizer-foreach", settings={"optimizer": "foreach"}, why="AdamW over lists of tensors, not fused"),
    Variant(name="recompute", settings={"recompute": "full"}, why="activation checkpointing"),
    Variant(name="compile", settings={"compile": "on"}, why="torch.compile per layer"),
    Variant(name="read-every-loss", settings={"sync_every_step": True}, why="loss.item() after every step"),
    Variant(name="no-clipping", settings={"clip_norm": 0.0}, why="no gradient norm"),
    Variant(
        name="tokenise-in-loop",
        settings={"packing": False, "attention": "model", "pretokenize": False, "loader_workers": 0},
        why="texts are tokenised when their step comes",
    ),
    Variant(
        name="workers-2",
        settings={"packing": False, "attention": "model", "pretokenize": False, "loader_workers": 2},
        why="texts are tokenised when their step comes, by two processes",
    ),
    Variant(name="prefetch-2", settings={"prefetch": 2}, why="two steps prepared ahead in a thread"),
    Variant(name="one-thread", settings={"threads": 1}, why="one CPU thread, as launchers set by OMP_NUM_THREADS=1"),
    Variant(name="cudnn-benchmark", flags={"cudnn-benchmark": "true"}, why="cuDNN tries convolution algorithms"),
    Variant(name="rows-1024", settings={"tokens_per_row": 1024}, why="micro-batches of half the tokens"),
    Variant(name="rows-4096", settings={"tokens_per_row": 4096}, why="micro-batches of twice the tokens"),
    Variant(name="sdp-math", flags={"sdp": "math"}, why="attention by plain matrix products, no fused kernel"),
    Variant(
        name="sdp-all-enabled",
        flags={"sdp": "flash,efficient,math,cudnn"},
        why="all attention kernels switched on, which is torch's default",
    ),
    Variant(
        name="before",
        settings={
            "packing": False,
            "pretokenize": False,
            "attention": "model",
            "head": "all",
            "optimizer": "foreach",
            "precision": "float32",
            "sync_every_step": True,
            "prefetch": 0,
            "loader_workers": 0,
            "compile": "off",
            "recompute": "none",
        },
        why="a plain trainer's defaults, all together",
    ),
)


def find(names: tuple[str, ...]) -> tuple[Variant, ...]:
    """The variants of these names, in the order asked for. Raises KeyError with the unknown name."""
    known = {variant.name: variant for variant in (DEFAULT, *VARIANTS)}
    return tuple(known[name] for name in names)
