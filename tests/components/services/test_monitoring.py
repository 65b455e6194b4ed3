"""Prometheus as a component."""

from components.services.monitoring import Monitoring, MonitoringArgs
from facts.versions import KUBE_PROMETHEUS_STACK
from tests.components.recording import deploy, named


def test_prometheus_is_a_pinned_file_in_a_namespace_of_its_own() -> None:
    recorder = deploy(lambda: Monitoring("monitoring", MonitoringArgs(namespace="watch", retention_days=3)))
    namespace = named(recorder, "watch", ":Namespace")
    release = named(recorder, "kube-prometheus-stack", ":Release")
    assert release.dependencies == (namespace.urn,)
    assert release.inputs["namespace"] == "watch"
    assert release.inputs["chart"].endswith(f"/kube-prometheus-stack-{KUBE_PROMETHEUS_STACK.version}.tgz")
    assert release.inputs["values"]["prometheus"]["prometheusSpec"]["retention"] == "3d"
    assert recorder.registered_outputs["monitoring"] == {
        "endpoint": "http://kube-prometheus-stack-prometheus.watch.svc:9090"
    }
