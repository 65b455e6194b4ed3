"""Names and labels that several objects must agree on. Pure."""

from facts.weights import MODEL_ID, MODEL_REVISION

LABEL_PREFIX = "dynamo-gpt-oss"
MANAGED_BY = {"app.kubernetes.io/managed-by": "dynamo-gpt-oss"}
VERSION_LABEL = "app.kubernetes.io/version"
"""On a graph: its Dynamo release, which its image need not say."""
RETAINED = {f"{LABEL_PREFIX}/retain": "true"}
"""On what outlives its stack, so that every tool that takes a stack down can tell."""
WORKERS_LABEL = f"{LABEL_PREFIX}/workers"
"""On every worker pod of a graph (value: the graph), so that placement can speak of workers without frontends."""
ROLE_LABEL = f"{LABEL_PREFIX}/role"
"""On worker pods over EFA (value: prefill or decode), so that placement can keep the two apart."""
POOL_LABEL = f"{LABEL_PREFIX}/pool"
"""On the nodes of every GPU pool but the main one (value: the pool's name)."""

CACHE_CLAIM = "model-cache"
CACHE_PATH = "/opt/models"
"""Where every pod mounts the model cache; also Hugging Face's HF_HOME, as in the published recipe."""
MODEL_PATH = f"{CACHE_PATH}/hub/models--{MODEL_ID.replace('/', '--')}/snapshots/{MODEL_REVISION}"
"""The pinned revision's files. A path, since offline workers can resolve no branch name to a commit."""
VOCABULARY_PATH = f"{CACHE_PATH}/tiktoken"
"""Directory of o200k_base.tiktoken, which the frontend's harmony parser loads."""
DOWNLOAD_JOB = "model-download"
TOKEN_SECRET = "hf-token-secret"
TOKEN_KEY = "HF_TOKEN"
ENGINE_FILES_PATH = "/opt/dynamo/configs"
HTTP_PORT = 8000
SYSTEM_PORT = 9090
NIXL_PORT = 19090
"""Of NIXL's telemetry, as the operator sets it on every worker."""


def frontend_service(graph: str) -> str:
    """The Service that the operator makes for a graph's frontend."""
    return f"{graph}-frontend"


def engine_config_map(graph: str) -> str:
    """The ConfigMap that holds a graph's engine files."""
    return f"{graph}-llm-config"
