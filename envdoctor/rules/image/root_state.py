from envdoctor.facts.images.services import BindMount, Service
from envdoctor.knowledge.base_images import base
from envdoctor.rules.image._reading import all_dockerfiles, all_services, at, require
from envdoctor.rules.image._started import for_gpus
from envdoctor.rules.rule import WARNING, Facts, Findings, Pattern, rule

_KEPT = Pattern(
    r"cache|checkpoint|ckpt|output|result|runs\b|logs?\b|model|weights|artifact|wandb|mlruns|huggingface", 2
)


@rule(WARNING, kind="config-mismatch")
def root_state(facts: Facts) -> Findings:
    """The container runs as root over a folder that stays.

    Why: checkpoints and caches that root wrote into a folder of the host, or a volume, cannot be changed, resumed or
    deleted by anybody else: the next run as a user ends with "Permission denied". And code of a model that somebody
    published runs as root over them.
    Fix: `USER` in the Dockerfile, `user: "1000:1000"` in compose, `"remoteUser"` in a devcontainer.
    Source: https://docs.docker.com/build/building/best-practices/#user
    https://docs.docker.com/engine/storage/bind-mounts/ https://containers.dev/implementors/json_reference/
    """
    require(facts)
    for file, parsed in all_dockerfiles(facts):
        user = next(
            (
                one.words[0].text
                for stage in reversed(parsed.shipped)
                for one in reversed(stage.instructions)
                if one.name == "USER" and one.words
            ),
            "",
        )
        made = base(parsed.shipped[0].base.text)
        if (
            user.partition(":")[0] not in ("", "root", "0")
            or made is None
            or (not user and made.maker == "other" and made.nvcc is None)
        ):
            continue
        for one in (one for stage in parsed.shipped for one in stage.instructions if one.name == "VOLUME"):
            yield at(
                file,
                one.line,
                message="what is written to this volume belongs to root.",
                fix="Run as a user of its own.",
                instead="USER 1000 at the end, and the folder given to it (chown)",
            )
    for file, service in all_services(facts):
        if not for_gpus(service) or not _as_root(service):
            continue
        for mount in service.mounts:
            if not mount.read_only and _outlives_container(mount):
                setting = 'user: "1000:1000"' if file.kind == "compose" else '"remoteUser": "vscode"'
                yield at(
                    file,
                    mount.line,
                    message=f"{service.name} writes into {mount.source} of the host as root.",
                    fix="Run it as the user to whom the folder belongs.",
                    instead=setting,
                )


def _as_root(service: Service) -> bool:
    """Where it is built from a Dockerfile, that may say otherwise: only a mount into root's home tells."""
    if service.user is not None:
        return service.user.text.partition(":")[0] in ("root", "0")
    return not service.builds or any(mount.target.startswith("/root") for mount in service.mounts)


def _outlives_container(mount: BindMount) -> bool:
    return _KEPT.search(f"{mount.source} {mount.target}") is not None
