from envdoctor.rules.image._reading import at, recipe_contents
from envdoctor.rules.rule import WARNING, Facts, Findings, rule, versions


@rule(WARNING, kind="package-conflict")
def torch_replaced(facts: Facts) -> Findings:
    """A later line puts another torch in the place of the base image's own.

    Why: the base was chosen for its torch. NVIDIA's is built from source against the libraries of its image, and so
    are its flash-attn, apex and Transformer Engine: over another torch they no longer load. Of torch's own images the
    first torch stays in a layer below, gigabytes that everybody pulls.
    Fix: leave torch out of the line (`--no-deps`, a constraint), or start from an image with that torch, or with none.
    Source: https://docs.nvidia.com/deeplearning/frameworks/pytorch-release-notes/
    https://github.com/NVIDIA/apex/issues/1735
    """
    for file, held in recipe_contents(facts):
        made = held.base
        if made is None or made.maker not in ("ngc", "pytorch"):
            continue
        for torch in held.torches:
            same = made.torch and versions.same(versions.public(made.torch), torch.version)
            if torch.install is None or same or (not torch.version and not _upgrades(torch.install.options)):
                continue
            name = f"{made.image}:{made.tag}"
            yield at(
                file,
                torch.line,
                message=f"torch {torch.version or '(the newest)'} replaces the torch of {name}"
                + (", which its compiled packages were built for." if made.maker == "ngc" else "."),
                fix="Leave torch out here, or start from an image with this torch or with none.",
                instead="a FROM with this torch" if made.maker == "pytorch" else "the same line without torch",
            )


def _upgrades(options: object) -> bool:
    return isinstance(options, dict) and bool({"-U", "--upgrade", "--force-reinstall"} & options.keys())
