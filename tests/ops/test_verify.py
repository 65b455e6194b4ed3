"""Verification: passes on a graph that serves, and says the right sentence for every way in which one does not."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import psutil
import pytest
import typer
from typer.testing import CliRunner

from embedded import dynamo, endpoints, processes
from embedded.dynamo_graph import ENGINE, environment, processes_of
from manifests.verification import expectation
from ops.kept import Kept, last
from ops.kubectl import NoKubectlError
from ops.stack import cluster
from ops.stack.cluster import Endpoint, EndpointError, reach
from ops.stack.stack import find
from ops.verify import verify
from pods.verification import checks as verification
from pods.verification.advice import ADVICE
from pods.verification.conversation import Conversation, release_of
from pods.verification.expectation import Expectation
from pods.verification.results import FAILED, OK, SKIPPED, Result
from tests.live import (
    AGGREGATED,
    DISAGGREGATED,
    MODEL,
    NEWEST,
    PARSERS,
    DataPlane,
    graph,
    installed,
    started,
    worker,
)
from tests.ops.stacks import stack
from tests.waiting import PATIENCE, eventually

BOTH = Expectation(
    MODEL, ("prefill", "decode"), disaggregated=True, version=NEWEST, router_mode="round-robin"
)
ONE = Expectation(MODEL, ("worker",), disaggregated=False, version=NEWEST, router_mode="kv")
EVERY_CHECK = [check.name for check in verification.CHECKS]


def failures(url: str, expected: Expectation = BOTH, **more: Any) -> dict[str, Result]:
    results = verification.verify(url, expected, **{"request_timeout": PATIENCE, **more})
    return {result.name: result for result in results if result.outcome == FAILED}


def only_failure(url: str, expected: Expectation = BOTH) -> Result:
    (failure,) = failures(url, expected).values()
    return failure


def advice(failure: Result) -> str:
    (cause,) = (key for key, said in ADVICE.items() if said == (failure.meaning, failure.next_step))
    return cause


pytestmark = pytest.mark.xdist_group("live-verify")


def test_passes_disaggregated(plane: DataPlane) -> None:
    results = list(verification.verify(plane.url(DISAGGREGATED), BOTH))
    assert [result.name for result in results] == EVERY_CHECK
    outcomes = {result.name: result.outcome for result in results}
    assert outcomes.pop("kv transfer") == SKIPPED
    assert set(outcomes.values()) == {OK}


def test_passes_aggregated(plane: DataPlane) -> None:
    results = list(verification.verify(plane.url(AGGREGATED), ONE))
    assert all(result.outcome == OK for result in results)
    assert [result.name for result in results] == [
        check.name for check in verification.CHECKS if not check.disaggregated
    ]


@pytest.mark.parametrize("killed", [("decode-0",), ("prefill-0",), ("prefill-0", "decode-0")])
def test_killed_workers_are_still_listed_but_do_not_answer(plane: DataPlane, killed: tuple[str, ...]) -> None:
    plane.kill(DISAGGREGATED, *killed)
    plane.keep_registrations()
    failure = only_failure(plane.url(DISAGGREGATED))
    assert (failure.name, advice(failure)) == ("chat", "not served")
    assert "HTTP 503" in failure.detail
    plane.settle()
    assert not failures(plane.url(DISAGGREGATED))


def test_killed_frontend(plane: DataPlane) -> None:
    plane.kill(DISAGGREGATED, "frontend")
    failure = only_failure(plane.url(DISAGGREGATED))
    assert (failure.name, advice(failure)) == ("live", "unreachable")
    plane.settle()
    assert not failures(plane.url(DISAGGREGATED))


def test_worker_gone_for_good(plane: DataPlane) -> None:
    """Its registration goes with it; the frontend still calls itself healthy."""
    alone = replace(DISAGGREGATED, workers=(worker("prefill"),))
    gone = psutil.Process(plane.pid(DISAGGREGATED, "decode-0"))
    plane.supervisor.step([alone, AGGREGATED])
    gone.wait(timeout=PATIENCE)
    failure = only_failure(plane.url(DISAGGREGATED))
    assert (failure.name, advice(failure)) == ("roles", "role missing")
    assert failure.detail == "/health lists no decode worker"


def test_frontend_with_stale_registrations(plane: DataPlane, tmp_path: Path) -> None:
    """A second frontend on a directory of dead workers lists the model and calls it ready."""
    release = installed(NEWEST)
    (port,) = processes.free_ports(1)
    folder = Path(endpoints.read(plane.state)[DISAGGREGATED.key]["logs"])
    plane.kill(DISAGGREGATED, "prefill-0", "decode-0", "frontend")
    plane.keep_registrations()
    frontend, *_ = processes_of(DISAGGREGATED, release, port)
    variables = environment(folder, release)
    process = subprocess.Popen(frontend.argv, env=variables, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: release_of(url, PATIENCE))
        eventually(lambda: MODEL in Conversation(url, BOTH, PATIENCE).ask("/v1/models").text)
        results = list(verification.verify(url, BOTH, wait=3.0))
    finally:
        process.kill()
        process.wait()
    outcomes = {result.name: result.outcome for result in results}
    assert [outcomes[name] for name in ("live", "roles", "models", "ready")] == [OK] * 4
    (failure,) = (result for result in results if result.outcome == FAILED)
    assert (failure.name, advice(failure)) == ("chat", "not served")


def test_other_model(plane: DataPlane) -> None:
    failure = only_failure(plane.url(DISAGGREGATED), replace(BOTH, model="openai/gpt-oss-20b"))
    assert (failure.name, advice(failure)) == ("models", "other model")
    assert failure.detail == f"openai/gpt-oss-20b is not served; {MODEL} is"


def test_aggregated_where_disaggregated_was_promised(plane: DataPlane) -> None:
    assert advice(only_failure(plane.url(AGGREGATED))) == "role missing"
    failed = failures(plane.url(AGGREGATED), replace(BOTH, roles=("decode",)))
    assert {name: advice(result) for name, result in failed.items()} == {"disaggregated": "not disaggregated"}


@pytest.mark.parametrize(
    ("parsers", "expected"),
    [
        (PARSERS[:2], {"tools": "no tool call"}),
        (PARSERS[2:], {"reasoning": "no reasoning"}),
    ],
)
def test_worker_without_a_parser(
    plane: DataPlane, parsers: tuple[str, ...], expected: dict[str, str]
) -> None:
    without = graph("g", worker("agg", parsers=parsers))
    plane.serve(without)
    failed = failures(plane.url(without), ONE)
    assert {name: advice(result) for name, result in failed.items()} == expected


def test_frontend_without_the_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    without = replace(installed(NEWEST), vocabulary=tmp_path / "empty")
    plane = started(tmp_path / "state", ENGINE, lambda _: without)
    try:
        plane.serve(AGGREGATED)
        failed = failures(plane.url(AGGREGATED), ONE)
    finally:
        plane.supervisor.close()
    assert {name: advice(result) for name, result in failed.items()}["tools"] == "no tool call"


def test_engine_that_says_nothing(tmp_path: Path) -> None:
    plane = started(tmp_path / "state", ("tests.embedded.bad_engine",))
    try:
        plane.serve(AGGREGATED)
        failure = only_failure(plane.url(AGGREGATED), ONE)
    finally:
        plane.supervisor.close()
    assert (failure.name, advice(failure)) == ("chat", "empty")
    assert failure.detail == "HTTP 200, but 0 characters and 1 completion tokens"


def test_waits_for_a_starting_graph(plane: DataPlane) -> None:
    plane.kill(AGGREGATED, "frontend")
    url = plane.url(AGGREGATED)
    found: list[dict[str, Result]] = []
    waiting = threading.Thread(target=lambda: found.append(failures(url, ONE, wait=PATIENCE)))
    waiting.start()
    plane.settle()
    waiting.join()
    assert found == [{}]


def test_the_package_alone_is_enough(plane: DataPlane, tmp_path: Path) -> None:
    """As in the Job: its modules, the standard library, nothing of the project."""
    copytree(Path(verification.__file__).parent, tmp_path / "verification")
    command = [sys.executable, "-E", "-S", "-m", "verification", "--url", plane.url(DISAGGREGATED)]
    command += ["--model", MODEL, "--roles", "prefill,decode", "--disaggregated"]
    command += ["--dynamo-version", NEWEST, "--router-mode", "round-robin"]
    behind = os.environ | {"http_proxy": "http://127.0.0.1:9"}  # a proxy must not come between
    good = subprocess.run(
        [*command, "--json"], cwd=tmp_path, env=behind, capture_output=True, text=True, check=False
    )
    assert good.returncode == 0, good.stderr
    assert json.loads(good.stdout)["ok"]
    plane.kill(DISAGGREGATED, "decode-0")
    plane.keep_registrations()
    bad = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert bad.returncode == 1
    assert "failed     chat" in bad.stdout
    assert "It means: a worker is listed but does not answer" in bad.stdout


def run_verb(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(verify)
    return CliRunner().invoke(app, arguments)


def test_verb_finds_the_stack_and_keeps_what_it_found(
    plane: DataPlane, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cluster, "STATE", plane.state)
    monkeypatch.setattr("ops.verify.PROJECT", tmp_path)
    good = run_verb("--stack", "dev")
    kept = last(Kept.VERIFY, "dev", tmp_path)
    assert kept is not None
    assert (kept["ok"], [check["name"] for check in kept["checks"]]) == (True, EVERY_CHECK)
    assert kept["simulated"] == endpoints.SIMULATED
    assert good.exit_code == 0, good.output
    assert f"verifying {MODEL} at {plane.url(DISAGGREGATED)} (simulated: engines" in good.output
    assert "it answers as it should" in good.output
    plane.kill(DISAGGREGATED, "decode-0")
    plane.keep_registrations()
    bad = run_verb("--url", plane.url(DISAGGREGATED), "--wait", "0")
    assert bad.exit_code == 1
    assert "failed: chat" in bad.output


def test_verb_as_json(plane: DataPlane) -> None:
    run = run_verb("--url", plane.url(AGGREGATED), "--roles", "worker", "--json")
    assert run.exit_code == 0
    report = json.loads(run.output)
    assert report["ok"] and report["url"] == plane.url(AGGREGATED)
    assert {check["outcome"] for check in report["checks"]} == {"ok"}


def test_verb_wants_to_know_where() -> None:
    run = run_verb()
    assert run.exit_code == 2
    assert "give --stack, --url or both" in run.output


CONFIG = {
    "target": "vllm-disagg-h100",
    "cluster": {"kind": "existing", "kubeconfig": "/k", "context": "c", "namespace": "ns"},
    "platform": {"install": False},
}
ELSEWHERE = stack(CONFIG)


def kubectl(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    path = folder / "kubectl"
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o700)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_port_forward_ends_with_its_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f'echo "$$ $@" > {tmp_path}/called; echo "Forwarding from 127.0.0.1:4321 -> 8000"; exec sleep 60'
    kubectl(tmp_path, monkeypatch, script)
    with reach(ELSEWHERE) as reached, reached.endpoint(timeout=PATIENCE) as found:
        assert found == Endpoint("http://127.0.0.1:4321")
        pid, *arguments = (tmp_path / "called").read_text().split()
        assert psutil.pid_exists(int(pid))
    assert not psutil.pid_exists(int(pid))
    assert arguments == [
        *("--kubeconfig=/k", "--context=c", "port-forward", "--namespace=ns", "--address=127.0.0.1"),
        *("service/gpt-oss-disagg-frontend", ":8000", f"--pod-running-timeout={PATIENCE}s"),
    ]


def test_port_forward_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl(tmp_path, monkeypatch, 'echo "services gpt-oss-disagg-frontend not found" >&2; exit 1')
    with (
        pytest.raises(
            EndpointError,
            match="cannot forward a port to service/gpt-oss-disagg-frontend: services gpt-oss-disagg-frontend not",
        ),
        reach(ELSEWHERE) as reached,
        reached.endpoint(timeout=PATIENCE),
    ):
        pass


def test_without_kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoKubectlError, match="kubectl is not on PATH"), reach(ELSEWHERE):
        pass


def test_a_graph_whose_frontend_went_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    entries: Iterator[dict[str, object]] = iter([{"ns/gpt-oss-disagg": {}}])
    monkeypatch.setattr(endpoints, "read", lambda _: next(entries, {}))
    with (
        pytest.raises(
            EndpointError, match="graph ns/gpt-oss-disagg does not answer after 0 s: no running frontend"
        ),
        reach(replace(ELSEWHERE, embedded=True)) as reached,
        reached.endpoint(timeout=0),
    ):
        pass


def test_a_release_that_cannot_run_here_is_no_question_of_its_being_deployed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cannot(*_: object) -> str:
        raise dynamo.CannotRunError("graph ns/g has no endpoint: Dynamo 0.4.1 cannot be run here")

    monkeypatch.setattr(endpoints, "read", lambda _: {"ns/gpt-oss-disagg": {}})
    monkeypatch.setattr(endpoints, "wait_for", cannot)
    deployed = replace(ELSEWHERE, embedded=True)
    with (
        pytest.raises(EndpointError, match=r"cannot be run here$"),
        reach(deployed) as reached,
        reached.endpoint(timeout=0),
    ):
        pass


def test_what_is_expected_of_a_stack() -> None:
    found = find("dev")
    plan = found.plan.main
    assert (found.name, found.namespace, plan.name) == ("dev", "dynamo", "gpt-oss-disagg")
    assert expectation(plan, simulated=found.embedded) == replace(
        BOTH, version=str(plan.version), engine="trtllm"
    )
    assert found.embedded


def test_a_stack_of_the_embedded_cluster_is_looked_for_where_up_puts_it() -> None:
    assert find("dev", embedded=True).namespace == find("dev").namespace
