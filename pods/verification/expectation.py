"""What a graph should be, and what a graph of that release can tell."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

MOCKER = "mocker"
TRTLLM = "trtllm"


@dataclass(frozen=True)
class Expectation:
    """What the graph should be. roles: its workers' component types, `prefill`, `decode` or `worker`.

    version: its Dynamo release, `1.2.1`. router_mode: its frontend's. engine: vllm, sglang, trtllm or mocker, None
    where nobody says it. transport: how KV cache travels, as in `graph.transport`, None where nobody says it.
    kv_counter: the metric of its workers that counts bytes of KV cache, None where they have none. conditional: whether
    its frontend may leave a request with decode alone.
    """

    model: str
    roles: tuple[str, ...]
    disaggregated: bool
    version: str
    router_mode: str
    engine: str | None = None
    transport: str | None = None
    kv_counter: str | None = None
    conditional: bool = False

    @property
    def release(self) -> tuple[int, int]:
        """Its release line."""
        found = line(self.version)
        if found is None:
            raise ValueError(f"{self.version!r} is no Dynamo release; write it as 1.2.1")
        return found


def line(version: str) -> tuple[int, int] | None:
    """The release line, (1, 2) for 1.2.1; None for what is no version."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True)
class Tells:
    """what: follows "Dynamo X". since: the first release line of it, and with_kv: with `--router-mode kv`."""

    what: str
    since: tuple[int, int]
    with_kv: tuple[int, int] | None = None


TELLS: Mapping[str, Tells] = {
    "ready": Tells("has no readiness route", (1, 3)),
    "harmony": Tells("has no parsers of GPT-OSS's harmony format", (1, 0)),
    "response usage": Tells("counts no tokens of /v1/responses", (1, 0)),
    "worker ids": Tells("names no workers in its answers", (1, 3), with_kv=(1, 0)),
    "worker metrics": Tells("gives no addresses of its workers", (1, 0)),
}
"""What not every release tells. Tried on the released frontends of 0.4.1, 1.0.2, 1.2.1, 1.3.1, 1.4.2 and 1.6.1."""

MOCKED = "a mocker says random tokens"
"""Why a mocker is not asked to reason or to call tools."""


def untold(name: str, expected: Expectation) -> str | None:
    """Why a graph cannot tell what stands under `name` in TELLS, None where it can and so must."""
    tells = TELLS[name]
    kv = expected.router_mode == "kv"
    since = tells.with_kv if kv and tells.with_kv else tells.since
    if expected.release >= since:
        return None
    mode = f" with router mode {expected.router_mode}" if tells.with_kv else ""
    return f"Dynamo {expected.version} {tells.what}{mode}; {since[0]}.{since[1]} is the first that can tell"


SLOW_TRANSPORTS: Mapping[str, str] = {
    "node": "the workers are pods of their own on one node, between which KV cache may go through host memory or TCP",
    "tcp": "KV cache goes through host memory and TCP",
}
"""Values of `graph.transport` over which KV cache is slow, and why."""
