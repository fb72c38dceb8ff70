from envdoctor.rules.image._reading import HEAVY, at, dockerfiles, installs
from envdoctor.rules.rule import WARNING, Facts, Findings, rule


@rule(WARNING, kind="host-limited")
def layer_order(facts: Facts) -> Findings:
    """The code is copied before torch is installed.

    Why: every edit of the code changes that layer, and all below it are built again: torch and CUDA are downloaded and
    unpacked for each commit, minutes and gigabytes.
    Fix: copy requirements or the lock, install, then copy the code.
    Source: https://docs.docker.com/build/cache/optimize/#order-your-layers
    """
    for file, parsed in dockerfiles(facts):
        for stage in parsed.used:
            heavy = [
                one.line
                for install in installs(stage)
                if install.tool in ("pip", "uv", "conda")
                for one in install.wanted
                if one.name in HEAVY
            ]
            for instruction in stage.instructions:
                if instruction.name not in ("COPY", "ADD") or instruction.option("from") or not instruction.words:
                    continue
                sources = [word.text.rstrip("/") for word in instruction.words[:-1]]
                if not any(source in (".", "./*", "*", "src", "./src") for source in sources):
                    continue
                later = [line for line in heavy if line > instruction.line]
                if later:
                    yield at(
                        file,
                        instruction.line,
                        message=f"with each change of the code, torch (line {later[0]}) is installed again.",
                        fix="Copy the code after the packages are installed.",
                        instead=f"this line behind line {later[-1]}",
                    )
                break
