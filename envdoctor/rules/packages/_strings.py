"""The C++ ABI of a symbol that a compiled extension does not find: which of the two it is, and what has the other."""

from envdoctor.knowledge.questions import circumstances, extensions, has_new_strings, versions
from envdoctor.rules.rule import Facts
from envdoctor.values.frozen import frozen

_PYG = ("torch-scatter", "torch-sparse", "torch-cluster", "torch-spline-conv", "pyg-lib")
_OF_OLD = "PyTorch's own for Linux before 2.7, but for 2.6 with cu126"
_OF_NEW = "conda-forge's, NVIDIA's containers', and PyTorch's own for Linux from 2.7 on and of 2.6 with cu126"


@frozen
class Strings:
    """What the symbol proves, what is behind it as a rule, and what to take instead; "" and () where it is left
    open."""

    proved: str
    usually: str = ""
    advice: tuple[str, ...] = ()


def of(facts: Facts, name: str, version: str | None, reason: str) -> Strings:
    """Nothing where the symbol has no string in it, or the extension was compiled here against this torch."""
    if "C++ ABI, torch the other" in reason:  # what both say of themselves, which needs no symbol
        return Strings(proved="", advice=_other_file(facts, name, version, "the new" in reason))
    new = has_new_strings(reason) if "undefined symbol" in reason else None
    if new is None:
        return Strings(proved="")
    torch = extensions.build_of_torch(facts)
    kind, other = ("new", "old") if new else ("old", "new")
    proved = f" The symbol takes the {kind} C++ ABI's std::string"
    if torch is not None and torch.cxx11_abi is not None and torch.cxx11_abi != new:
        whose = "conda-forge's build of torch" if extensions.is_of_conda_forge(facts) else "this torch"
        return Strings(
            proved=f"{proved}, and {whose} has the {other} one.", advice=_other_file(facts, name, version, new)
        )
    if circumstances.BUILT_ANEW.stands(facts):
        return Strings(proved=f"{proved}.")
    usually = (
        f"this torch is a build with the {other} C++ ABI ({_OF_OLD if new else _OF_NEW}), for which another file of "
        "the extension is made; else it was built for another release of torch, in which that function differs"
    )
    labelled = extensions.read_label(versions.label(version or "") or "").cxx11_abi
    return Strings(
        proved=f"{proved}{', as its name says' if labelled is new else ''}.",
        usually=usually,
        advice=_other_file(facts, name, version, new) if labelled is new else (),
    )


def _other_file(facts: Facts, name: str, version: str | None, new: bool) -> tuple[str, ...]:
    """What to take in the place of a file with this ABI, where something is known of it."""
    label = versions.label(version or "") or ""
    wanted = f"cxx11abi{'FALSE' if new else 'TRUE'}"
    look = "python -c 'import torch; print(torch.__version__, torch._C._GLIBCXX_USE_CXX11_ABI)'"
    if "cxx11abi" in label.lower():
        text = (
            f"See which ABI this torch has (the command prints True for the new one). Where it is "
            f"{'False' if new else 'True'}, take the file of {name} of the same release, torch, CUDA and Python whose "
            f"name has {wanted}; where it is not, one made for this very release of torch, or build it here with "
            "--no-build-isolation."
        )
        return text, look
    if extensions.is_of_conda_forge(facts) and not new:
        text = (
            f"Take {name} from conda-forge, as this torch is, or torch from PyTorch's own index, for which the wheels "
            "that pip finds are made: the two do not mix."
        )
        if name not in _PYG:
            return text, look
        text += f" That holds for all of the same page ({', '.join(_PYG)})."
        return text, "conda install -c conda-forge pytorch_scatter pytorch_sparse pytorch_cluster pytorch_spline_conv"
    return ()
