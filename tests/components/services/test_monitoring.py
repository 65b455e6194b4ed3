"""Prometheus as a component."""

from components.charts import Release
from components.services.monitoring import Monitoring, MonitoringArgs
from facts.versions import KUBE_PROMETHEUS_STACK
from tests.components.recording import deploy, named


def test_prometheus_is_a_pinned_file_in_a_namespace_of_its_own() -> None:
    def program() -> None:
        wanted = Release(chart=KUBE_PROMETHEUS_STACK, values={"fullnameOverride": "p"})
        Monitoring("monitoring", MonitoringArgs(release=wanted))

    recorder = deploy(program)
    namespace = named(recorder, "monitoring", ":Namespace")
    release = named(recorder, "kube-prometheus-stack", ":Release")
    assert release.dependencies == (namespace.urn,)
    assert release.inputs["chart"].endswith(f"/kube-prometheus-stack-{KUBE_PROMETHEUS_STACK.version}.tgz")
    assert release.inputs["values"] == {"fullnameOverride": "p"}
