"""What each Dynamo release lacks that the default has, or does worse, as data. Pure.

Sources: the released frontends, run with the verification script; the argument parsers and engine pins of the released
packages; the operator's sources at the branch cuts of 1.2, 1.3 and 1.4; Dynamo's release notes and known issues (1.0
to 1.4).
"""

WHY_THE_DEFAULT = (
    "1.4.2 is the first release on which everything holds that a stack may ask for: its frontend says when a model is "
    "ready and which workers answered, under every router; its images run the agentic B200 targets unprivileged, and "
    "exist with EFA's libraries; its operator takes image digests with their release, and rolls changed workers over a "
    "full node."
)
"""Why `releases.DEFAULT` is what it is."""

RELEASE_COSTS: dict[str, tuple[str, ...]] = {
    "0.4.1": (
        "no parser for harmony: reasoning stays in the answer, tool calls are text",
        "no agentic target, no EFA image, no endpoint picker",
        "its own TensorRT-LLM image is older than GPT-OSS support: the 0.4 guide builds another",
        "needs NATS and etcd, and a platform of 1.0.2 or newer, since its own cannot be installed",
    ),
    "1.0.2": (
        "the frontend has no route that says when a model is ready, and does not name the workers that answered when "
        "the router is round-robin",
        "no agentic target; over EFA no GB200 and no SGLang",
        "needs NATS and etcd",
    ),
    "1.2.1": (
        "the published recipes' own release, in v1alpha1",
        "frontend as on 1.0.2: no ready route, workers named under the kv router alone",
        "no agentic target; over EFA no GB200 and no SGLang",
        "needs NATS",
    ),
    "1.3.1": (
        "the agentic recipes' own release; on B200 their workers must run as root, because the image lets nobody else "
        "write where FlashInfer puts its kernels (dynamo PR#12770)",
        "no SGLang over EFA",
        "needs NATS",
    ),
    "1.4.2": (
        "no endpoint picker, no Planner",
        "known issue: a router that sees an ambiguous set of prefill and decode workers for a moment stops "
        "disaggregating until it is restarted, and answers all the same; `make verify` shows it",
        "known issue: a TensorRT-LLM worker whose engine was killed says that it is healthy",
    ),
    "1.6.1": (
        "newest, with endpoint picker and Planner; its operator, release notes and known issues were not at hand when "
        "the default was chosen",
    ),
}
"""What a stack gives up by `graph.dynamoVersion`, one entry a release line, oldest first."""
