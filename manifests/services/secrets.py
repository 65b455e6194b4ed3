"""Tokens as Kubernetes objects: pull Secrets, and Secrets that External Secrets fills from AWS. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from manifests.names import TOKEN_KEY, TOKEN_SECRET
from manifests.objects import READY, Named, annotate, by_own_name, manifest, secret

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


def stores(namespaces: Iterable[str], regions: Iterable[str]) -> list[Named]:
    """A SecretStore for each namespace and AWS region.

    They hold no credential: the operator's own pod identity reads the secrets.
    """
    found = []
    for namespace, region in product(namespaces, regions):
        spec = {"provider": {"aws": {"service": "SecretsManager", "region": region}}}
        store = manifest(_API_VERSION, "SecretStore", f"{SECRET_STORE}-{region}", namespace, spec=spec)
        found.append(Named(f"{SECRET_STORE}-{region}-{namespace}", annotate(store, READY)))
    return found


def token(namespace: str, text: Any, source: AwsSecret | None, refresh_minutes: int) -> list[Named]:
    """The Secret with the Hugging Face token; none where neither is given.

    text: the token as `objects.encode` has it, may be an Output. source: where External Secrets reads it instead,
    every refresh_minutes.
    """
    if text is not None:
        return by_own_name([secret(TOKEN_SECRET, namespace, {TOKEN_KEY: text})])
    if source is None:
        return []
    template = {"type": "Opaque", "data": {TOKEN_KEY: f"{{{{ .{_FETCHED_KEY} }}}}"}}
    return [Named("hf-token", _external_secret(namespace, TOKEN_SECRET, source, refresh_minutes, template))]


def pull_secrets(
    namespaces: Iterable[str], config: Any, source: AwsSecret | None, refresh_minutes: int
) -> list[Named]:
    """The pull Secret for nvcr.io in each namespace.

    config: `docker_config` as `objects.encode` has it, may be an Output. source, refresh_minutes: as for `token`.
    """
    found = []
    for namespace in namespaces:
        if source is None:
            made = secret(PULL_SECRET, namespace, {DOCKER_CONFIG_KEY: config}, DOCKER_CONFIG_TYPE)
        else:
            data = {DOCKER_CONFIG_KEY: docker_config(f"{{{{ .{_FETCHED_KEY} }}}}")}
            template = {"type": DOCKER_CONFIG_TYPE, "data": data}
            made = _external_secret(namespace, PULL_SECRET, source, refresh_minutes, template)
        found.append(Named(f"{PULL_SECRET}-{namespace}", made))
    return found


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
    return annotate(manifest(_API_VERSION, "ExternalSecret", name, namespace, spec=spec), READY)
