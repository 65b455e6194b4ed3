"""A kubeconfig for EKS that holds no credential. Pure."""

import json
from dataclasses import dataclass

HOW_TO_GET_AWS_CLI = (
    "install it (https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html)"
)


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """As whom a cluster is reached."""

    profile: str | None = None
    """Profile of the AWS configuration; by default the AWS tools' own choice."""
    assume_role: str | None = None
    """ARN of a role that is assumed with them."""


def kubeconfig(name: str, region: str, endpoint: str, certificate_authority: str, caller: Credentials) -> str:
    """JSON kubeconfig whose user is whoever `aws eks get-token` finds. certificate_authority: base64 PEM."""
    options = (("--profile", caller.profile), ("--role-arn", caller.assume_role))
    given = [word for option, value in options if value for word in (option, value)]
    token = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": ["eks", "get-token", "--cluster-name", name, "--region", region, "--output", "json", *given],
        "interactiveMode": "Never",
    }
    cluster = {"server": endpoint, "certificate-authority-data": certificate_authority}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"exec": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(config, sort_keys=True)
