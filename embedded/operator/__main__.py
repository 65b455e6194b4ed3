"""Runs the stand-in for Dynamo's operator: webhook, definitions and reconciliation, until SIGTERM."""

import argparse
import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, get_args

import kopf

from embedded import admission, crds, operator
from embedded.crds import SIMULATED
from embedded.operator import drivers  # noqa: F401  # registers its handlers
from embedded.operator.api import Api, ApiError
from embedded.operator.components import Object
from embedded.operator.definitions import GROUP, PLURAL, install
from embedded.operator.platform import Platform
from embedded.operator.pods import GRAPH
from embedded.operator.reconciler import ADAPTERS, PRINCIPAL, Reconciler
from targets.releases import DEFAULT, Version

_RULES = "rules"
_log = logging.getLogger(__name__)

kopf.on.login()(kopf.login_with_kubeconfig)


async def graph_changed(namespace: str | None, name: str, memo: kopf.Memo, **_: Any) -> None:
    """Reconciles a graph that changed."""
    await memo.reconciler.changed(namespace, name)


@kopf.on.event("v1", "pods", labels={GRAPH: kopf.PRESENT, **SIMULATED})
@kopf.on.event("v1", "services", labels={GRAPH: kopf.PRESENT, **SIMULATED})
@kopf.on.event("apps", "v1", "deployments", labels={GRAPH: kopf.PRESENT, **SIMULATED})
@kopf.on.event(GROUP, "v1alpha1", ADAPTERS, labels={GRAPH: kopf.PRESENT, **SIMULATED})
async def child_changed(namespace: str | None, labels: Mapping[str, str], memo: kopf.Memo, **_: Any) -> None:
    """Reconciles the graph of a pod, Service, Deployment or scaling adapter that changed or went."""
    await memo.reconciler.changed(namespace, labels[GRAPH])


def graph_is_good(body: kopf.Body, warnings: list[str], memo: kopf.Memo, **review: Any) -> None:
    """The webhook: refuses a graph that breaks a rule, with every rule that it breaks."""
    graph, stored = dict(body), dict(review["old"]) if review["old"] else None
    by_operator = review["userinfo"].get("username") == PRINCIPAL
    if broken := admission.violations(graph, memo.platform, stored, by_operator=by_operator):
        raise kopf.AdmissionError("; ".join(broken), code=403)
    warnings.extend(admission.warnings(graph))


def _webhook(version: str, client: kopf.WebhookClientConfig) -> Object:
    webhook = {
        "name": f"{PLURAL}.{GROUP}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {**client, "url": f"{client['url']}/{_RULES}"},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        # A graph that goes may always go, even while no operator runs.
        "matchConditions": [{"name": "stays", "expression": "!has(object.metadata.deletionTimestamp)"}],
        "rules": [
            {
                "apiGroups": [GROUP],
                "apiVersions": [version],
                "resources": [PLURAL],
                "operations": ["CREATE", "UPDATE"],
            }
        ],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "dynamo-operator-stand-in", "labels": SIMULATED},
        "webhooks": [webhook],
    }


async def run(version: crds.Version, platform: Platform, pki: Path, ready_file: Path | None) -> None:
    """Installs the definitions and serves until SIGTERM or SIGINT."""
    async with Api() as api:
        await install(api, version, platform)
        server = kopf.WebhookServer(
            addr="127.0.0.1", certfile=pki / "server.crt", pkeyfile=pki / "server.key", cafile=pki / "ca.crt"
        )

        async def announced(serve: kopf.WebhookFn) -> AsyncIterator[kopf.WebhookClientConfig]:
            async for client in server(serve):
                await api.apply(_webhook(version, client))
                _log.info("serving %s/%s as %s", GROUP, version, platform)
                if ready_file:
                    ready_file.touch()
                yield client

        # The version is said: the group's preferred one need not be ours, as when NVIDIA's GPU operator is there too.
        kopf.on.event(GROUP, version, PLURAL)(graph_changed)
        kopf.on.validate(GROUP, version, PLURAL, id=_RULES)(graph_is_good)
        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        settings.admission.server = announced
        memo = kopf.Memo(api=api, platform=platform, reconciler=Reconciler(api, version, platform))
        try:
            await kopf.operator(settings=settings, memo=memo, standalone=True, clusterwide=True)
        finally:
            if ready_file:
                ready_file.unlink(missing_ok=True)


def main() -> None:
    """Runs the stand-in; exits with 1 and one sentence where the API server refuses its definitions."""
    parser = argparse.ArgumentParser("python -m embedded.operator", description=operator.__doc__)
    add = parser.add_argument
    add("--kubeconfig", type=Path, required=True, help="of the embedded cluster's administrator")
    add("--pki", type=Path, required=True, help="folder of ca.crt, server.crt and server.key for 127.0.0.1")
    add("--api-version", choices=get_args(crds.Version), default="v1alpha1", help="of DynamoGraphDeployment")
    add("--platform-version", type=Version.parse, default=DEFAULT, help="release to stand in for")
    add("--provider", choices=("component", "grove"), default="component", help="what runs graphs")
    add("--ready-file", type=Path, help="exists while graphs are accepted and reconciled")
    options = parser.parse_args()
    os.environ["KUBECONFIG"] = str(options.kubeconfig)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    for chatty in ("kopf", "aiohttp.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    if options.ready_file:
        options.ready_file.unlink(missing_ok=True)
    try:
        platform = Platform(version=options.platform_version, grove=options.provider == "grove")
        asyncio.run(run(options.api_version, platform, options.pki, options.ready_file))
    except ApiError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
