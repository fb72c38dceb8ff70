"""DGL's builds with CUDA, which lie on pages of its own: for which torch and CUDA, and under which name."""

from __future__ import annotations

from envdoctor.knowledge import versions
from envdoctor.knowledge.numbers import numbers

_PAGES = "https://data.dgl.ai/wheels"
_WHEN_NOTHING_IS_KNOWN = f"dgl -f {_PAGES}/torch-2.4/cu124/repo.html"


def dgl_for(torch: str | None, cuda: str | None) -> tuple[str, str]:
    """What is said of this torch, and what pip is to install.

    From torch 2.1 on a page is for one torch and one CUDA; before it was for a CUDA, and before DGL 1.0, which wants
    torch 1.12, the CUDA stood in the package's name.
    """
    if torch is None or not numbers(torch):
        return "Install DGL from its own page of wheels for your torch and CUDA, as below.", _WHEN_NOTHING_IS_KNOWN
    line = "".join(map(str, numbers(cuda)[:2]))
    minor = ".".join(map(str, numbers(torch)[:2]))
    if versions.at_least(torch, "2.5"):
        text = f"There is none for torch {minor}: make an environment with torch 2.4 and DGL from its page."
        return text, f"'torch==2.4.1' dgl -f {_PAGES}/torch-2.4/cu121/repo.html"
    if versions.at_least(torch, "2.1"):
        fits = "cu118" if line.startswith("11") else "cu124" if line >= "124" and minor == "2.4" else "cu121"
        text = f"Install DGL from its page for torch {minor} and your CUDA."
        return text, f"dgl -f {_PAGES}/torch-{minor}/{fits}/repo.html"
    if versions.at_least(torch, "1.12"):
        return (
            "Install a DGL before 2.0 from the page of torch's CUDA: later ones are for torch 2.1 and later, and "
            f"here it is {minor}.",
            f"'dgl<2' -f {_PAGES}/cu{line or '117'}/repo.html",
        )
    return (
        f"DGL from 1.0 on wants torch 1.12 or later, and here it is {minor}: take DGL 0.9, whose package has the "
        "CUDA in its name, as below, or bring torch to 1.13 for CUDA 11.7 (or later) and DGL with it.",
        f"'dgl-cu{line or '113'}<1' -f {_PAGES}/repo.html",
    )
