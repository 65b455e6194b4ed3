"""Helm values against the charts' documented keys.

No chart can be fetched where these tests run, so nothing is rendered: what is checked is that every key that we write
is one that the chart documents (tests/manifests/data/chart_keys.yaml), and none that it refuses.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from facts import versions
from facts.releases import LATEST_PATCH, Version
from manifests.services import charts
from manifests.services.charts import (
    platform_chart,
    platform_values,
    prometheus_url,
    prometheus_values,
)
from targets.platform import Addon, Discovery, Platform
from tests.manifests.monitoring.watched import PROMETHEUS
from tests.project import PROJECT

CHARTS = yaml.safe_load((PROJECT / "tests" / "manifests" / "data" / "chart_keys.yaml").read_text())


def wanted(**more: Any) -> Platform:
    plain: dict[str, Any] = {
        "version": Version(1, 2, 1),
        "discovery": Discovery.KUBERNETES,
        "nats": True,
        "etcd": False,
        "grove": Addon.NONE,
        "kai_scheduler": Addon.NONE,
        "leader_worker_set": False,
        "webhook_timeout_seconds": 10,
        "cert_manager": False,
        "storage_class": None,
        "prometheus": None,
    }
    return Platform(**plain | more)


def leaves(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for key, value in values.items():
        here = f"{path}.{key}".removeprefix(".")
        if isinstance(value, Mapping) and value:
            yield from leaves(value, here)
        else:
            yield here


def undocumented(values: Mapping[str, Any], chart: str) -> set[str]:
    keys = CHARTS[chart]["keys"]
    return {
        leaf for leaf in leaves(values) if not any(leaf == key or leaf.startswith(f"{key}.") for key in keys)
    }


EVERY_PLATFORM = [
    wanted(
        version=Version.parse(version),
        nats=nats,
        etcd=not nats,
        grove=grove,
        kai_scheduler=kai,
        storage_class=storage_class,
        prometheus=prometheus,
    )
    for version, nats, grove, kai, storage_class, prometheus in itertools.product(
        [LATEST_PATCH["1.0"], LATEST_PATCH["1.6"]],
        [True, False],
        Addon,
        Addon,
        [None, "gp3"],
        [None, "http://prometheus:9090"],
    )
]


def test_every_key_of_the_platform_is_documented() -> None:
    for platform, pull_secret in itertools.product(EVERY_PLATFORM, (None, "ngc-pull-secret")):
        values = platform_values(platform, pull_secret)
        assert not undocumented(values, "dynamo-platform")
        assert not {*leaves(values)} & {*CHARTS["dynamo-platform"]["removed"]}


PINNED = [
    (versions.KUBE_PROMETHEUS_STACK, charts.prometheus_values(PROMETHEUS)),
    (versions.GPU_OPERATOR, charts.gpu_operator_values()),
    (versions.EFA_DEVICE_PLUGIN, charts.efa_values()),
    (versions.DRA_DRIVER, charts.dra_values()),
    (versions.EXTERNAL_SECRETS, charts.external_secrets_values()),
]


@pytest.mark.parametrize(("chart", "values"), PINNED, ids=lambda each: getattr(each, "name", ""))
def test_every_key_of_a_pinned_chart_is_documented(chart: versions.Chart, values: dict[str, Any]) -> None:
    assert CHARTS[chart.name]["version"] == chart.version, "read the keys of the new version"
    assert not undocumented(values, chart.name)


def test_a_key_that_no_chart_knows_is_noticed() -> None:
    assert undocumented({"global": {"nats": {"instal": True}}}, "dynamo-platform") == {"global.nats.instal"}


@pytest.mark.parametrize(
    ("addon", "value"),
    [
        (Addon.NONE, {"install": False, "enabled": False}),
        (Addon.BUNDLED, {"install": True, "enabled": True}),
        (Addon.EXTERNAL, {"install": False, "enabled": True}),
    ],
)
def test_an_addon_is_installed_or_only_used(addon: Addon, value: dict[str, bool]) -> None:
    values = platform_values(wanted(grove=addon, kai_scheduler=addon), None)
    assert values["global"]["grove"] == values["global"]["kai-scheduler"] == value


@pytest.mark.parametrize(
    ("version", "grove", "kai", "set_"),
    [
        ("1.6.1", Addon.BUNDLED, Addon.BUNDLED, True),
        ("1.6.1", Addon.EXTERNAL, Addon.BUNDLED, False),
        ("1.6.1", Addon.BUNDLED, Addon.NONE, False),
        ("1.4.2", Addon.BUNDLED, Addon.BUNDLED, False),
    ],
)
def test_grove_alone_ends_pod_groups_where_the_chart_demands_it(
    version: str, grove: Addon, kai: Addon, set_: bool
) -> None:
    values = platform_values(wanted(version=Version.parse(version), grove=grove, kai_scheduler=kai), None)
    args = values.get("kai-scheduler", {}).get("scheduler", {}).get("args")
    assert args == ({"default-staleness-grace-period": "-1s"} if set_ else None)


def test_services_discovery_and_webhooks_are_as_asked() -> None:
    values = platform_values(
        wanted(
            nats=False,
            etcd=True,
            discovery=Discovery.ETCD,
            webhook_timeout_seconds=25,
            cert_manager=True,
            storage_class="gp3",
            prometheus="http://prometheus:9090",
        ),
        "ngc-pull-secret",
    )
    assert values["global"]["nats"] == {"install": False}
    assert values["global"]["etcd"] == {"install": True}
    assert values["etcd"] == {"persistence": {"storageClass": "gp3"}}
    assert "nats" not in values
    assert values["dynamo-operator"] == {
        "upgradeCRD": True,
        "discoveryBackend": "etcd",
        "webhook": {"failurePolicy": "Fail", "timeoutSeconds": 25, "certManager": {"enabled": True}},
        "dynamo": {"metrics": {"prometheusEndpoint": "http://prometheus:9090"}},
        "imagePullSecrets": [{"name": "ngc-pull-secret"}],
    }


def test_the_chart_is_a_pinned_file_and_no_oci_artifact() -> None:
    assert platform_chart(Version(1, 2, 1)).file == (
        "https://helm.ngc.nvidia.com/nvidia/ai-dynamo/charts/dynamo-platform-1.2.1.tgz"
    )


def test_what_reads_the_data_sources_before_grafana_starts_ends() -> None:
    """The chart's default method, WATCH, goes on for ever, in an init container too."""
    sources = prometheus_values(PROMETHEUS)["grafana"]["sidecar"]["datasources"]
    assert sources == {"initDatasources": True, "skipReload": True, "watchMethod": "LIST"}


def test_grafana_has_no_password_to_know() -> None:
    ini = prometheus_values(PROMETHEUS)["grafana"]["grafana.ini"]
    assert ini["auth.anonymous"] == {"enabled": True, "org_role": "Viewer"}
    assert ini["auth"]["disable_login_form"]
    assert not ini["auth.basic"]["enabled"]


def test_prometheus_is_where_its_service_is() -> None:
    assert prometheus_url("monitoring") == "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"
