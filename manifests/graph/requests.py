"""CPU and memory that a worker asks for beside its GPUs, so that it is not the first to be evicted. Pure.

Source of the host buffer: vLLM's NixlConnector, which with `kv_buffer_device: cpu` allocates the KV cache twice.
"""

import math

from facts.hardware import GPU_MEMORY_MIB
from facts.weights import WEIGHTS_GB
from manifests.command import Command
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

_CPUS_PER_GPU = 12
"""Half of what nodes of eight GPUs have, and three quarters of the smallest's, which runs the node's own pods too."""
_GIB_PER_GPU = 16
"""Of the engine's processes, one a GPU: Python, CUDA context, pinned buffers. A guess from above, no measurement."""
_GPU_SHARE = 0.9
"""Of GPU memory, that vLLM takes by default."""


def of_worker(plan: GraphPlan, planned: WorkerPlan, command: Command) -> dict[str, str]:
    """What one of the role's pods asks for; what the source publishes wins.

    Weights are read through host memory: all of them fit into what is asked for.
    """
    published = dict(planned.worker.requests)
    gpus = planned.worker.gpus // planned.nodes
    if not gpus:
        return published
    gib = _weights_gib(plan) + _GIB_PER_GPU * gpus + _buffer_gib(plan, planned, command, gpus)
    return {"cpu": str(_CPUS_PER_GPU * gpus), "memory": f"{gib}Gi", **published}


def _weights_gib(plan: GraphPlan) -> int:
    return math.ceil(sum(WEIGHTS_GB[each.model] for each in plan.cache.weights) * 1e9 / 2**30)


def _buffer_gib(plan: GraphPlan, planned: WorkerPlan, command: Command, gpus: int) -> int:
    """The KV cache's copy in host memory: what the weights leave of the GPUs' memory."""
    gpu = plan.pool.instance.gpu
    if gpu is None or not any('"kv_buffer_device":"cpu"' in argument for argument in command.args):
        return 0
    share = planned.worker.knobs.free_gpu_memory_fraction or _GPU_SHARE
    shard = _weights_gib(plan) * gpus / planned.worker.gpus
    return math.ceil(gpus * GPU_MEMORY_MIB[gpu] / 1024 * share - shard)
