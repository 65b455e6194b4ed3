"""How a graph's workers hand KV cache to each other: the ways there are, and which of them are slow. Pure.

Sources: Dynamo's guides to disaggregated communication, to EFA on AWS and to KV cache transfer with TensorRT-LLM
(August 2026), its GPT-OSS recipes, and the reports named beside each fact. Nothing here was measured by this project.
"""

from dataclasses import dataclass
from enum import StrEnum

from facts.releases import Version


class Transport(StrEnum):
    """Values of `graph.transport`."""

    POD = "pod"
    NODE = "node"
    EFA = "efa"
    RDMA = "rdma"
    NVLINK = "nvlink"
    TCP = "tcp"


POD_SINCE = Version(1, 2)
"""First release whose discovery tells the containers of a pod apart (dynamo PR#8067, April 2026).

Before, Kubernetes discovery knows a worker by its pod's name, so all workers of one pod would be one.
"""


@dataclass(frozen=True, kw_only=True)
class KvPath:
    """The way that KV cache takes. sentence: what it is; slow: whether TTFT suffers; unverified: nobody reports it."""

    transport: Transport
    slow: bool
    unverified: bool = False
    sentence: str


KV_PATHS = {
    path.transport: path
    for path in (
        KvPath(
            transport=Transport.POD,
            slow=False,
            sentence="KV cache goes from GPU to GPU over NVLink: all workers are processes of one container, which "
            "nothing checks",
        ),
        KvPath(
            transport=Transport.NODE,
            slow=True,
            sentence="KV cache may go through host memory or TCP: workers are pods of their own on one node, which "
            "dynamo PR#12070 calls the NVLink path and vllm PR#55906 found out of CUDA IPC's reach",
        ),
        KvPath(
            transport=Transport.EFA,
            slow=False,
            sentence="KV cache goes from node to node over EFA",
        ),
        KvPath(
            transport=Transport.RDMA,
            slow=False,
            sentence="KV cache goes from pod to pod over InfiniBand or RoCE",
        ),
        KvPath(
            transport=Transport.NVLINK,
            slow=False,
            unverified=True,
            sentence="KV cache goes from node to node over the NVLink domain, which nobody reports for GPT-OSS: see "
            "that bytes move before relying on it",
        ),
        KvPath(
            transport=Transport.TCP,
            slow=True,
            sentence="KV cache goes through host memory and TCP",
        ),
    )
}
NO_KV_PATH = KvPath(
    transport=Transport.NODE,
    slow=False,
    sentence="no KV cache travels: workers are not disaggregated or simulated",
)
SLOW = "upstream measured 98 s to the first token over TCP where RDMA took 0.2 to 0.5 s (8B model, 8,000 tokens in)"
"""Figures of Dynamo's guide to disaggregated communication."""


def default(*, one_node: bool, one_pod: bool, efa: bool) -> Transport:
    """The fastest known way. TCP where only the user can know what connects the nodes: a check demands to hear it.

    one_node: whether the workers fit one. one_pod: whether they may be processes of one pod there.
    """
    if one_node:
        return Transport.POD if one_pod else Transport.NODE
    return Transport.EFA if efa else Transport.TCP
