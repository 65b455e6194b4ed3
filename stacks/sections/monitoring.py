"""`monitoring`: Prometheus, Grafana and what is alerted about."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from facts.versions import KUBE_PROMETHEUS_STACK
from manifests.monitoring.alerts import Objectives
from manifests.services.charts import prometheus_url
from targets.knobs import LabelKey, LabelValue, ObjectName
from targets.strict import Strict


class MonitoringSettings(Strict):
    """Monitoring of the stack's graphs."""

    kind: Literal["none", "install", "existing"] = "none"
    """`install` brings Prometheus and Grafana, `existing` uses the Prometheus operator that is on the cluster."""
    namespace: ObjectName = KUBE_PROMETHEUS_STACK.namespace
    """Namespace of what is installed (kind install)."""
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^/\s]+(:\d+)?(/\S*)?$")
    """URL of the Prometheus inside the cluster (kind existing)."""
    labels: Mapping[LabelKey, LabelValue] = {}
    """Labels by which the existing Prometheus selects monitors and rules, for example `release: prometheus`."""
    pod_monitors: bool = True
    """Whether the stack makes PodMonitors. Off where the platform's own are scraped, or series are counted twice."""
    ttft_seconds: float = Field(default=2.0, gt=0)
    """Time to first token that is alerted about, 95th percentile; the default of Dynamo's SLA planner."""
    itl_seconds: float = Field(default=0.03, gt=0)
    """Inter-token latency that is alerted about, 95th percentile; the default of Dynamo's SLA planner."""
    idle_minutes: int = Field(default=30, ge=5, le=1440)
    """Minutes without work after which a GPU node is reported idle."""
    retention_days: int = Field(default=15, ge=1, le=365)
    """Days that series are kept (kind install)."""
    storage: str = Field(default="50Gi", pattern=r"^[1-9][0-9]*(Gi|Ti)$")
    """Size of Prometheus's claim (kind install)."""
    storage_class: ObjectName | None = None
    """StorageClass of that claim; by default the cluster's default."""

    @model_validator(mode="after")
    def _endpoint_of_existing(self) -> "MonitoringSettings":
        if self.kind != "existing" and self.endpoint is not None:
            raise ValueError(f"endpoint is for kind existing, not {self.kind}")
        return self

    @property
    def prometheus(self) -> str | None:
        """URL of the Prometheus inside the cluster, None where it is not known."""
        return prometheus_url(self.namespace) if self.kind == "install" else self.endpoint

    def objectives(self, ttl: str | None) -> Objectives:
        """What is alerted about. ttl: the stack's time to live, as `72h` or `14d`."""
        return Objectives(
            ttft=self.ttft_seconds,
            itl=self.itl_seconds,
            idle_minutes=self.idle_minutes,
            ttl=ttl,
        )
