"""Runs the stand-in for Dynamo's operator: definitions, rules and reconciliation, until SIGTERM."""

import argparse
import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import kopf

from embedded import operator
from embedded.operator import drivers  # noqa: F401  # registers its handlers
from embedded.operator.api import Api, ApiError
from embedded.operator.definitions import GROUP, PLURAL, install
from embedded.operator.platform import SIMULATED, GraphVersion, Platform
from embedded.operator.pods import ADAPTER_KIND, GRAPH
from embedded.operator.reconciler import Reconciler
from facts.releases import DEFAULT, Version

_log = logging.getLogger(__name__)

kopf.on.login()(kopf.login_with_kubeconfig)


async def graph_changed(namespace: str | None, name: str, memo: kopf.Memo, **_: Any) -> None:
    """Reconciles a graph that changed."""
    await memo.reconciler.changed(namespace, name)


@kopf.on.event("v1", "pods", labels={GRAPH: kopf.PRESENT, **SIMULATED})
@kopf.on.event("v1", "services", labels={GRAPH: kopf.PRESENT, **SIMULATED})
@kopf.on.event("apps", "v1", "deployments", labels={GRAPH: kopf.PRESENT, **SIMULATED})
@kopf.on.event(GROUP, "v1alpha1", ADAPTER_KIND, labels={GRAPH: kopf.PRESENT, **SIMULATED})
async def child_changed(namespace: str | None, labels: Mapping[str, str], memo: kopf.Memo, **_: Any) -> None:
    """Reconciles the graph of a pod, Service, Deployment or scaling adapter that changed or went."""
    await memo.reconciler.changed(namespace, labels[GRAPH])


async def run(version: GraphVersion, platform: Platform, ready_file: Path) -> None:
    """Installs definitions and rules and serves until SIGTERM or SIGINT."""
    async with Api() as api:
        await api.until_ready()
        await install(api, version, platform)

        async def announce(**_: Any) -> None:
            _log.info("serving %s/%s as %s", GROUP, version, platform)
            ready_file.touch()

        # The version is named: the group's preferred one need not be ours, as when NVIDIA's GPU operator is there too.
        kopf.on.event(GROUP, version, PLURAL)(graph_changed)
        kopf.on.startup()(announce)
        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        memo = kopf.Memo(api=api, reconciler=Reconciler(api, version, platform))
        try:
            await kopf.operator(settings=settings, memo=memo, standalone=True, clusterwide=True)
        finally:
            ready_file.unlink(missing_ok=True)


def main() -> None:
    """Runs the stand-in; exits with 1 and one sentence where the API server refuses its definitions."""
    parser = argparse.ArgumentParser("python -m embedded.operator", description=operator.__doc__)
    add = parser.add_argument
    add("--kubeconfig", type=Path, required=True, help="of the embedded cluster's administrator")
    add("--api-version", choices=get_args(GraphVersion), default="v1alpha1", help="of DynamoGraphDeployment")
    add("--platform-version", type=Version.parse, default=DEFAULT, help="release to stand in for")
    add("--provider", choices=("component", "grove"), default="component", help="what runs graphs")
    add("--ready-file", type=Path, required=True, help="exists while graphs are accepted and reconciled")
    options = parser.parse_args()
    os.environ["KUBECONFIG"] = str(options.kubeconfig)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    for chatty in ("kopf", "aiohttp.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    options.ready_file.unlink(missing_ok=True)
    try:
        platform = Platform(version=options.platform_version, grove=options.provider == "grove")
        asyncio.run(run(options.api_version, platform, options.ready_file))
    except ApiError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
