from envdoctor.rules.image._reading import at, recipe_contents, refused_install
from envdoctor.rules.rule import ERROR, Facts, Findings, rule

_PREFIXES = (
    "RUN python3 -m venv /opt/venv, then ENV PATH=/opt/venv/bin:$PATH",
    'python3 -m venv ~/venv first, and "remoteEnv": { "PATH": "/home/USER/venv/bin:${containerEnv:PATH}" }',
)


@rule(ERROR, kind="interpreter")
def system_python(facts: Facts) -> Findings:
    """pip is told to install into the distribution's own Python, and refuses.

    Why: Debian 12, Ubuntu 24.04 and later mark their python3 as managed by apt. pip and `uv pip install --system` end
    with "error: externally-managed-environment", and the build with them.
    Fix: a virtual environment in the image, or `--break-system-packages` where the image is for this one purpose.
    Source: https://packaging.python.org/en/latest/specifications/externally-managed-environments/
    https://peps.python.org/pep-0668/
    """
    for file, held in recipe_contents(facts):
        if (install := refused_install(held)) is not None:  # the build ends there
            yield at(
                file,
                install.line,
                message="python3 here is apt's own, and pip refuses to install into it: this step fails.",
                fix="Install into a virtual environment.",
                instead=_PREFIXES[file.kind == "devcontainer"],
            )
