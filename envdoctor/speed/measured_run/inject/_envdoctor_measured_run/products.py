"""In which number formats a step's matrix products run, read once from the graph that autograd has made of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Backward nodes of matrix products, without the number of their version. What comes into one is the gradient of the
# forward product's result, in its format. A compiled graph is one node of its own: nothing is said of it.
PRODUCTS = ("AddmmBackward", "MmBackward", "BmmBackward", "BaddbmmBackward", "LinearBackward", "ConvolutionBackward")
MOST_NODES = 50_000  # 10 ms; a model of 8B weights has 10,000


def formats(tensors: Any) -> dict[str, int]:
    """Number of matrix products by format ("float32": 12) behind these tensors; {} where none can be seen."""
    given = tensors if isinstance(tensors, (tuple, list)) else (tensors,)
    left = [node for node in (getattr(tensor, "grad_fn", None) for tensor in given) if node is not None]
    found: dict[str, int] = {}
    seen = set(left)
    while left and len(seen) < MOST_NODES:
        node = left.pop()
        if node.name().startswith(PRODUCTS):
            about = getattr(node, "_input_metadata", None)  # since torch 2.1
            if about:
                name = str(about[0].dtype).replace("torch.", "")
                found[name] = found.get(name, 0) + 1
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                left.append(following)
    return found
