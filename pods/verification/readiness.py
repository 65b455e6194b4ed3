"""Checks before the first request to the model: the frontend, its release, its workers."""

from .conversation import Conversation, release_of, said
from .expectation import TRTLLM, Expectation, line, untold
from .results import Failure, Skipped, Warned

_OLD_TRTLLM = ("tensorrt_llm", "tensorrt_llm_next")
"""Components of TensorRT-LLM's workers before 1.0, disaggregated: which does what is up to the strategy."""


def live(talk: Conversation) -> str:
    """The frontend answers."""
    answer = talk.ask("/live")
    if answer.status != 200:
        raise Failure("unreachable", f"HTTP {answer.status} from /live: {said(answer)}")
    return "the frontend is alive"


def release(talk: Conversation) -> str:
    """The frontend is of the release whose checks these are."""
    found = release_of(talk.url, talk.timeout)
    if found is None:
        raise Skipped("the frontend does not say its release")
    if line(found) != talk.expected.release:
        raise Warned("other release", f"the frontend is Dynamo {found}, not {talk.expected.version}")
    return f"Dynamo {found}"


def roles(talk: Conversation) -> str:
    """Every kind of worker is registered."""
    components = [worker.component for worker in talk.workers()]
    counts = {kind: components.count(kind) for kind in _OLD_TRTLLM}
    if not _has_old_names(talk.expected):
        prefill = sum("prefill" in component for component in components)
        # Engines call the component of their other workers by different names (backend, tensorrt_llm, ...).
        others = len(components) - prefill
        counts = {role: prefill if role == "prefill" else others for role in talk.expected.roles}
    if absent := [role for role, count in counts.items() if not count]:
        raise Failure("role missing", f"/health lists no {' and no '.join(absent)} worker")
    return ", ".join(f"{count} {role}" for role, count in counts.items())


def _has_old_names(expected: Expectation) -> bool:
    return expected.engine == TRTLLM and expected.disaggregated and expected.release < (1, 0)


def models(talk: Conversation) -> str:
    """The model is listed."""
    listed = [model["id"] for model in (talk.ask("/v1/models").data or {}).get("data", [])]
    if talk.expected.model in listed:
        return f"{talk.expected.model} is listed"
    if listed:
        raise Failure("other model", f"{talk.expected.model} is not served; {', '.join(listed)} is")
    raise Failure("no model", "/v1/models is empty")


def ready(talk: Conversation) -> str:
    """The frontend knows every kind of worker that the model needs."""
    if reason := untold("ready", talk.expected):
        raise Skipped(f"{reason}; the next check is a real completion")
    answer = talk.ask(f"/v1/models/{talk.expected.model}/ready")
    data = answer.data or {}
    if not data.get("ready"):
        missing = {
            kind for one in data.get("namespaces", {}).values() for kind in one["missing_worker_types"]
        }
        raise Failure("not ready", f"not ready: {', '.join(sorted(missing)) or said(answer)}")
    return "every kind of worker that the model needs is there"
