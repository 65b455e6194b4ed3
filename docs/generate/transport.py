"""The part of docs/targets.md about KV cache: what each transport is, what it grants, who measured it. Pure."""

from collections.abc import Callable, Iterable

from targets.transport import KV_PATHS, SLOW, Transport

Table = Callable[[tuple[str, ...], Iterable[Iterable[object]]], str]

_GRANTS = {
    Transport.POD: "user 1000, nothing; all GPUs of the graph, each worker its own first",
    Transport.NODE: "workers alone: root with IPC_LOCK and SYS_PTRACE, as the agentic recipes of this form have "
    "(Dynamo PR#12070); `kvTransfer.grants: none` gives user 1000 and nothing",
    Transport.EFA: "privileged root, `vpc.amazonaws.com/efa` by the GPUs' PCIe roots, the `-efa` image; with "
    "`kvTransfer.grants: capabilities`, and where another pod with GPUs fits on a worker's node (of its own role, or "
    "of another graph of the pool), root with IPC_LOCK, SYS_PTRACE, SYS_RESOURCE instead: a privileged container sees "
    "every GPU of its node",
    Transport.RDMA: "root with IPC_LOCK, SYS_PTRACE, SYS_RESOURCE, and one `kvTransfer.rdmaResource` (`rdma/ib`) a GPU",
    Transport.NVLINK: "user 1000, nothing; a ComputeDomain over the nodes of one clique",
    Transport.TCP: "user 1000, nothing",
}
_PLACEMENT = {
    Transport.POD: "processes of one container; a small container for each answers discovery. From Dynamo 1.2",
    Transport.NODE: "all workers on one node",
    Transport.EFA: "prefill and decode on different nodes, of one zone",
    Transport.RDMA: "anywhere in the pool, one node preferred",
    Transport.NVLINK: "one NVLink clique (`nvidia.com/gpu.clique`)",
    Transport.TCP: "anywhere in the pool, one node preferred",
}
_MEASURED = {
    Transport.POD: "the agentic recipes' published figures are of this form (Dynamo PR#11506, in-pod); vLLM PR#55906 "
    "(2 × H100): with one PID namespace and every GPU visible, CUDA IPC without a copy. User 1000 is unverified: "
    "PR#11506 ran as root with SYS_PTRACE, IPC_LOCK and the host's IPC",
    Transport.NODE: "sources contradict each other. Dynamo PR#12070 (July 2026) made the agentic recipes this form, "
    "for NVLink, and kept the figures that were measured in one pod; vLLM PR#55906 (2 × H100): CUDA IPC between "
    "containers without one PID namespace fails, and KV cache goes over TCP",
    Transport.EFA: "Dynamo's guide: 9.6 GB/s with 4 devices a worker of a p5.48xlarge",
    Transport.RDMA: "Dynamo's guide: 0.2 to 0.5 s to the first token (8B model, 8,000 tokens in)",
    Transport.NVLINK: "unverified. TensorRT-LLM PR#16619: GPT-OSS-120B with NIXL on two P6e-GB200 nodes completed 0 "
    "requests, whatever UCX was told",
    Transport.TCP: "Dynamo's guide: 98 s to the first token (8B model, 8,000 tokens in)",
}
_TEXT = f"""\
## How KV cache travels

`graph.transport` says how prefill hands KV cache to decode. The default depends on where the workers are:

- All workers fit one node: `pod`. Before Dynamo 1.2, behind an endpoint picker, or with autoscaling: `node`.
- Several nodes on AWS: `efa`.
- Several nodes of any other cluster: no default, the stack must say it.

A slow way is taken only if you ask for it or nothing faster is known to work, and the plan says so. How slow it is:
{SLOW}.

"""
_NOTES = """
This project measured none of these: it had no GPU.

- **NIXL's backend over EFA** is LIBFABRIC (`kvTransfer.backend`). Dynamo's guides to EFA want it for every engine:
  UCX stages through host memory on kernels from 6.8 on, which EKS's nodes have. Dynamo's guide to TensorRT-LLM
  recommends UCX.
- **Privilege over EFA.** The guides contradict each other on whether EFA needs it. Upstream's EFA test of vLLM on a
  p5.48xlarge runs as root with IPC_LOCK and SYS_PTRACE. Wherever workers are root with capabilities, they also have
  DAC_OVERRIDE, since caches in the images' home belong to the images' user.
- **Locked memory.** EFA and RDMA lock memory. Nodes that this project makes raise the limit (`RLIMIT_MEMLOCK` for
  containerd, by nodeadm); whether a node heeds it was not seen. On other clusters the nodes decide. If NIXL cannot
  register memory, look at `ulimit -l` in a worker.
- **Inside one pod nothing checks the way.** Where workers count bytes and seconds (vLLM; TensorRT-LLM if told to),
  verification warns below 0.1 GB/s, which is what the guide measured over TCP. Other workers' speed is not seen.
- **Not set up here: GDRCopy** (`/dev/gdrdrv`). The guide's 9.6 GB/s are with it. The guide recommends it without
  requiring it, and expects 1 to 3 GB/s where GPU memory is staged through the host. NVIDIA's GPU Operator from 26 on
  installs it.
- **Not set up here: huge pages.** `FI_EFA_USE_HUGE_PAGE=1` with `hugepages-2Mi: 5120Mi` a pod is one of the guide's
  settings of EFA, without a figure.
- **On GB200 every graph gets a ComputeDomain**, without which NCCL fails while the model loads, and the NCCL settings
  that the guide requires.
"""


def document(table: Table) -> str:
    """The section. table: writes a Markdown table of a head and rows."""
    rows = (
        (
            f"`{transport}`",
            f"{KV_PATHS[transport].sentence}{' (slow)' if KV_PATHS[transport].slow else ''}",
            _PLACEMENT[transport],
            _GRANTS[transport],
            _MEASURED[transport],
        )
        for transport in Transport
    )
    head = ("transport", "KV cache", "workers run", "workers are granted", "measured, and by whom")
    return _TEXT + table(head, rows) + _NOTES
