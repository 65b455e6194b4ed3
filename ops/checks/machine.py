"""What this machine must have, and what the stack brings along: tools, token, price."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from botocore.exceptions import ClientError

from components.aws.session import session
from components.cluster.kubeconfig import HOW_TO_GET_AWS_CLI
from ops.checks.finding import Finding, ok, unknown, wrong
from ops.money.bill import how_to_price
from ops.money.bill import price as price_of
from ops.pulumi import automation
from stacks.cost import cost_per_hour
from stacks.plan import StackPlan
from stacks.sections.cluster import AwsCluster
from targets.aws_access import AwsAccess

_OWN_BACKENDS = ("file://", "s3://", "gs://", "azblob://")
"""Backends that encrypt secrets here, and not on a server."""


def pulumi_cli(project: Path, stack: str) -> Iterator[Finding]:
    """Pulumi's CLI, its login, and a passphrase where its backend wants one. stack: as Pulumi is to be asked for it."""
    about = "Pulumi"
    if not automation.available():
        yield wrong(about, f"no Pulumi CLI on PATH; {automation.HOW_TO_GET_PULUMI}")
        return
    try:
        place = automation.place(project, stack)
    except automation.LoggedOutError as error:
        yield wrong(about, str(error))
        return
    if place.backend.startswith(_OWN_BACKENDS) and not _has_passphrase(project, place.stack):
        yield wrong(
            about,
            f"{place.backend} encrypts secrets with a passphrase, and none is given; set PULUMI_CONFIG_PASSPHRASE or "
            "PULUMI_CONFIG_PASSPHRASE_FILE",
        )
        return
    yield ok(about, f"logged in; {place}")


def aws_cli() -> Iterator[Finding]:
    """The `aws` that kubeconfigs of EKS call for a token."""
    about = "aws executable"
    found = shutil.which("aws")
    if found is None:
        yield wrong(
            about,
            f"not on PATH, and the cluster's kubeconfig gets its tokens from the AWS CLI; {HOW_TO_GET_AWS_CLI}",
        )
        return
    try:
        ran = subprocess.run([found, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        yield wrong(about, f"{found} does not run ({error}); {HOW_TO_GET_AWS_CLI}")
        return
    yield ok(about, (ran.stdout or ran.stderr).split()[0])


def hugging_face(plan: StackPlan) -> Iterator[Finding]:
    """Where the download's token comes from."""
    about, token = "Hugging Face token", plan.secrets.hugging_face
    if token.aws_secret is not None:
        yield _secret(token.aws_secret.name, token.aws_secret.region, _access(plan))
    elif token.existing_secret is not None:
        yield ok(about, f"in the cluster, as Secret {token.existing_secret}")
    elif token.given:
        yield ok(about, "in the stack's config")
    else:
        yield ok(about, "none; the model is not gated, but a token (huggingFace.token) lifts download limits")


def price(plan: StackPlan) -> Iterator[Finding]:
    """What the stack costs by the hour."""
    about, priced = "price", cost_per_hour(plan)
    if priced is None:
        yield ok(about, "nothing by the hour: cluster and nodes are there already")
    elif priced.unknown:
        yield unknown(about, f"{price_of(priced)}; {how_to_price(priced, plan)}")
    else:
        yield ok(about, f"{price_of(priced)} ({priced.basis})")


def _secret(name: str, region: str, access: AwsAccess) -> Finding:
    about = "Hugging Face token"
    try:
        session(region, access).client("secretsmanager").describe_secret(SecretId=name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return wrong(
            about, f"Secrets Manager has no {name} in {region}; create it, or correct huggingFace.awsSecret"
        )
    return ok(about, f"in Secrets Manager, as {name} in {region}")


def _access(plan: StackPlan) -> AwsAccess:
    cluster: Any = plan.cluster
    return cluster.aws if isinstance(cluster, AwsCluster) else AwsAccess()


def _has_passphrase(project: Path, stack: str) -> bool:
    """Also an empty one; or a provider of the stack's own that wants none."""
    file = project / f"Pulumi.{stack}.yaml"
    content = (yaml.safe_load(file.read_text()) or {}) if file.exists() else {}
    names = ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")
    return any(name in os.environ for name in names) or "secretsprovider" in content
