"""Checks of disaggregation: two workers answer one request, and hand KV cache over."""

import re
import time
from collections.abc import Iterable

from .conversation import QUESTION, Conversation, Worker
from .expectation import MOCKER, SLOW_TRANSPORTS, untold
from .results import Failure, Skipped, Warned

_REQUESTS = "dynamo_component_requests_total"
_OF_PREFILL = r'[^}]*dynamo_component="[^"]*prefill'
"""Labels of what a prefill worker counts: where workers share a pod, its metrics are those of all of them."""
_TO_COUNT = {
    "trtllm": "; from Dynamo 1.2 TensorRT-LLM does with `--publish-metrics` in graph.decode.extraArgs "
    "(before 1.6 `--publish-events-and-metrics`)",
    "sglang": "; SGLang's own figure, in megabytes and under `--enable-metrics`, is not read here",
}
"""What an engine could count with, where a graph has it count nothing."""
_SECONDS = {
    "vllm:nixl_bytes_transferred_sum": "vllm:nixl_xfer_time_seconds_sum",
    "trtllm_kv_transfer_bytes_sum": "trtllm_kv_transfer_latency_seconds_sum",
}
"""Counters of bytes, and of the seconds that the same transfers took."""
_TCP_RATE = 0.1e9
"""Bytes per second over TCP, as Dynamo's guide to disaggregated communication measured them (EFA: 9.6e9)."""
_UNREAD = "its workers' metrics cannot be read from here"
_SECONDS_TO_COUNT = 5.0
"""A worker counts a request once it has let go of it."""


def disaggregated(talk: Conversation) -> str:
    """Prefill and decode of one request are two workers': by their ids, or by what the prefill workers count."""
    if reason := untold("worker ids", talk.expected):
        return _by_counters(talk, reason)
    data = talk.chat(QUESTION, nvext={"extra_fields": ["worker_id"]})
    ids = (data.get("nvext") or {}).get("worker_id") or {}
    prefill, decode = ids.get("prefill_worker_id"), ids.get("decode_worker_id")
    if not prefill or not decode or prefill == decode:
        _excuse(talk)
        raise Failure("not disaggregated", f"prefill by worker {prefill}, decode by worker {decode}")
    return f"prefill by worker {prefill}, decode by worker {decode}"


def _by_counters(talk: Conversation, reason: str) -> str:
    """A request more on the prefill workers' own counters, for releases that name no workers in their answers."""
    if untold("worker metrics", talk.expected):
        raise Skipped(reason)
    prefill = [worker for worker in talk.workers() if "prefill" in worker.component]
    found = _series(talk, prefill, _REQUESTS, _OF_PREFILL)
    if found is None:
        raise Skipped(f"{reason}, and {_UNREAD}")
    before = sum(found)
    talk.chat(QUESTION)
    deadline = time.monotonic() + _SECONDS_TO_COUNT
    while (after := sum(found := _series(talk, prefill, _REQUESTS, _OF_PREFILL) or [])) <= before:
        if time.monotonic() > deadline and not found:
            raise Skipped(f"{reason}, and its prefill workers publish no {_REQUESTS}")
        if time.monotonic() > deadline:
            _excuse(talk)
            raise Failure("not disaggregated", f"prefill workers counted {before:.0f} requests, and no other")
        time.sleep(0.2)
    return f"prefill workers counted {before:.0f}, then {after:.0f} requests"


def _excuse(talk: Conversation) -> None:
    """Raises Skipped where a request that prefill never saw is what the user asked for."""
    if talk.expected.conditional:
        raise Skipped("its frontend may have decode answer short prompts alone (--router-conditional-disagg)")


def kv_transfer(talk: Conversation) -> str:
    """Bytes of KV cache are counted where workers count them; a slow way of theirs is warned of by its name."""
    if talk.expected.engine == MOCKER:
        raise Skipped("a mocker hands no KV cache over")
    transport = talk.expected.transport or ""
    slow = SLOW_TRANSPORTS.get(transport)
    try:
        moved = _moved(talk)
    except Skipped as untold_bytes:
        if not slow:
            raise
        moved = str(untold_bytes)
    if slow:
        raise Warned("slow path", f"transport `{transport}` is slow: {slow} ({moved})")
    return moved


def _in_time(talk: Conversation, counter: str, moved: float) -> str:
    """Bytes, and where the workers count seconds too, in how many. Raises Warned where TCP is no slower."""
    told = f"{counter} says {moved:.0f} bytes"
    seconds = sum(_series(talk, talk.workers(), _SECONDS[counter]) or []) if counter in _SECONDS else 0
    if not seconds:
        return told
    told, rate = f"{told} in {seconds:.3g} s", moved / seconds
    if rate < _TCP_RATE and talk.expected.transport not in SLOW_TRANSPORTS:
        raise Warned(
            "slow path", f"{told}, {rate / 1e9:.2g} GB/s, and Dynamo's guide measured 0.1 GB/s over TCP"
        )
    return f"{told} ({rate / 1e9:.2g} GB/s)"


def _moved(talk: Conversation) -> str:
    """What the workers' counter says. Raises Failure where it says 0, Skipped where it is not there to be read."""
    counter = talk.expected.kv_counter
    if not counter:
        told = _TO_COUNT.get(talk.expected.engine or "", "")
        raise Skipped(f"its workers count no bytes of KV cache{told}")
    found = _series(talk, talk.workers(), counter)
    if found is None:
        raise Skipped(_UNREAD)
    if not found:
        raise Skipped(f"none of its workers publishes {counter}, so that nothing says whether bytes moved")
    moved = sum(found)
    if not moved:
        _excuse(talk)
        raise Failure("no transfer", f"{counter} is 0 on every worker")
    return _in_time(talk, counter, moved)


def _series(
    talk: Conversation, workers: Iterable[Worker], counter: str, labels: str = ""
) -> list[float] | None:
    """A counter's values at the workers that can be reached, None where none can. labels: a pattern of its labels."""
    name = re.escape(counter.removesuffix("_total"))
    braces = rf"\{{{labels}.*\}}" if labels else r"(?:\{.*\})?"
    series = re.compile(rf"^{name}(?:_total)?{braces} (\S+)", re.MULTILINE)
    hosts = sorted({worker.host for worker in workers if worker.host})
    texts = [talk.metrics(f"http://{host}:{port}/metrics") for host in hosts for port in talk.worker_ports]
    reached = [text for text in texts if text is not None]
    return [float(value) for text in reached for value in series.findall(text)] if reached else None
