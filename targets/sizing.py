"""What Dynamo's profiler is asked. Pure.

Sources: the support matrices inside the packages that the profiler computes with (aiconfigurator 0.7 to 0.10,
aiconfigurator-core 0.12, aisimulate 0.13), the profiler of each released `ai-dynamo` package, and the GPUs that the
DynamoGraphDeploymentRequest admits (deploy/operator/api/v1beta1 in ai-dynamo/dynamo).
"""

from dataclasses import dataclass

from facts.hardware import Gpu

GPU_SKU = {
    Gpu.H100: "h100_sxm",
    Gpu.H200: "h200_sxm",
    Gpu.B200: "b200_sxm",
    Gpu.B300: "b300_sxm",
    Gpu.GB200: "gb200",
}
"""`hardware.gpuSku` by GPU. `gb200` and `b300_sxm` are admitted from 1.6 on; `gb200_sxm`, which was before, is a name
that the performance data do not have."""


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """Latencies to hold and traffic to hold them under.

    ttft, itl: seconds. isl, osl: tokens of a prompt and of an answer, on average. concurrency: requests at once, or
    request_rate: requests per second; where both are None, the most that the pool can take.
    """

    ttft: float
    itl: float
    isl: int
    osl: int
    concurrency: int | None = None
    request_rate: float | None = None
