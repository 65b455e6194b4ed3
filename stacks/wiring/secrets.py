"""Wiring of secrets on any cluster: the token, the pull Secret, and what brings them from AWS."""

from collections.abc import Sequence

import pulumi

from components.charts import Release
from components.cluster.cluster_access import Cluster, on
from components.kubernetes_objects import KubernetesObjects, KubernetesObjectsArgs
from facts import versions
from manifests.names import TOKEN_SECRET
from manifests.objects import encode
from manifests.services import secrets
from manifests.services.charts import external_secrets_values
from manifests.services.secrets import PULL_SECRET, AwsSecret, stores
from stacks.plan import StackPlan
from stacks.sections.secrets import AwsSecretSettings


def aws_secrets(stack: StackPlan) -> list[AwsSecret]:
    """Secrets that the stack reads from AWS."""
    secrets = (stack.secrets.hugging_face.aws_secret, stack.secrets.ngc.aws_secret)
    return [_aws_secret(secret) for secret in secrets if secret is not None]


def external_secrets(
    stack: StackPlan, namespaces: Sequence[str], access: Sequence[pulumi.Resource], cluster: Cluster
) -> list[pulumi.Resource]:
    """External Secrets and its stores, where the stack reads secrets from AWS. access: what lets it read them."""
    regions = sorted({secret.region for secret in aws_secrets(stack)})
    if not regions:
        return []
    brought = Release(chart=versions.EXTERNAL_SECRETS, values=external_secrets_values(), minutes=10)
    args = KubernetesObjectsArgs(
        component="ExternalSecrets",
        release=brought if stack.secrets.external.install else None,
        objects=stores(namespaces, regions),
    )
    return [KubernetesObjects("external-secrets", args, on(cluster, access))]


def token_secret(
    stack: StackPlan, needed: Sequence[pulumi.Resource], cluster: Cluster
) -> list[pulumi.Resource]:
    """The Hugging Face token, where there is one. needed: External Secrets, if it brings it."""
    settings = stack.secrets.hugging_face
    if not settings.given:
        return []
    token = (
        None if settings.token is None else pulumi.Output.secret(encode(settings.token.get_secret_value()))
    )
    source = None if settings.aws_secret is None else _aws_secret(settings.aws_secret)
    args = KubernetesObjectsArgs(
        component="HuggingFaceSecret",
        # One that is there is not looked up: what Pulumi reads it keeps, token and all.
        objects=secrets.token(stack.cluster.namespace, token, source, stack.secrets.external.refresh_minutes),
        results={"secretName": settings.existing_secret or TOKEN_SECRET},
    )
    return [KubernetesObjects("hugging-face", args, on(cluster, needed))]


def pull_secret(
    stack: StackPlan,
    namespaces: Sequence[str],
    needed: Sequence[pulumi.Resource],
    cluster: Cluster,
) -> list[pulumi.Resource]:
    """The pull Secret for NVIDIA's registry in those namespaces, where a key is given."""
    ngc = stack.secrets.ngc
    if not ngc.given:
        return []
    config = None
    if ngc.api_key is not None:
        config = pulumi.Output.secret(encode(secrets.docker_config(ngc.api_key.get_secret_value())))
    source = None if ngc.aws_secret is None else _aws_secret(ngc.aws_secret)
    args = KubernetesObjectsArgs(
        component="PullSecret",
        objects=secrets.pull_secrets(namespaces, config, source, stack.secrets.external.refresh_minutes),
        results={"secretName": PULL_SECRET},
    )
    return [KubernetesObjects("ngc", args, on(cluster, needed))]


def _aws_secret(settings: AwsSecretSettings) -> AwsSecret:
    return AwsSecret(name=settings.name, region=settings.region, key=settings.key)
