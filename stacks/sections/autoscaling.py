"""`autoscaling`: who decides how many workers the graphs have."""

from typing import Literal

from pydantic import Field, model_validator

from facts.versions import KEDA
from targets.autoscaling import Autoscaler
from targets.knobs import ObjectName
from targets.parts import Planner
from targets.strict import Strict


class AutoscalingSettings(Strict):
    """How many workers run, of the roles whose `maxReplicas` a graph says."""

    kind: Autoscaler = Autoscaler.NONE
    """`keda` scales on waiting requests and latency, `planner` is Dynamo's own, `external` leaves it to you."""
    install: bool = True
    """Whether the stack installs KEDA; if not, it must be on the cluster already (kind keda)."""
    namespace: ObjectName = KEDA.namespace
    """Namespace that KEDA is installed into; made, and deleted with the stack (kind keda)."""
    pending_requests: int = Field(default=10, ge=1, le=10_000)
    """Requests without a first token yet for each worker, above which one is added (kind keda)."""
    scale_up_minutes: int = Field(default=20, ge=1, le=30)
    """Minutes between two workers that are added: about what one takes to load (kind keda)."""
    scale_down_minutes: int = Field(default=30, ge=1, le=60)
    """Minutes that a worker must have been too many before it goes (kind keda)."""
    optimization: Literal["throughput", "latency", "sla"] = "throughput"
    """What is scaled for; `sla` holds the latencies of `monitoring` (kind planner)."""
    advisory: bool = False
    """Whether the Planner only says what it would do, in its log and metrics (kind planner)."""

    @model_validator(mode="after")
    def _keys_of_the_kind(self) -> "AutoscalingSettings":
        keys = {
            Autoscaler.KEDA: (
                "install", "namespace", "pending_requests", "scale_up_minutes", "scale_down_minutes",
            ),
            Autoscaler.PLANNER: ("optimization", "advisory"),
        }  # fmt: skip
        for kind, names in keys.items():
            for name in names:
                if self.kind is not kind and name in self.model_fields_set:
                    key = type(self).model_fields[name].alias
                    raise ValueError(f"{key} is for kind {kind}, not {self.kind}")
        return self

    def planner(self, ttft: float, itl: float) -> Planner | None:
        """The Planner that graphs get, None for another kind. ttft, itl: objectives in seconds."""
        if self.kind is not Autoscaler.PLANNER:
            return None
        return Planner(optimization=self.optimization, ttft=ttft, itl=itl, advisory=self.advisory)
