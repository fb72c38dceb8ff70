from envdoctor.rules.image._reading import Command, at, dockerfiles
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, rule

_USES = Pattern(
    r"assert[^;\n]*cuda\.is_available|cuda\.(?:current_device|get_device_name|get_device_properties|init)\s*\("
    r"|\.cuda\(\)|device\s*=\s*['\"]cuda|\.to\(\s*['\"]cuda"
)


@rule(ERROR, kind="gpu-not-visible")
def gpu_at_build(facts: Facts) -> Findings:
    """A build step needs a GPU, which no image build has.

    Why: `docker build` gives no devices and no driver to its steps, whatever the default runtime of the machine where
    it was written: nvidia-smi is not found, torch.cuda.is_available() is False.
    Fix: ask at the start of the container (`envdoctor preflight` in its entry point), not in RUN.
    Source: https://docs.docker.com/reference/dockerfile/#run---device
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/
    """
    for file, parsed in dockerfiles(facts):
        for stage in parsed.used:
            for instruction in stage.instructions:
                if instruction.name != "RUN" or any("gpu" in value for value in instruction.option("device")):
                    continue
                for command in instruction.commands:
                    if _needs_gpu(command):
                        yield at(
                            file,
                            command.line,
                            message="there is no GPU while an image is built: this step fails.",
                            fix="Ask when the container starts.",
                            instead='ENTRYPOINT ["/bin/sh", "-c", "envdoctor check && exec \\"$@\\"", "--"]',
                        )


def _needs_gpu(command: Command) -> bool:
    if command.joined == "||":
        return False
    if command.program == "nvidia-smi":
        return True
    if command.program.startswith("python") and "-c" in command.texts:
        return any(_USES.search(text) for text in command.texts)
    return False
