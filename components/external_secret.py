"""External Secrets on the cluster, and the stores it reads."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.charts import release_in_own_namespace
from components.manifests import ready_resource
from graphs.charts import external_secrets_values
from graphs.secrets import secret_store
from targets.versions import Chart


@dataclass(frozen=True, kw_only=True)
class ExternalSecretsArgs:
    """chart: None where the operator is on the cluster already.

    stores: (namespace, AWS region) pairs that get a SecretStore each.
    """

    chart: Chart | None
    stores: Sequence[tuple[str, str]]


class ExternalSecrets(pulumi.ComponentResource):
    """The operator that copies secrets from AWS Secrets Manager, and a store for each namespace and region."""

    def __init__(
        self, name: str, args: ExternalSecretsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:ExternalSecrets", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        needed = (
            [release_in_own_namespace(args.chart, child, values=external_secrets_values(), minutes=10)]
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
