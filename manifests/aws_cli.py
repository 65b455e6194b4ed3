"""The AWS CLI for pods whose own image has none. Pure."""

from typing import Any

from facts.versions import AWS_CLI
from manifests.objects import container

IMAGE = f"public.ecr.aws/aws-cli/aws-cli:{AWS_CLI}"
PATH = "/opt/aws-cli"
EXECUTABLE = f"{PATH}/aws"
_INSTALLED = "/usr/local/aws-cli/v2/current/dist/."
"""Where AWS's installer puts the CLI, as its image does; it brings its own Python and needs nothing but glibc."""
_VOLUME = "aws-cli"


def volume() -> dict[str, Any]:
    """Where the CLI is, as long as its pod lives."""
    return {"name": _VOLUME, "emptyDir": {"sizeLimit": "1Gi"}}


def mount(*, read_only: bool = True) -> dict[str, Any]:
    """The CLI in another container."""
    return {"name": _VOLUME, "mountPath": PATH, **({"readOnly": True} if read_only else {})}


def init_container() -> dict[str, Any]:
    """What puts the CLI there."""
    return container(
        _VOLUME,
        IMAGE,
        ["cp", "-rL", _INSTALLED, PATH],
        volumeMounts=[mount(read_only=False)],
        resources={"requests": {"cpu": "50m", "memory": "128Mi"}},
    )
