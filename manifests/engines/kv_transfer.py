"""What workers are given to hand KV cache over, by transport: environment, devices, rights, memory. Pure.

Sources: Dynamo's guides to EFA on AWS, to disaggregated communication and to KV cache transfer with TensorRT-LLM.
"""

from facts.engines import Engine, Role
from facts.hardware import Gpu
from facts.releases import Version
from targets.parts import WorkerPlan
from targets.plan import GraphPlan
from targets.transport import Transport

EFA_DEVICE = "vpc.amazonaws.com/efa"
_EFA = {
    "FI_PROVIDER": "efa",
    "FI_EFA_USE_DEVICE_RDMA": "1",
    # Shared memory breaks the registration of GPU buffers; the guides name it either way.
    "FI_EFA_ENABLE_SHM": "0",
    "FI_EFA_ENABLE_SHM_TRANSFER": "0",
}
_RDMA = {
    "UCX_TLS": "rc_x,rc,cuda_copy,cuda_ipc",
    # Addresses by LID do not route between pods.
    "UCX_IB_ADDR_TYPE": "eth",
    "UCX_RNDV_SCHEME": "get_zcopy",
    "UCX_RNDV_THRESH": "0",
    "UCX_RC_TIMEOUT": "600s",
    "UCX_KEEPALIVE_INTERVAL": "300s",
}
_TCP = {"UCX_TLS": "tcp,cuda_copy,sm,self"}
_NVLINK = {"UCX_CUDA_IPC_ENABLE_MNNVL": "y"}
"""Off in UCX unless asked for (openucx/ucx PR#10206)."""
_GB200 = dict.fromkeys(("NCCL_MNNVL_ENABLE", "NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE", "NVIDIA_GDRCOPY"), "1")
"""Required of every worker on GB200, whatever its transport."""
_TRTLLM_LIBRARIES = "/opt/amazon/efa/lib:/usr/local/lib:/usr/lib"
"""EFA's libraries first. A pod cannot put a folder before an image's own value; the other engines' keep theirs."""
_TRTLLM_PLUGINS = "/opt/dynamo/venv/lib/python3.12/site-packages/tensorrt_llm/libs/nixl/plugins"
"""Of the NIXL that TensorRT-LLM brings, which a decode worker of several nodes loads; the image's fit another."""
_CONNECTOR_SINCE = Version(1, 0)
"""Releases before set their connector themselves."""


def environment(plan: GraphPlan, planned: WorkerPlan) -> dict[str, str]:
    """Environment of a role's workers."""
    domain = _GB200 if plan.pool.instance.gpu is Gpu.GB200 else {}
    if not plan.target.disaggregated or not plan.target.gpu_models:
        return dict(domain)
    match plan.transport:
        case Transport.EFA:
            return {**domain, **_EFA, **_telemetry(plan, planned), **_engine_over_efa(plan, planned)}
        case Transport.RDMA:
            return {**domain, **_RDMA, **_telemetry(plan, planned)}
        case Transport.NVLINK:
            return {**domain, **_NVLINK, **_telemetry(plan, planned)}
        case Transport.TCP:
            return {**domain, **_TCP, **_telemetry(plan, planned)}
        case _:
            return dict(domain)


def _telemetry(plan: GraphPlan, planned: WorkerPlan) -> dict[str, str]:
    """NIXL's byte counters: a transfer that silently takes another way shows as bytes that stay 0 (dynamo#4185).

    Not where NIXL does not move the cache, and not in pods of several GPUs: every rank's agent wants the same port.
    What then happens differs by NIXL's version, from one rank's bytes alone to a worker that never starts (dynamo
    PR#14284).
    """
    by_nixl = plan.target.engine is not Engine.TRTLLM or plan.transport is Transport.EFA
    one_agent = planned.worker.gpus // planned.nodes == 1
    return {"NIXL_TELEMETRY_ENABLE": "y"} if by_nixl and one_agent else {}


def backend(plan: GraphPlan) -> str:
    """NIXL's backend over EFA.

    The guides to EFA (1.2 to 1.5) name LIBFABRIC for every engine: UCX stages through host memory on kernels from 6.8
    on, which EKS's nodes have. The guide to TensorRT-LLM recommends UCX.
    """
    return (plan.handover.backend or "libfabric").upper()


def _engine_over_efa(plan: GraphPlan, planned: WorkerPlan) -> dict[str, str]:
    match plan.target.engine:
        case Engine.SGLANG:
            return {"SGLANG_DISAGGREGATION_NIXL_BACKEND": backend(plan)}
        case Engine.TRTLLM:
            several = planned.role is Role.DECODE and planned.nodes > 1
            return {
                "LD_LIBRARY_PATH": _TRTLLM_LIBRARIES,
                "TRTLLM_NIXL_KVCACHE_BACKEND": backend(plan),
                **({"NIXL_PLUGIN_DIR": _TRTLLM_PLUGINS} if several else {}),
            }
        case _:
            return {}  # vLLM hears of the backend in its connector's configuration


def devices(plan: GraphPlan, gpus: int) -> dict[str, str]:
    """Network devices of one pod: of EFA those on the PCIe roots of its GPUs, so that none is shared or far away."""
    if not plan.target.disaggregated:
        return {}
    instance = plan.pool.instance
    match plan.transport:
        case Transport.EFA:
            return {EFA_DEVICE: str(instance.efa_devices // instance.gpus * gpus)}
        case Transport.RDMA:
            return {plan.handover.rdma_resource: str(gpus)}
        case _:
            return {}


def in_host_memory(plan: GraphPlan, planned: WorkerPlan) -> bool:
    """Whether vLLM stages KV cache in a buffer of the host itself.

    It does over TCP; between pods of one node its buffers are on the GPU, as in upstream's recipe of that form. Not
    where a recipe keeps the hybrid cache manager, which is not known to work with that, and not on 0.4, which has no
    such setting.
    """
    kept_on_gpu = "--no-disable-hybrid-kv-cache-manager" in planned.worker.arguments
    tcp = plan.transport is Transport.TCP and plan.version >= _CONNECTOR_SINCE
    return plan.target.engine is Engine.VLLM and plan.target.disaggregated and tcp and not kept_on_gpu
