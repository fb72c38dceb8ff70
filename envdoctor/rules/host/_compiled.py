"""Libraries with code of their own that is compiled: which of them a run calls that ends without a word."""

from envdoctor.rules.rule import Facts

_PARTS = {
    "av": "av",
    "cv2": "opencv-python",
    "datasets": "pyarrow",
    "decord": "decord",
    "dgl": "dgl",
    "faiss": "faiss",
    "h5py": "h5py",
    "lmdb": "lmdb",
    "numba": "numba and llvmlite",
    "open3d": "open3d",
    "pandas": "pandas and pyarrow",
    "pyarrow": "pyarrow",
    "rasterio": "rasterio",
    "scipy": "scipy",
    "sentencepiece": "sentencepiece",
    "soundfile": "soundfile",
    "tokenizers": "tokenizers",
    "torchaudio": "torchaudio",
    "torchcodec": "torchcodec",
    "torchvision": "torchvision",
}
"""Module -> the distributions in which the compiled code lies."""
_SEVERAL = 3
"""Of more than so many a text tells nothing: it is a list."""


def whose_call(facts: Facts) -> str:
    """The libraries that a text calls or imports, whose compiled code comes first; "" where it shows none, or many."""
    shown = [name for name in _PARTS if f"module {name}" in facts.remarks]
    if not shown or len(shown) > _SEVERAL:
        return ""
    parts = ", ".join(dict.fromkeys(_PARTS[name] for name in shown))
    return (
        f"The call that it ends in tells the library, and the text shows {', '.join(shown)}: its compiled part "
        f"({parts}) comes first. Bring it to its newest release, or to the one before."
    )
