"""Arguments, variables and engine files that differ from what the sources publish, as data. Pure."""

from docs.generate.difference import (
    AGENTIC,
    AGENTIC_AGGREGATED,
    AGENTIC_DISAGGREGATED,
    EVERY,
    GUIDES,
    MOCKER,
    OLD_GUIDE,
    RECIPES,
    TRTLLM_GUIDES,
    Difference,
)

COMMAND_DIFFERENCES = (
    Difference(
        items=("--model", "--model-path", "--model-name"),
        targets=EVERY,
        ours="the pinned revision's folder in the model cache, served as openai/gpt-oss-120b",
        reason="Workers are offline and can resolve no name to a commit; the path pins the revision.",
    ),
    Difference(
        items=("--served-model-name",),
        targets=("vllm-disagg-h100",),
        ours="openai/gpt-oss-120b",
        reason="Without it the model would be served under its path.",
    ),
    Difference(
        items=("--extra-engine-args",),
        targets=(*TRTLLM_GUIDES, *RECIPES),
        ours="`/opt/dynamo/configs/ROLE.yaml`, from the ConfigMap `GRAPH-llm-config`",
        reason="The files in the image belong to one release; graphs of one namespace must not share a ConfigMap.",
    ),
    Difference(
        items=("--is-prefill-worker", "--disaggregation-mode", "--kv-transfer-config"),
        targets=("vllm-disagg-h100",),
        ours="--disaggregation-mode and --kv-transfer-config with NixlConnector on both roles, from 1.0; its buffers "
        "in host memory with `graph.transport: tcp`",
        reason="From 1.0 on `--is-prefill-worker` is refused without a connector, and from 1.4 altogether; decode "
        "workers without a connector receive no KV cache. On 0.4 graphs say what the guide says but the parsers, which "
        "that release does not have. Over TCP the cache passes through the host anyway.",
    ),
    Difference(
        items=("--kv-transfer-config",),
        targets=AGENTIC_DISAGGREGATED,
        ours="kv_producer on prefill and kv_consumer on decode, from 1.3",
        reason="The vLLM of 1.3 warns that NixlConnector's kv_both is deprecated.",
    ),
    Difference(
        items=(
            "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8",
            "--moe-backend",
            "--quantization-config",
            "--quantization",
        ),
        targets=("vllm-agg-agentic-b200", "vllm-disagg-agentic-b200"),
        ours='from 1.4 `--moe-backend flashinfer_trtllm --quantization-config {"moe":{"activation":"mxfp8"}}` instead '
        "of the variable and of `--quantization mxfp4`",
        reason="The vLLM of 1.4 does not know the variable any more, so that experts would compute in 16 bits without "
        "a word, and takes one of the two quantization arguments; the checkpoint says mxfp4 itself.",
    ),
    Difference(
        items=("--dyn-reasoning-parser", "--dyn-tool-call-parser"),
        targets=RECIPES,
        ours="gpt_oss and harmony on every worker, prefill included",
        reason="Without them reasoning ends up in the answer and tool calls are lost (dynamo#14936).",
    ),
    Difference(
        items=("--host", "--disaggregation-bootstrap-port"),
        targets=("sglang-disagg-h100",),
        ours="0.0.0.0, and 12345 on both roles; in one pod 12345 and the next ports, one a worker",
        reason="Where workers are pods, a prefill worker that listens on 127.0.0.1 hands over to none; Dynamo's own "
        "manifests say both. Where they share a pod, two cannot listen on one port.",
    ),
    Difference(
        items=("--max-batch-size",),
        targets=TRTLLM_GUIDES,
        ours="128 for decode",
        reason="The guide's text lists it; its command leaves it out.",
    ),
    Difference(
        items=("--router-mode",),
        targets=("vllm-disagg-h100", "sglang-disagg-h100", "trtllm-agg-gb200", *MOCKER),
        ours="round-robin",
        reason="Said, not left to the release's default.",
    ),
    Difference(
        items=("--http-port",),
        targets=(*RECIPES, *AGENTIC_AGGREGATED, *MOCKER),
        ours="8000",
        reason="The default was 8080 on 0.4.",
    ),
    Difference(
        items=("--http-host",),
        targets=AGENTIC_DISAGGREGATED,
        ours="left out",
        reason="Frontends listen on every interface of the pod by default.",
    ),
    Difference(
        items=("--router-kv-events",),
        targets=AGENTIC,
        ours="left out",
        reason="It is the default of the kv router.",
    ),
    Difference(
        items=("frontend --trust-remote-code",),
        targets=AGENTIC_AGGREGATED,
        ours="left out",
        reason="GPT-OSS ships no code; the frontend need not run any.",
    ),
    Difference(
        items=("--kv-events-config",),
        targets=AGENTIC,
        ours="events over ZMQ from prefill and aggregated workers",
        reason="From 1.1 on workers publish no KV events unless told to (dynamo PR#7591): the recipe's kv router "
        "hears of no cached block.",
    ),
    Difference(
        items=("--block-size",),
        targets=AGENTIC_AGGREGATED,
        ours="64",
        reason="The frontend is told 64; events of another block size would match nothing.",
    ),
    Difference(
        items=("CUDA_VISIBLE_DEVICES",),
        targets=GUIDES,
        ours="left out where a worker is a pod; in one pod each worker's own GPUs first, then the others', decode "
        "before prefill",
        reason="A pod's GPU limit decides which GPUs it sees. In one pod NIXL's transfers need every GPU visible to "
        "both sides (vllm PR#55906), and an engine takes the first of those it sees.",
    ),
    Difference(
        items=("HF_TOKEN", "envFromSecret"),
        targets=(*TRTLLM_GUIDES, *RECIPES, *MOCKER),
        ours="left out",
        reason="Workers are offline. Only the download Job gets the token, as a file.",
    ),
    Difference(
        items=("HF_HOME",),
        targets=EVERY,
        ours="/opt/models",
        reason="One place for the model cache in every pod, frontends included.",
    ),
    Difference(
        items=("HF_HUB_OFFLINE",),
        targets=EVERY,
        ours="1",
        reason="Nothing is fetched at run time.",
    ),
    Difference(
        items=("HF_MODULES_CACHE", "TRITON_CACHE_DIR", "VLLM_CACHE_ROOT"),
        targets=EVERY,
        ours="folders under /tmp",
        reason="The model cache is mounted read-only.",
    ),
    Difference(
        items=("DYN_LOG",),
        targets=EVERY,
        ours="graph.logLevel",
        reason="A knob; the default is Dynamo's own.",
    ),
    Difference(
        items=("TIKTOKEN_ENCODINGS_BASE",),
        targets=EVERY,
        ours="a folder of the model cache",
        reason="The frontend's harmony parser needs the vocabulary file and must not need egress for it.",
    ),
    Difference(
        items=("SERVED_MODEL_NAME", "ENGINE_ARGS", "MODEL_PATH"),
        targets=RECIPES,
        ours="left out",
        reason="Commands are in exec form, so that signals reach the worker; values stand in the arguments.",
    ),
    Difference(
        items=("VLLM_NIXL_SIDE_CHANNEL_PORT",),
        targets=("vllm-disagg-h100", *AGENTIC_DISAGGREGATED),
        ours="5600 for prefill, 5700 for decode; in one pod 5600, 5620 and so on, one a worker, decode first",
        reason="Two workers at one address must not meet on one port (dynamo PR#14838).",
    ),
    Difference(
        items=("DYN_SYSTEM_PORT", "ETCD_ENDPOINTS", "NATS_SERVER"),
        targets=AGENTIC_DISAGGREGATED,
        ours="left out",
        reason="The operator sets them; a fixed etcd address breaks other platforms (dynamo PR#12070).",
    ),
    Difference(
        items=("NCCL_MNNVL_ENABLE", "NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE", "NVIDIA_GDRCOPY"),
        targets=("trtllm-agg-gb200",),
        ours="1, on every worker on GB200",
        reason="Dynamo's guide to KV cache transfer calls them required on GB200; the recipe does not say them.",
    ),
    Difference(
        items=("--planner-profile-data",),
        targets=MOCKER,
        ours="left out",
        reason="The profile is of another model; the mocker's own timing model is used.",
    ),
    Difference(
        items=(
            "--migration-limit",
            "DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS",
            "DYN_RUNTIME_GRACEFUL_SHUTDOWN_TIMEOUT_SECS",
        ),
        targets=tuple(name for name in EVERY if name != OLD_GUIDE),
        ours="a request goes on with another worker up to 3 times, from 1.0; a frontend or worker that is to end waits "
        "for its answers as long as its pod may, from 1.3",
        reason="Upstream gives a lost worker's requests up, and cuts answers 5 s after a frontend was told to end.",
    ),
)
