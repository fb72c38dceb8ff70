from envdoctor.rules.image._reading import at, is_isolated, recipe_contents, sources
from envdoctor.rules.rule import ERROR, Facts, Findings, rule


@rule(ERROR, kind="extension-binary-missing")
def build_isolation(facts: Facts) -> Findings:
    """An extension is built from source where its build cannot see torch.

    Why: pip and uv build in an empty environment of its own. flash-attn, apex and their like import torch while
    built: "No module named 'torch'"; or the build finds another torch than the image's, and the kernels do not load.
    Fix: torch first, then `--no-build-isolation`, with `packaging`, `ninja` and `setuptools` installed before.
    Source: https://github.com/Dao-AILab/flash-attention#installation-and-features
    https://pip.pypa.io/en/stable/reference/build-system/ https://github.com/Dao-AILab/flash-attention/issues/246
    """
    for file, held in recipe_contents(facts):
        for install, wanted, torch in sources(held):
            version = f"{wanted.name}=={wanted.version}" if wanted.version else wanted.name
            text = "." if wanted.source else version
            if is_isolated(install, wanted.name):
                yield at(
                    file,
                    wanted.line,
                    about=wanted.name,
                    message=f"{wanted.name} is built in an environment without torch, which its build imports.",
                    fix="Add --no-build-isolation, after torch is installed.",
                    instead=f"pip install --no-build-isolation {text}",
                )
            elif torch is False:
                later = next((one for one in held.torches if held.comes_later(one, install)), None)
                where = f" (it comes in line {later.line})" if later else ""
                if (beside := install.instruction.beside) and any(
                    one.install and one.install.instruction.beside == beside for one in held.torches
                ):
                    where = f" (all of {beside} runs at the same time)"
                yield at(
                    file,
                    wanted.line,
                    about=wanted.name,
                    message=f"{wanted.name} is built before torch is there{where}: its build imports torch.",
                    fix="Install torch first.",
                    instead=f"this line behind the one that installs torch{where}",
                )
