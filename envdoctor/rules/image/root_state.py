from envdoctor.rules.image._reading import all_dockerfiles, all_services, at, for_gpus, is_root_in, require, root_mounts
from envdoctor.rules.rule import WARNING, Facts, Findings, rule


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
        if not is_root_in(parsed):
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
        for mount in root_mounts(service) if for_gpus(service) else ():
            yield at(
                file,
                mount.line,
                message=f"{service.name} writes into {mount.source} of the host as root.",
                fix="Run it as the user to whom the folder belongs.",
                instead='user: "1000:1000"' if file.kind == "compose" else '"remoteUser": "vscode"',
            )
