"""`sizing`: what Dynamo's own profiler is asked."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from stacks.sections.monitoring import MonitoringSettings
from targets.engine_knobs import MODEL_CONTEXT
from targets.sizing import Sizing
from targets.strict import Strict
from targets.target import Target

Tokens = Annotated[int, Field(ge=1, le=MODEL_CONTEXT)]


class SizingSettings(Strict):
    """The latencies and the traffic that Dynamo's profiler is to find a deployment for, on the stack's pool.

    Its answer is stored for review; nothing is deployed from it.
    """

    ttft_seconds: float | None = Field(default=None, gt=0)
    """Time to first token to hold; by default that of `monitoring`."""
    itl_seconds: float | None = Field(default=None, gt=0)
    """Inter-token latency to hold; by default that of `monitoring`."""
    isl: Tokens | None = None
    """Tokens of a prompt, on average; by default those of the target's published benchmark."""
    osl: Tokens | None = None
    """Tokens of an answer, on average; by default those of the target's published benchmark."""
    concurrency: int | None = Field(default=None, ge=1)
    """Requests at once to be held with as few GPUs as possible; by default the most that all GPUs can do."""
    request_rate: float | None = Field(default=None, gt=0)
    """Requests per second to be held with as few GPUs as possible, instead of `concurrency`."""

    @model_validator(mode="after")
    def _one_load(self) -> Self:
        if self.concurrency is not None and self.request_rate is not None:
            raise ValueError("concurrency and requestRate are two ways to say the load; leave one out")
        return self

    def resolve(self, target: Target, monitoring: MonitoringSettings) -> Sizing:
        """The question, complete."""
        return Sizing(
            ttft=self.ttft_seconds or monitoring.ttft_seconds,
            itl=self.itl_seconds or monitoring.itl_seconds,
            isl=self.isl or target.benchmark.isl,
            osl=self.osl or target.benchmark.osl,
            concurrency=self.concurrency,
            request_rate=self.request_rate,
        )
