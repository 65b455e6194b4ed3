"""What failures mean and what to do about them."""

from collections.abc import Mapping

ADVICE: Mapping[str, tuple[str, str]] = {
    "unreachable": (
        "no frontend listens there: it has not started, was killed, or the port-forward ended.",
        "look at the frontend's pod (`kubectl get pods`, `kubectl logs`); it should be Running and restart by itself. "
        "Then verify again.",
    ),
    "role missing": (
        "the frontend answers, and calls itself healthy, but a worker that the graph needs has not registered: "
        "it may still load its weights, or it has died.",
        "follow the missing worker's log (`kubectl logs -l nvidia.com/dynamo-component-type=...`) until it registers; "
        "a pod that is Pending or restarting says why in `kubectl describe`.",
    ),
    "no model": (
        "the frontend knows no model: no worker has registered one, or those that had are gone.",
        "look at the workers' logs; weights that are missing or of another revision than the frontend's end here too.",
    ),
    "other model": (
        "the workers serve the model under another name than the one that was expected.",
        "give every worker the same --served-model-name, and clients that very name.",
    ),
    "not ready": (
        "the model is listed, but a kind of worker that it needs is absent.",
        "wait for that worker, or look at its log if it has restarted.",
    ),
    "not served": (
        "a worker is listed but does not answer: it was killed and its registration has not expired (10 to 15 s), "
        "or the prefill and decode workers cannot reach each other.",
        "verify again in 15 s; if it stays, restart the workers that do not answer and look at their logs.",
    ),
    "timeout": (
        "the request was taken and never answered: typically decode waits for KV blocks that never arrive.",
        "check NIXL/UCX between the workers: EFA devices on both, one side-channel port a worker, same availability "
        "zone; restart both workers together.",
    ),
    "empty": (
        "HTTP 200 with nothing in it: the engine gave up silently. Known of SGLang disaggregated over EFA, and of a "
        "worker that has only a part of its node's EFA devices.",
        "do not trust this endpoint. Use the target that this engine supports on this network, request whole groups "
        "of EFA devices, and look for a stalled KV transfer in the decode worker's log.",
    ),
    "broken stream": (
        "the streamed answer ended early: the worker died in the middle of it, or a proxy cut it.",
        "look at the decode worker's log; let proxies in between pass server-sent events unbuffered.",
    ),
    "no reasoning": (
        "the model's reasoning is not told apart: a worker runs without its reasoning parser, or the frontend could "
        "not load harmony's vocabulary.",
        "start every worker, prefill too, with --dyn-reasoning-parser gpt_oss, and give the frontend "
        "o200k_base.tiktoken through TIKTOKEN_ENCODINGS_BASE.",
    ),
    "no tool call": (
        "the model's tool call was not recognised: a worker runs without its tool-call parser, or the frontend could "
        "not load harmony's vocabulary (its log says `harmony_encoding_unavailable`).",
        "start every worker, prefill too, with --dyn-tool-call-parser harmony, and give the frontend "
        "o200k_base.tiktoken through TIKTOKEN_ENCODINGS_BASE.",
    ),
    "tool result lost": (
        "the model called the tool but did not answer from its result.",
        "send the assistant's message with its tool_calls and then the tool's message with the same tool_call_id; "
        "look at the frontend's log for the prompt's rendering.",
    ),
    "not disaggregated": (
        "one worker did both prefill and decode, though the graph has a worker for each.",
        "check that the prefill worker runs with its prefill mode and that the frontend's router sees it "
        "(`/v1/models/<id>/ready`).",
    ),
    "no transfer": (
        "requests went through both workers, yet none has counted bytes of KV cache: it travels another way, or is "
        "computed twice. Over EFA this is the slow fallback to TCP.",
        "check the transfer backend (LIBFABRIC on EFA), the -efa image, the EFA request and IPC_LOCK.",
    ),
    "slow path": (
        "the graph serves, but the first token of a long prompt waits for its KV cache.",
        "compare it with an aggregated graph (`python -m ops bench`), or give it another `graph.transport`.",
    ),
    "other release": (
        "the frontend is of another Dynamo release than this graph should be, so it was asked what another can tell.",
        "bring the graph to the stack's release (`up`), or name its own with --dynamo-version.",
    ),
    "accepts anything": (
        "a model name that does not exist was not refused with 404: something else than Dynamo's frontend answers.",
        "check what the URL leads to; a proxy may rewrite names.",
    ),
    "unexpected": (
        "the frontend refused or failed a correct request.",
        "look at the frontend's log at this moment; its message stands above.",
    ),
}
"""What each failure means and what to do, from Dynamo's guides and from what its users ran into."""
