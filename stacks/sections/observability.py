"""`observability`: logs and traces of the graphs' frontends and workers."""

from typing import Literal

from pydantic import Field, model_validator

from targets.observability import Observability
from targets.strict import Strict


class ObservabilitySettings(Strict):
    """What frontends and workers write and export; metrics are under `monitoring`."""

    logs: Literal["text", "json"] = "text"
    """`json` writes an object a line, with the trace's id."""
    otlp_endpoint: str | None = Field(default=None, pattern=r"^https?://[^/\s]+$")
    """URL of an OTLP/gRPC receiver that traces go to, and from Dynamo 1.2 on logs, for example `http://collector:4317`."""

    @model_validator(mode="after")
    def _exports_json(self) -> "ObservabilitySettings":
        if self.otlp_endpoint is not None and self.logs != "json":
            raise ValueError("otlpEndpoint needs logs json: Dynamo exports nothing while it logs text")
        return self

    def resolve(self) -> Observability:
        """What the graphs get."""
        return Observability(json_logs=self.logs == "json", otlp_endpoint=self.otlp_endpoint)
