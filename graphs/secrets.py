"""Tokens as Kubernetes objects: pull Secrets, and Secrets that External Secrets fills from AWS. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphs.objects import manifest

REGISTRY = "nvcr.io"
PULL_SECRET = "ngc-pull-secret"
DOCKER_CONFIG_KEY = ".dockerconfigjson"
DOCKER_CONFIG_TYPE = "kubernetes.io/dockerconfigjson"
SECRET_STORE = "aws-secrets-manager"
_API_VERSION = "external-secrets.io/v1"
_FETCHED_KEY = "token"


@dataclass(frozen=True, kw_only=True)
class AwsSecret:
    """A secret in AWS Secrets Manager. key: inside its JSON object, None for the whole text."""

    name: str
    region: str
    key: str | None


def docker_config(password: str) -> str:
    """Docker's config with an NGC API key; the user name is the literal that NGC documents."""
    return json.dumps({"auths": {REGISTRY: {"username": "$oauthtoken", "password": password}}})


def secret_store(namespace: str, region: str) -> dict[str, Any]:
    """The SecretStore of a region. It holds no credential: the operator's own pod identity reads the secrets."""
    spec = {"provider": {"aws": {"service": "SecretsManager", "region": region}}}
    return manifest(_API_VERSION, "SecretStore", f"{SECRET_STORE}-{region}", namespace, spec=spec)


def token_external_secret(
    namespace: str, *, name: str, key: str, source: AwsSecret, refresh_minutes: int
) -> dict[str, Any]:
    """An ExternalSecret that keeps Secret `name` filled with the token under `key`."""
    template = {"type": "Opaque", "data": {key: f"{{{{ .{_FETCHED_KEY} }}}}"}}
    return _external_secret(namespace, name, source, refresh_minutes, template)


def pull_external_secret(namespace: str, *, source: AwsSecret, refresh_minutes: int) -> dict[str, Any]:
    """An ExternalSecret that keeps the pull Secret for nvcr.io."""
    config = docker_config(f"{{{{ .{_FETCHED_KEY} }}}}")
    template = {"type": DOCKER_CONFIG_TYPE, "data": {DOCKER_CONFIG_KEY: config}}
    return _external_secret(namespace, PULL_SECRET, source, refresh_minutes, template)


def _external_secret(
    namespace: str, name: str, source: AwsSecret, refresh_minutes: int, template: Mapping[str, Any]
) -> dict[str, Any]:
    remote = {"key": source.name} | ({"property": source.key} if source.key else {})
    spec = {
        "refreshInterval": f"{refresh_minutes}m",
        "secretStoreRef": {"kind": "SecretStore", "name": f"{SECRET_STORE}-{source.region}"},
        "target": {"name": name, "creationPolicy": "Owner", "template": dict(template)},
        "data": [{"secretKey": _FETCHED_KEY, "remoteRef": remote}],
    }
    return manifest(_API_VERSION, "ExternalSecret", name, namespace, spec=spec)
