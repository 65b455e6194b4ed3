"""External Secrets on the cluster, and the stores it reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from graphs.names import MANAGED_BY
from graphs.secrets import secret_store

RELEASE = "external-secrets"
NAMESPACE = "external-secrets"
SERVICE_ACCOUNT = "external-secrets"
"""Service account that a pod identity association gives access to the secrets."""


@dataclass(frozen=True, kw_only=True)
class ExternalSecretsArgs:
    """chart: HTTPS address of the chart's file, None where the operator is on the cluster already.

    stores: (namespace, AWS region) pairs that get a SecretStore each.
    """

    chart: str | None
    stores: Sequence[tuple[str, str]]


class ExternalSecrets(pulumi.ComponentResource):
    """The operator that copies secrets from AWS Secrets Manager, and a store for each namespace and region."""

    def __init__(
        self, name: str, args: ExternalSecretsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:ExternalSecrets", name, None, opts)
        needed = [self._release(args.chart)] if args.chart else []
        for namespace, region in args.stores:
            store = secret_store(namespace, region)
            custom_resource(
                f"{store['metadata']['name']}-{namespace}",
                store,
                pulumi.ResourceOptions(parent=self, depends_on=needed),
            )
        self.register_outputs({})

    def _release(self, chart: str) -> kubernetes.helm.v3.Release:
        namespace = kubernetes.core.v1.Namespace(
            NAMESPACE,
            metadata={"name": NAMESPACE, "labels": dict(MANAGED_BY)},
            opts=pulumi.ResourceOptions(parent=self),
        )
        return kubernetes.helm.v3.Release(
            RELEASE,
            name=RELEASE,
            chart=chart,
            namespace=NAMESPACE,
            values=external_secrets_values(),
            timeout=10 * 60,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
        )


def external_secrets_values() -> dict[str, Any]:
    """Values of the release: its CRDs, and the service account that has access to the secrets."""
    return {"installCRDs": True, "serviceAccount": {"name": SERVICE_ACCOUNT}}


def custom_resource(
    name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions
) -> kubernetes.apiextensions.CustomResource:
    """A manifest as a resource that is there when its condition Ready is true."""
    metadata = {**manifest["metadata"], "annotations": {"pulumi.com/waitFor": "condition=Ready"}}
    return kubernetes.apiextensions.CustomResource(
        name,
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        metadata=metadata,
        spec=manifest["spec"],
        opts=opts,
    )
