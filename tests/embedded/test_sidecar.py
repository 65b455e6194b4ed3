"""The frontend that stands beside a worker, as the graph runs it: the real one, with what a picker's headers say."""

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from embedded import endpoints
from embedded.dynamo_graph import environment
from embedded.processes import free_ports
from manifests.graph import frontend, probes
from tests.live import MODEL, NEWEST, DataPlane, graph, installed, worker
from tests.plans import resolved
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.xdist_group("live-engine")
PAIR = graph("gpt-oss-pair", worker("agg", 1), worker("agg", 2))
BEHIND = resolved("vllm-agg-agentic-b200", dynamoVersion=NEWEST, inference_extension=True)
READY = probes.frontend_sidecar()["readinessProbe"]["httpGet"]["path"]


def call(url: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """Status and answer; 0 where nobody listens."""
    request = urllib.request.Request(
        url,
        None if body is None else json.dumps(body).encode(),
        {"Content-Type": "application/json", **headers},
    )
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=PATIENCE
        ) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, None
    except urllib.error.URLError:
        return 0, None


def ask(url: str, **headers: str) -> tuple[int, Any]:
    messages = [{"role": "user", "content": "Hello"}]
    body = {"model": MODEL, "messages": messages, "nvext": {"extra_fields": ["worker_id"]}}
    return call(f"{url}/v1/chat/completions", body, **headers)


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """URL of a sidecar's frontend that is ready, as its probe tells, among the registrations of that folder."""
    (port,) = free_ports(1)
    dynamo, command = installed(NEWEST), frontend.sidecar(BEHIND)
    here = ("--http-host", "127.0.0.1", "--http-port", str(port))
    argv = [str(dynamo.python), *command.argv[1:], *command.args, *here]
    process = subprocess.Popen(argv, env=environment(folder, dynamo))
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: call(url + READY)[0] == 200)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture
def sidecar(plane: DataPlane) -> Iterator[str]:
    """URL of a frontend beside the workers of a graph of two."""
    plane.serve(PAIR)
    with running(Path(endpoints.read(plane.state)[PAIR.key]["logs"])) as url:
        eventually(lambda: call(f"{url}/v1/models")[1]["data"])
        yield url


def test_it_serves_whom_the_picker_named_and_nobody_else(sidecar: str) -> None:
    there = [str(each["instance_id"]) for each in call(f"{sidecar}/health")[1]["instances"]]
    assert len(there) == 2
    for each in (*there, *there):
        _, answer = ask(sidecar, **{"x-dynamo-worker-instance-id": each, "x-dynamo-dp-rank": "0"})
        assert str(answer["nvext"]["worker_id"]["decode_worker_id"]) == each
    assert ask(sidecar)[0] >= 400
    assert ask(sidecar, **{"x-dynamo-worker-instance-id": "1"})[0] >= 400


def test_the_graph_s_own_frontend_lists_model_and_workers_once(plane: DataPlane, sidecar: str) -> None:
    usual = plane.url(PAIR)
    assert [model["id"] for model in call(f"{usual}/v1/models")[1]["data"]] == [MODEL]
    instances = call(f"{usual}/health")[1]["instances"]
    assert [each["component"] for each in instances] == ["backend", "backend"]
    assert ask(usual)[0] == 200


def test_it_is_ready_before_there_is_a_model(tmp_path: Path) -> None:
    """Else the worker beside it would never be found: its pod is not ready while this container is not."""
    with running(tmp_path) as url:
        assert call(f"{url}/v1/models")[1]["data"] == []
