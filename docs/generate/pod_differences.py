"""Pods and their fields that differ from what the sources publish, as data. Pure."""

from docs.generate.difference import (
    AGENTIC,
    AGENTIC_DISAGGREGATED,
    EVERY,
    GUIDES,
    MOCKER,
    OLD_GUIDE,
    RECIPES,
    TRTLLM_GUIDES,
    Difference,
)

POD_DIFFERENCES = (
    Difference(
        items=("docker --volume",),
        targets=TRTLLM_GUIDES,
        ours="left out",
        reason="The guides mount Dynamo's sources for their engine files, which come from a ConfigMap here.",
    ),
    Difference(
        items=("docker --network", "docker --ipc", "docker --cap-add", "docker --ulimit"),
        targets=TRTLLM_GUIDES,
        ours="left out",
        reason="Pods run unprivileged unless their transport needs more: shared memory is a volume of the pod, memory "
        "is locked only over a network that needs it, and limits are the node's.",
    ),
    Difference(
        items=("clear_namespace",),
        targets=(OLD_GUIDE,),
        ours="left out",
        reason="Registrations end with the leases of their workers, also after a crash. The script deletes other keys "
        "of etcd (below `/dynamo/`; workers are below `instances/` and `models/`), which nothing here writes. It does "
        "not keep graphs apart either: see docs/dynamo-0.4.md.",
    ),
    Difference(
        items=("privileged", "hostIPC", "runAsUser", "capabilities"),
        targets=("trtllm-agg-gb200", *AGENTIC),
        ours="user 1000, no privilege, no capability; privileged root over EFA, root with capabilities over RDMA and "
        "with `graph.transport: node`; agentic workers on B200 root before 1.4",
        reason="One pod as user 1000 is unverified: the recipe's own ran as root with SYS_PTRACE, IPC_LOCK and the "
        "host's IPC (dynamo PR#11506), its separate pods since July 2026 as root with both capabilities (PR#12070), "
        "which `graph.kvTransfer.grants: capabilities` gives. Nor does anything check the way that bytes take inside a "
        "pod, beyond a warning where they are as slow as over TCP. Before 1.4 vLLM cannot start on B200 as another "
        "user, because FlashInfer links its kernels into a folder of root's (dynamo PR#12770).",
    ),
    Difference(
        items=("capabilities",),
        targets=(*GUIDES, "trtllm-disagg-8k"),
        ours="with `graph.transport: node` workers are root with IPC_LOCK and SYS_PTRACE",
        reason="Upstream's recipe for separate pods on one node grants them (dynamo PR#12070); the guides run one "
        "container.",
    ),
    Difference(
        items=("componentType",),
        targets=RECIPES,
        ours="worker, with subComponentType prefill or decode",
        reason="v1beta1 has no `main`, and the operator's labels and defaults follow the role.",
    ),
    Difference(
        items=("workingDir", "dynamoNamespace"),
        targets=RECIPES,
        ours="left out",
        reason="Arguments are absolute paths; the operator ignores dynamoNamespace and keeps graphs apart by name.",
    ),
    Difference(
        items=("frontend anti-affinity",),
        targets=EVERY,
        ours="frontends of one graph apart from each other, by the graph's name and component type",
        reason="Only one source wants it, and selects a label value that no pod carries (gpt-oss-disagg-frontend).",
    ),
    Difference(
        items=("image",),
        targets=(
            "trtllm-disagg-b200",
            *RECIPES,
            "vllm-agg-agentic-b200",
            "vllm-disagg-agentic-b200",
            *MOCKER,
        ),
        ours="the published runtime image of graph.dynamoVersion",
        reason="The guides' tags (my-tag, latest) name no release; the stored recipes are of other releases.",
    ),
    Difference(
        items=("shared memory",),
        targets=("vllm-disagg-h100", "sglang-disagg-h100", *MOCKER),
        ours="10Gi, 1Gi for the mocker",
        reason="The sources say none; NCCL needs more than a container's 64 MiB.",
    ),
    Difference(
        items=("requests",),
        targets=EVERY,
        ours="CPU and memory for frontends and workers: 12 CPUs a GPU, memory for the weights and 16 GiB a GPU, with "
        "the KV cache's buffers where they are in host memory; for agentic workers the recipe's memory, its one pod "
        "divided by its workers",
        reason="A scheduler can only place what is requested, and who requests nothing is evicted first.",
    ),
    Difference(
        items=("one pod for all workers",),
        targets=AGENTIC_DISAGGREGATED,
        ours="the same unless autoscaled, behind an endpoint picker or with `graph.transport: node`, which gives each "
        "worker a pod, together on one node, as the recipe does since July 2026 (dynamo PR#12070)",
        reason="Those choose among pods, and workers in pods can be watched, restarted and scaled one by one. Whether "
        "NVLink is reached between pods is contradicted: the recipe says so, vLLM PR#55906 found TCP.",
    ),
)
