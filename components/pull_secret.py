"""NVIDIA's registry key as image pull Secrets."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import ready_resource
from graphs import secrets
from graphs.names import MANAGED_BY


@dataclass(frozen=True, kw_only=True)
class PullSecretArgs:
    """namespaces: each gets a Secret. api_key: a Pulumi secret, or None to read aws_secret through External Secrets."""

    namespaces: Sequence[str]
    api_key: pulumi.Input[str] | None = None
    aws_secret: secrets.AwsSecret | None = None
    refresh_minutes: int = 60


class PullSecret(pulumi.ComponentResource):
    """A pull Secret for nvcr.io in every namespace that pulls from it."""

    def __init__(self, name: str, args: PullSecretArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:PullSecret", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        for namespace in args.namespaces:
            if args.api_key is not None:
                self._made(namespace, args.api_key, child)
            elif args.aws_secret is not None:
                manifest = secrets.pull_external_secret(
                    namespace, source=args.aws_secret, refresh_minutes=args.refresh_minutes
                )
                ready_resource(f"{secrets.PULL_SECRET}-{namespace}", manifest, child)
        self.register_outputs({"secretName": secrets.PULL_SECRET})

    @staticmethod
    def _made(namespace: str, api_key: pulumi.Input[str], child: pulumi.ResourceOptions) -> None:
        config = pulumi.Output.secret(api_key).apply(secrets.docker_config)
        kubernetes.core.v1.Secret(
            f"{secrets.PULL_SECRET}-{namespace}",
            metadata={"name": secrets.PULL_SECRET, "namespace": namespace, "labels": dict(MANAGED_BY)},
            type=secrets.DOCKER_CONFIG_TYPE,
            string_data={secrets.DOCKER_CONFIG_KEY: config},
            opts=child,
        )
