"""What of the CI systems' own languages the snippets use, as JSON Schema: a misspelt key is refused."""

from __future__ import annotations

from typing import Any

TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}
VARIABLES = {"type": "object", "additionalProperties": {"type": "string"}}


def table(required: str, /, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


STEP = table(
    "",
    id=TEXT, name=TEXT, uses={"type": "string", "pattern": r"^[\w-]+/[\w/-]+@[\w.]+$"}, run=TEXT,
    shell={"enum": ["bash"]}, env=VARIABLES,
    **{"with": {"type": "object"}, "if": TEXT, "continue-on-error": {"type": "boolean"}},
) | {"oneOf": [{"required": ["run"]}, {"required": ["uses"]}]}  # fmt: skip

# docs.github.com, "Workflow syntax for GitHub Actions". PyYAML reads the key `on` as true (YAML 1.1).
JOB = table(
    "runs-on steps",
    env=VARIABLES, steps={"type": "array", "items": STEP},
    **{"runs-on": TEXTS, "timeout-minutes": {"type": "integer"}},
)  # fmt: skip
GITHUB = {
    "type": "object",
    "required": ["name", "permissions", "jobs"],
    "properties": {
        "name": TEXT,
        "permissions": table("", contents={"enum": ["read"]}, **{"security-events": {"enum": ["write"]}}),
        "jobs": {"type": "object", "additionalProperties": JOB},
    },
}

# docs.github.com, "Metadata syntax for GitHub Actions"
PORT = table("description", description=TEXT, default={"type": "string"}, required={"type": "boolean"})
RESULT = table("description value", description=TEXT, value=TEXT)
COMPOSITE_STEP = STEP | {"dependentRequired": {"run": ["shell"]}}
ACTION = table(
    "name description runs",
    name=TEXT, description=TEXT, inputs={"type": "object", "additionalProperties": PORT},
    outputs={"type": "object", "additionalProperties": RESULT},
    runs=table("using steps", using={"const": "composite"}, steps={"type": "array", "items": COMPOSITE_STEP}),
)  # fmt: skip

# docs.gitlab.com, "CI/CD YAML syntax reference"
GITLAB = {
    "type": "object",
    "additionalProperties": table(
        "script",
        tags=TEXTS, variables=VARIABLES, script=TEXTS, after_script=TEXTS,
        artifacts=table("", when={"enum": ["always"]}, reports=table("", junit=TEXT)),
    ),
}  # fmt: skip
# kubernetes.io, "Jobs" and the API reference of batch/v1 Job
MOUNT = table("name mountPath", name=TEXT, mountPath=TEXT)
CONTAINER = table(
    "name image command",
    name=TEXT, image=TEXT, command=TEXTS, resources=table("limits", limits={"type": "object"}),
    volumeMounts={"type": "array", "items": MOUNT},
)  # fmt: skip
VOLUME = table("name", name=TEXT, emptyDir=table("", medium={"enum": ["Memory"]}, sizeLimit=TEXT))
POD = table(
    "restartPolicy containers",
    restartPolicy={"enum": ["Never"]}, initContainers={"type": "array", "items": CONTAINER},
    containers={"type": "array", "items": CONTAINER}, volumes={"type": "array", "items": VOLUME},
)  # fmt: skip
ON_EXIT = table(
    "operator values",
    containerName=TEXT, operator={"enum": ["In", "NotIn"]}, values={"type": "array", "items": {"type": "integer"}},
)  # fmt: skip
FAILURE = table("action", action={"enum": ["FailJob", "Ignore", "Count"]}, onExitCodes=ON_EXIT)
K8S = table(
    "apiVersion kind metadata spec",
    apiVersion={"const": "batch/v1"}, kind={"const": "Job"}, metadata=table("name", name=TEXT),
    spec=table(
        "template",
        backoffLimit={"type": "integer"}, template=table("spec", spec=POD),
        podFailurePolicy=table("rules", rules={"type": "array", "items": FAILURE}),
    ),
)  # fmt: skip

# docs.skypilot.co, "SkyPilot YAML"
SKYPILOT = table(
    "resources run",
    name=TEXT, workdir=TEXT, num_nodes={"type": "integer"}, envs=VARIABLES, setup=TEXT, run=TEXT,
    resources={
        "type": "object",
        "properties": {
            "accelerators": {"type": "string", "pattern": r"^[A-Z0-9]+(-[0-9]+GB)?:\d+$"},
            "autostop": {
                "type": "object",
                "properties": {"idle_minutes": {"type": "integer"}, "down": {"type": "boolean"}},
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
    },
)  # fmt: skip

# pre-commit.com, "Creating new hooks"
HOOKS = {
    "type": "array",
    "minItems": 1,
    "items": table(
        "id name entry language",
        id=TEXT, name=TEXT, entry=TEXT, language={"const": "python"}, description=TEXT, args=TEXTS,
        pass_filenames={"type": "boolean"}, always_run={"type": "boolean"},
    ),
}  # fmt: skip
