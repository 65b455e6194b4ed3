"""External Secrets on the cluster, and the stores it reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.charts import release_in_own_namespace
from components.manifests import ready_resource
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
        needed = (
            [release_in_own_namespace(RELEASE, args.chart, NAMESPACE, self, values=external_secrets_values())]
            if args.chart
            else []
        )
        for namespace, region in args.stores:
            store = secret_store(namespace, region)
            ready_resource(
                f"{store['metadata']['name']}-{namespace}",
                store,
                pulumi.ResourceOptions(parent=self, depends_on=needed),
            )
        self.register_outputs({})


def external_secrets_values() -> dict[str, Any]:
    """Values of the release: its CRDs, and the service account that has access to the secrets."""
    return {"installCRDs": True, "serviceAccount": {"name": SERVICE_ACCOUNT}}
